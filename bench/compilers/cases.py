# SPDX-License-Identifier: MIT
"""The table's cases (table/cases.cpp): what each computes, and of what: shape, least and largest value of each operand."""
import numpy

WEIGHT = (-0.05, 0.05)


def _elements(n):
    return [((n,), -1, 1)] * 2


def _weights(*shape):
    return (shape, *WEIGHT)


def _matrix(*shape):
    return (shape, -1, 1)


_HEADS = [_matrix(12, 512, 64)] * 3

CASES = {
    "ew_4k": ("silu", _elements(4096)),
    "ew_128k": ("silu", _elements(131072)),
    "ew_16m": ("silu", _elements(1 << 24)),
    "bias_relu": ("bias_relu", [_matrix(2048, 1024), _matrix(1024)]),
    "softmax": ("softmax", [((4096, 1024), -4, 4)]),
    "layernorm": ("layernorm", [_matrix(4096, 768), _matrix(768), _matrix(768)]),
    "mse_16m": ("mse", [_matrix(1 << 24), ((1 << 24,), 0, 2)]),
    "dot_1m": ("dot", [_matrix(1 << 20), ((1 << 20,), 0, 2)]),
    "sum_axis0": ("sum_axis0", [_matrix(1024, 1024)]),
    "sum_axis1": ("sum_axis1", [_matrix(1024, 1024)]),
    "max_axis1": ("max_axis1", [_matrix(1024, 1024)]),
    "softmax_16": ("softmax", [((65536, 16), -4, 4)]),
    "layernorm_1000": ("layernorm", [_matrix(4194, 1000), _matrix(1000), _matrix(1000)]),
    "batchnorm": ("batchnorm", [_matrix(8192, 512)]),
    "blackscholes": ("black_scholes", [((1 << 20,), 10, 100), ((1 << 20,), 10, 100), ((1 << 20,), 0.1, 2)]),
    "logsumexp_axis0": ("logsumexp_axis0", [_matrix(1024, 1024)]),
    "logsumexp_axis1": ("logsumexp_axis1", [_matrix(1024, 1024)]),
    "transpose_add": ("transpose_add", [_matrix(1024, 1024)] * 2),
    "broadcast": ("broadcast", [_matrix(1024, 1024), _matrix(1024), _matrix(1024, 1)]),
    "linear_gelu": ("linear_gelu", [_matrix(512, 768), _weights(768, 3072), _matrix(3072)]),
    "mlp": ("mlp", [_matrix(512, 768), _weights(768, 3072), _matrix(3072), _weights(3072, 768), _matrix(768)]),
    "projections_16": ("projections", [_matrix(16, 768)] + [_weights(768, 768)] * 3),
    "projections_512": ("projections", [_matrix(512, 768)] + [_weights(768, 768)] * 3),
    "swiglu_16": ("swiglu", [_matrix(16, 768)] + [_weights(768, 2048)] * 2),
    "swiglu_512": ("swiglu", [_matrix(512, 768)] + [_weights(768, 2048)] * 2),
    "attention": ("attention", _HEADS),
    "rope_attention": ("rope_attention", _HEADS + [_matrix(512, 32)] * 2),
    "attention_4k": ("causal_attention", [_matrix(4, 4096, 64)] * 3),
    "chain": ("chain", [_matrix(1024, 1024), _matrix(1024, 1024), _matrix(1024, 1)]),
    "conv3x3_relu": ("conv3x3_relu", [_matrix(8, 64, 56, 56), _weights(64, 64, 3, 3)]),
    "train_mlp": ("train_mlp", [_matrix(128, 784), _weights(784, 512), _matrix(512), _weights(512, 10), _matrix(10)]),
}

# Functions that are written alike for arrays of JAX and tensors of PyTorch.
WRITTEN_ALIKE = {
    "dot": lambda x, y: (x * y).sum(),
    "sum_axis0": lambda x: x.sum(0),
    "sum_axis1": lambda x: x.sum(1),
    "transpose_add": lambda x, y: x.T + y,
    "broadcast": lambda x, row, column: (x + row) * column,
    "projections": lambda x, q, k, v: (x @ q, x @ k, x @ v),
    "chain": lambda a, b, v: (a @ b) @ v,
}


def operands_of(case):
    random = numpy.random.default_rng(7)
    return [random.uniform(low, high, shape).astype(numpy.float32) for shape, low, high in CASES[case][1]]
