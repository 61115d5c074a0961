# SPDX-License-Identifier: MIT
"""The table's cases (table/cases.cpp): their operands, by shape, least and largest value, and those that NumPy's operators say."""
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
    "ew_4k": _elements(4096),
    "ew_128k": _elements(131072),
    "ew_16m": _elements(1 << 24),
    "bias_relu": [_matrix(2048, 1024), _matrix(1024)],
    "softmax": [((4096, 1024), -4, 4)],
    "layernorm": [_matrix(4096, 768), _matrix(768), _matrix(768)],
    "mse_16m": [_matrix(1 << 24), ((1 << 24,), 0, 2)],
    "dot_1m": [_matrix(1 << 20), ((1 << 20,), 0, 2)],
    "sum_axis0": [_matrix(1024, 1024)],
    "sum_axis1": [_matrix(1024, 1024)],
    "max_axis1": [_matrix(1024, 1024)],
    "softmax_16": [((65536, 16), -4, 4)],
    "layernorm_1000": [_matrix(4194, 1000), _matrix(1000), _matrix(1000)],
    "batchnorm": [_matrix(8192, 512)],
    "blackscholes": [((1 << 20,), 10, 100), ((1 << 20,), 10, 100), ((1 << 20,), 0.1, 2)],
    "logsumexp_axis0": [_matrix(1024, 1024)],
    "logsumexp_axis1": [_matrix(1024, 1024)],
    "transpose_add": [_matrix(1024, 1024)] * 2,
    "broadcast": [_matrix(1024, 1024), _matrix(1024), _matrix(1024, 1)],
    "linear_gelu": [_matrix(512, 768), _weights(768, 3072), _matrix(3072)],
    "mlp": [_matrix(512, 768), _weights(768, 3072), _matrix(3072), _weights(3072, 768), _matrix(768)],
    "projections_16": [_matrix(16, 768)] + [_weights(768, 768)] * 3,
    "projections_512": [_matrix(512, 768)] + [_weights(768, 768)] * 3,
    "swiglu_16": [_matrix(16, 768)] + [_weights(768, 2048)] * 2,
    "swiglu_512": [_matrix(512, 768)] + [_weights(768, 2048)] * 2,
    "attention": _HEADS,
    "rope_attention": _HEADS + [_matrix(512, 32)] * 2,
    "attention_4k": [_matrix(4, 4096, 64)] * 3,
    "chain": [_matrix(1024, 1024), _matrix(1024, 1024), _matrix(1024, 1)],
    "conv3x3_relu": [_matrix(8, 64, 56, 56), _weights(64, 64, 3, 3)],
    "train_mlp": [_matrix(128, 784), _weights(784, 512), _matrix(512), _weights(512, 10), _matrix(10)],
}

# What arrays of JAX and tensors of PyTorch are both written with.
WRITTEN_ALIKE = {
    "dot_1m": lambda x, y: (x * y).sum(),
    "sum_axis0": lambda x: x.sum(0),
    "sum_axis1": lambda x: x.sum(1),
    "transpose_add": lambda x, y: x.T + y,
    "broadcast": lambda x, row, column: (x + row) * column,
    "projections_16": lambda x, q, k, v: (x @ q, x @ k, x @ v),
    "projections_512": lambda x, q, k, v: (x @ q, x @ k, x @ v),
    "chain": lambda a, b, v: (a @ b) @ v,
}


def operands_of(case):
    random = numpy.random.default_rng(7)
    return [random.uniform(low, high, shape).astype(numpy.float32) for shape, low, high in CASES[case]]
