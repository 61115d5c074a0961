#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes all-MiniLM-L6-v2 as a model of ONNX, in the operators that PyTorch's exporter takes a BERT apart into.

usage: make_onnx.py FOLDER OUT.onnx    (the folder of model.safetensors)

Operator set 13, symbolic batch and sequence: layer norms as ReduceMean, Sub, Pow, Sqrt and Div, GELU as Erf, heads as
Reshape to computed shapes and Transpose, attention as MatMul, Div, Add of a mask and Softmax; then the mean over the
tokens that the mask keeps, of length 1. Needs numpy, onnx and safetensors.
"""
import math
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

LAYERS, HEADS, WIDTH = 6, 12, 384


class Exporter:
    """Nodes in the order in which they are written, and the constants they need."""

    def __init__(self):
        self.nodes, self.weights, self.constants = [], [], {}

    def add(self, operator, *inputs, **attributes):
        output = f"/{operator}_{len(self.nodes)}_output_0"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], name=output[: -len("_output_0")], **attributes))
        return output

    def weight(self, name, array):
        self.weights.append(numpy_helper.from_array(numpy.ascontiguousarray(array), name))
        return name

    def constant(self, value, kind=numpy.float32):
        array = numpy.array(value, dtype=kind)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.constants:
            self.constants[key] = self.add("Constant", value=numpy_helper.from_array(array))
        return self.constants[key]

    def integers(self, *values):
        return self.constant(values, numpy.int64)

    def extent(self, x, axis):
        return self.add("Gather", self.add("Shape", x), self.constant(axis, numpy.int64), axis=0)

    def shape(self, *extents):
        parts = [self.integers(e) if isinstance(e, int) else self.add("Unsqueeze", e, self.integers(0)) for e in extents]
        return self.add("Concat", *parts, axis=0)


def export(weights):
    e = Exporter()

    def linear(x, name):
        matrix = e.weight(f"onnx::MatMul_{name}", weights[name + ".weight"].T)
        return e.add("Add", e.weight(name + ".bias", weights[name + ".bias"]), e.add("MatMul", x, matrix))

    def norm(x, name):
        centred = e.add("Sub", x, e.add("ReduceMean", x, axes=[-1]))
        variance = e.add("ReduceMean", e.add("Pow", centred, e.constant(2.0)), axes=[-1])
        deviation = e.add("Sqrt", e.add("Add", variance, e.constant(1e-12)))
        scaled = e.add("Mul", e.add("Div", centred, deviation), e.weight(name + ".weight", weights[name + ".weight"]))
        return e.add("Add", scaled, e.weight(name + ".bias", weights[name + ".bias"]))

    def gelu(x):
        half = e.add("Add", e.add("Erf", e.add("Div", x, e.constant(math.sqrt(2)))), e.constant(1.0))
        return e.add("Mul", e.add("Mul", x, half), e.constant(0.5))

    def heads(x, order):
        shape = e.shape(e.extent(x, 0), e.extent(x, 1), HEADS, WIDTH // HEADS)
        return e.add("Transpose", e.add("Reshape", x, shape), perm=order)

    ids, kept, kinds = "input_ids", "attention_mask", "token_type_ids"
    wide = e.add("Unsqueeze", e.add("Unsqueeze", kept, e.integers(1)), e.integers(2))
    hidden = e.add("Sub", e.constant(1.0), e.add("Cast", wide, to=TensorProto.FLOAT))
    mask = e.add("Mul", hidden, e.constant(float(numpy.finfo(numpy.float32).min)))

    length = e.add("Unsqueeze", e.extent(ids, 1), e.integers(0))
    positions = e.weight("embeddings.position_ids", numpy.arange(512, dtype=numpy.int64)[None])
    positions = e.add("Slice", positions, e.integers(0), length, e.integers(1), e.integers(1))
    tables = {name: e.weight(name, weights[name]) for name in (
        f"embeddings.{kind}_embeddings.weight" for kind in ("word", "token_type", "position"))}
    words, types, places = (e.add("Gather", table, chosen) for table, chosen in zip(tables.values(), (ids, kinds, positions)))
    x = norm(e.add("Add", e.add("Add", words, types), places), "embeddings.LayerNorm")

    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        q, k, v = (linear(x, f"{at}attention.self.{each}") for each in ("query", "key", "value"))
        scores = e.add("MatMul", heads(q, [0, 2, 1, 3]), heads(k, [0, 2, 3, 1]))
        scores = e.add("Add", e.add("Div", scores, e.constant(math.sqrt(WIDTH // HEADS))), mask)
        mixed = e.add("MatMul", e.add("Softmax", scores, axis=-1), heads(v, [0, 2, 1, 3]))
        mixed = e.add("Transpose", mixed, perm=[0, 2, 1, 3])
        mixed = e.add("Reshape", mixed, e.shape(e.extent(mixed, 0), e.extent(mixed, 1), WIDTH))
        x = norm(e.add("Add", linear(mixed, at + "attention.output.dense"), x), at + "attention.output.LayerNorm")
        inner = gelu(linear(x, at + "intermediate.dense"))
        x = norm(e.add("Add", linear(inner, at + "output.dense"), x), at + "output.LayerNorm")

    spread = e.add("Expand", e.add("Unsqueeze", kept, e.integers(-1)), e.add("Shape", x))
    spread = e.add("Cast", spread, to=TensorProto.FLOAT)
    total = e.add("ReduceSum", e.add("Mul", x, spread), e.integers(1), keepdims=0)
    count = e.add("Clip", e.add("ReduceSum", spread, e.integers(1), keepdims=0), e.constant(1e-9))
    mean = e.add("Div", total, count)
    size = e.add("Clip", e.add("ReduceL2", mean, axes=[1], keepdims=1), e.constant(1e-12))
    unit = e.add("Div", mean, e.add("Expand", size, e.add("Shape", mean)))
    e.nodes.append(helper.make_node("Identity", [unit], ["sentence_embedding"]))

    free = ["batch_size", "sequence_length"]
    graph = helper.make_graph(
        e.nodes, "all-MiniLM-L6-v2",
        [helper.make_tensor_value_info(name, TensorProto.INT64, free) for name in (ids, kept, kinds)],
        [helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch_size", WIDTH])], e.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    onnx.checker.check_model(model)
    return model


def main():
    weights = load_file(pathlib.Path(sys.argv[1]) / "model.safetensors")
    onnx.save(export(weights), sys.argv[2])


if __name__ == "__main__":
    main()
