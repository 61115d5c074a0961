// SPDX-License-Identifier: MIT
// Cases of ONNX's backend tests whose operators are known and that do not pass, each with the
// reason. The test fails for one that passes.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace test_support {

inline constexpr auto skipped_cases = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"test_batchnorm_epsilon_training_mode", "training: running statistics"},
    {"test_batchnorm_example_training_mode", "training: running statistics"},
    {"test_maxpool_with_argmax_2d_precomputed_pads", "the places of the largest elements"},
    {"test_maxpool_with_argmax_2d_precomputed_strides", "the places of the largest elements"},
    {"test_resize_downsample_scales_cubic", "interpolation by cubic functions"},
    {"test_resize_downsample_scales_cubic_A_n0p5_exclude_outside",
     "interpolation by cubic functions"},
    {"test_resize_downsample_scales_cubic_align_corners", "interpolation by cubic functions"},
    {"test_resize_downsample_scales_cubic_antialias", "interpolation by cubic functions"},
    {"test_resize_downsample_scales_linear_antialias", "antialiasing"},
    {"test_resize_downsample_sizes_cubic", "interpolation by cubic functions"},
    {"test_resize_downsample_sizes_cubic_antialias", "interpolation by cubic functions"},
    {"test_resize_downsample_sizes_linear_antialias", "antialiasing"},
    {"test_resize_downsample_sizes_nearest_not_larger", "sizes that keep the ratio of the axes"},
    {"test_resize_downsample_sizes_nearest_not_smaller", "sizes that keep the ratio of the axes"},
    {"test_resize_tf_crop_and_resize", "crops while resizing"},
    {"test_resize_tf_crop_and_resize_axes_2_3", "crops while resizing"},
    {"test_resize_tf_crop_and_resize_axes_3_2", "crops while resizing"},
    {"test_resize_tf_crop_and_resize_extrapolation_value", "crops while resizing"},
    {"test_resize_upsample_scales_cubic", "interpolation by cubic functions"},
    {"test_resize_upsample_scales_cubic_A_n0p5_exclude_outside",
     "interpolation by cubic functions"},
    {"test_resize_upsample_scales_cubic_align_corners", "interpolation by cubic functions"},
    {"test_resize_upsample_scales_cubic_asymmetric", "interpolation by cubic functions"},
    {"test_resize_upsample_sizes_cubic", "interpolation by cubic functions"},
    {"test_resize_upsample_sizes_nearest_not_larger", "sizes that keep the ratio of the axes"},
    {"test_resize_upsample_sizes_nearest_not_smaller", "sizes that keep the ratio of the axes"},
    {"test_scatter_elements_with_reduction_max", "scatter with max: scatter_add is all there is"},
    {"test_scatter_elements_with_reduction_min", "scatter with min: scatter_add is all there is"},
    {"test_scatter_elements_with_reduction_mul", "scatter with mul: scatter_add is all there is"},
    {"test_scatternd_max", "scatter with max: scatter_add is all there is"},
    {"test_scatternd_max_with_element_indices", "scatter with max: scatter_add is all there is"},
    {"test_scatternd_min", "scatter with min: scatter_add is all there is"},
    {"test_scatternd_min_with_element_indices", "scatter with min: scatter_add is all there is"},
    {"test_scatternd_multiply", "scatter with mul: scatter_add is all there is"},
    {"test_training_dropout", "training: random"},
    {"test_training_dropout_default", "training: random"},
    {"test_training_dropout_default_mask", "training: random"},
    {"test_training_dropout_mask", "training: random"},
});

}  // namespace test_support
