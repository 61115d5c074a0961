// SPDX-License-Identifier: MIT
// The operators of ONNX that become graphs, by name. One function writes an operator for all of its
// versions; what a version has not is not understood in its files either, since nobody asks for it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include <sinter/onnx/creation.hpp>
#include <sinter/onnx/elementwise.hpp>
#include <sinter/onnx/image.hpp>
#include <sinter/onnx/indexing.hpp>
#include <sinter/onnx/movement.hpp>
#include <sinter/onnx/product.hpp>
#include <sinter/onnx/reduction.hpp>
#include <sinter/onnx/slicing.hpp>

namespace sinter::inline SINTER_ABI::onnx::detail {

/// The operator sets that are understood: those to ONNX 1.23. Before 7 operands broadcast only
/// where they say so and names of attributes differ; such files are read as far as that is
/// understood.
inline constexpr std::int64_t oldest_opset = 1, newest_opset = 28;

// clang-format off
inline constexpr auto operator_table = [] {
  using arithmetic::operation;
  using ir::op;
  std::array table{
      operator_entry{"Abs", elementwise::unary<op::abs>},
      operator_entry{"Acosh", elementwise::acosh},
      operator_entry{"Add", elementwise::arithmetic_operator<op::add, operation::add>},
      operator_entry{"And", elementwise::comparison<op::bit_and, operation::both>},
      operator_entry{"ArgMax", reduction::arg_extreme<true>},
      operator_entry{"ArgMin", reduction::arg_extreme<false>},
      operator_entry{"Asinh", elementwise::asinh},
      operator_entry{"Atanh", elementwise::atanh},
      operator_entry{"AveragePool", image::average_pool},
      operator_entry{"BatchNormalization", reduction::batch_norm},
      operator_entry{"BitCast", elementwise::bit_cast},
      operator_entry{"BitShift", elementwise::bit_shift},
      operator_entry{"BitwiseAnd", elementwise::binary<op::bit_and>},
      operator_entry{"BitwiseNot", elementwise::bitwise_not},
      operator_entry{"BitwiseOr", elementwise::binary<op::bit_or>},
      operator_entry{"BitwiseXor", elementwise::binary<op::bit_xor>},
      operator_entry{"Cast", elementwise::cast},
      operator_entry{"CastLike", elementwise::cast_like},
      operator_entry{"Ceil", elementwise::ceil},
      operator_entry{"Celu", elementwise::celu},
      operator_entry{"Clip", elementwise::clip},
      operator_entry{"Concat", movement::concat},
      operator_entry{"Constant", movement::constant},
      operator_entry{"ConstantOfShape", movement::constant_of_shape},
      operator_entry{"Conv", image::conv},
      operator_entry{"Cos", elementwise::unary<op::cos>},
      operator_entry{"Cosh", elementwise::hyperbolic<1>},
      operator_entry{"CumSum", reduction::cumsum},
      operator_entry{"DepthToSpace", movement::depth_to_space},
      operator_entry{"Div", elementwise::arithmetic_operator<op::div, operation::div>},
      operator_entry{"Dropout", elementwise::dropout},
      operator_entry{"Einsum", contraction::einsum},
      operator_entry{"Elu", elementwise::elu},
      operator_entry{"Equal", elementwise::comparison<op::equal, operation::equal>},
      operator_entry{"Erf", elementwise::unary<op::erf>},
      operator_entry{"Exp", elementwise::unary<op::exp>},
      operator_entry{"Expand", movement::expand},
      operator_entry{"EyeLike", movement::eye_like},
      operator_entry{"Flatten", movement::flatten},
      operator_entry{"Floor", elementwise::floor},
      operator_entry{"Gather", indexing::gather},
      operator_entry{"GatherElements", indexing::gather_elements},
      operator_entry{"GatherND", indexing::gather_nd},
      operator_entry{"Gelu", elementwise::gelu},
      operator_entry{"Gemm", contraction::gemm},
      operator_entry{"GlobalAveragePool", image::global_pool<true>},
      operator_entry{"GlobalMaxPool", image::global_pool<false>},
      operator_entry{"Greater", elementwise::swapped_comparison<op::less, operation::less>},
      operator_entry{"GreaterOrEqual", elementwise::swapped_comparison<op::less_equal, operation::less_equal>},
      operator_entry{"GroupNormalization", reduction::group_norm},
      operator_entry{"HardSigmoid", elementwise::hard_sigmoid},
      operator_entry{"HardSwish", elementwise::hard_swish},
      operator_entry{"Hardmax", reduction::hardmax},
      operator_entry{"Identity", elementwise::identity},
      operator_entry{"InstanceNormalization", reduction::instance_norm},
      operator_entry{"IsInf", elementwise::is_inf},
      operator_entry{"IsNaN", elementwise::is_nan},
      operator_entry{"LRN", image::local_response_norm},
      operator_entry{"LayerNormalization", reduction::layer_norm},
      operator_entry{"LeakyRelu", elementwise::leaky_relu},
      operator_entry{"Less", elementwise::comparison<op::less, operation::less>},
      operator_entry{"LessOrEqual", elementwise::comparison<op::less_equal, operation::less_equal>},
      operator_entry{"Log", elementwise::unary<op::log>},
      operator_entry{"LogSoftmax", reduction::softmax<op::log_softmax>},
      operator_entry{"LpNormalization", reduction::lp_norm},
      operator_entry{"LpPool", image::lp_pool},
      operator_entry{"MatMul", contraction::matmul},
      operator_entry{"Max", elementwise::variadic<op::maximum, operation::max>},
      operator_entry{"MaxPool", image::max_pool},
      operator_entry{"Mean", elementwise::mean},
      operator_entry{"MeanVarianceNormalization", reduction::mean_variance_norm},
      operator_entry{"Min", elementwise::variadic<op::minimum, operation::min>},
      operator_entry{"Mish", elementwise::mish},
      operator_entry{"Mod", elementwise::mod},
      operator_entry{"Mul", elementwise::arithmetic_operator<op::mul, operation::mul>},
      operator_entry{"Neg", elementwise::neg},
      operator_entry{"Not", elementwise::logical_not},
      operator_entry{"OneHot", indexing::one_hot},
      operator_entry{"Or", elementwise::comparison<op::bit_or, operation::either>},
      operator_entry{"PRelu", elementwise::prelu},
      operator_entry{"Pad", movement::pad},
      operator_entry{"Pow", elementwise::pow},
      operator_entry{"RMSNormalization", reduction::rms_norm},
      operator_entry{"Range", movement::range},
      operator_entry{"Reciprocal", elementwise::reciprocal},
      operator_entry{"ReduceL1", reduction::reduce<reduction::form::l1>},
      operator_entry{"ReduceL2", reduction::reduce<reduction::form::l2>},
      operator_entry{"ReduceLogSum", reduction::reduce<reduction::form::log_sum>},
      operator_entry{"ReduceLogSumExp", reduction::reduce<reduction::form::log_sum_exp>},
      operator_entry{"ReduceMax", reduction::extreme<op::reduce_max>},
      operator_entry{"ReduceMean", reduction::reduce<reduction::form::mean>},
      operator_entry{"ReduceMin", reduction::extreme<op::reduce_min>},
      operator_entry{"ReduceProd", reduction::known_reduce<reduction::form::prod, operation::mul>},
      operator_entry{"ReduceSum", reduction::known_reduce<reduction::form::sum, operation::add>},
      operator_entry{"ReduceSumSquare", reduction::reduce<reduction::form::sum_square>},
      operator_entry{"Relu", elementwise::unary<op::relu>},
      operator_entry{"Reshape", movement::reshape},
      operator_entry{"Resize", image::resize},
      operator_entry{"Round", elementwise::unary<op::round>},
      operator_entry{"Scatter", indexing::scatter_elements},
      operator_entry{"ScatterElements", indexing::scatter_elements},
      operator_entry{"ScatterND", indexing::scatter_nd},
      operator_entry{"Selu", elementwise::selu},
      operator_entry{"Shape", movement::shape},
      operator_entry{"Shrink", elementwise::shrink},
      operator_entry{"Sigmoid", elementwise::unary<op::sigmoid>},
      operator_entry{"Sign", elementwise::unary<op::sign>},
      operator_entry{"Sin", elementwise::unary<op::sin>},
      operator_entry{"Sinh", elementwise::hyperbolic<-1>},
      operator_entry{"Size", movement::size},
      operator_entry{"Slice", movement::slice},
      operator_entry{"Softmax", reduction::softmax<op::softmax>},
      operator_entry{"Softplus", elementwise::unary<op::softplus>},
      operator_entry{"Softsign", elementwise::softsign},
      operator_entry{"SpaceToDepth", movement::space_to_depth},
      operator_entry{"Split", movement::split},
      operator_entry{"Sqrt", elementwise::sqrt},
      operator_entry{"Squeeze", movement::squeeze},
      operator_entry{"Sub", elementwise::arithmetic_operator<op::sub, operation::sub>},
      operator_entry{"Sum", elementwise::variadic<op::add, operation::add>},
      operator_entry{"Swish", elementwise::swish},
      operator_entry{"Tan", elementwise::tan},
      operator_entry{"Tanh", elementwise::unary<op::tanh>},
      operator_entry{"ThresholdedRelu", elementwise::thresholded_relu},
      operator_entry{"Tile", movement::tile},
      operator_entry{"Transpose", movement::transpose},
      operator_entry{"Trilu", movement::trilu},
      operator_entry{"Unsqueeze", movement::unsqueeze},
      operator_entry{"Upsample", image::upsample},
      operator_entry{"Where", elementwise::where},
      operator_entry{"Xor", elementwise::comparison<op::bit_xor, operation::one_of>},
  };
  return table;
}();
// clang-format on

static_assert(std::ranges::is_sorted(operator_table, {}, &operator_entry::name));

/// The function that writes an operator, or null.
inline operator_function find_operator(std::string_view domain, std::string_view name) {
  if (!domain.empty()) return nullptr;
  const auto at = std::ranges::lower_bound(operator_table, name, {}, &operator_entry::name);
  return at != operator_table.end() && at->name == name ? at->write : nullptr;
}

}  // namespace sinter::inline SINTER_ABI::onnx::detail
