#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes reference.npy and tokens.json: what PyTorch and the reference tokenizer make of sentences.txt.

usage: make_reference.py FOLDER    (that of model.safetensors and tokenizer.json)

Needs torch, tokenizers and safetensors. The network is written out in torch's operators, in double precision, so that
it depends on no particular version of a model library.
"""
import json
import math
import pathlib
import sys
import unicodedata

import numpy
import torch
from safetensors.numpy import load_file
from tokenizers import Tokenizer

LAYERS, HEADS, LONGEST = 6, 12, 256

# What tokenizers get wrong: kinds of white space, control and format characters, accents in both forms, letters whose
# lower case is another length, scripts without spaces, words that are too long, every ASCII character.
ODD_TEXTS = [
    "", " ", "\t\n\r", "\u00a0no\u2003break\u3000spaces\u2028here", "zero\u200bwidth\u200djoiner\ufeff", "nul\x00 and \x07bell",
    "\ufffdreplaced\ufffd", "soft\u00adhyphen", "cafe\u0301 caf\u00e9", "\u1e9b\u0323 \u0344", "\u0130I\u0131i \u01c5 \u1e9e \u03a3\u03c2",
    "\ufb01nd \u2460 \u00bd \u2122", "\u4e2d\u6587abc\u4e2d 123\u6587", "\u3072\u3089\u304c\u306a\u30ab\u30bf\u30ab\u30ca", "\uac00\ub098\ub2e4",
    "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "\u0645\u064e\u0631\u0652\u062d\u064e\u0628\u064b\u0627", "\u0928\u092e\u0938\u094d\u0924\u0947",
    "\U00020000\U0002a6d6 \uf900", "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea", "x" * 100, "x" * 101, "ab" * 60 + " c",
    "a-b_c/d\\e|f~g`h^i", "$100 + \u20ac200 = \u00a3?", "\u201cquoted\u201d \u2018so\u2019 \u2013 \u2014 \u2026 \u00bfy?", "1,234.56e-7", "..", "' s 's n't",
    "".join(map(chr, range(32, 127))), "".join(map(chr, range(0xa0, 0x180))), "".join(map(chr, range(0x370, 0x400))),
    "".join(map(chr, range(0x400, 0x460))), "".join(map(chr, range(0x1e00, 0x1f00))), "".join(map(chr, range(0x2010, 0x2060))),
] + [
    # Characters of Unicode 3.2: what is newer changes its category from one library to the next.
    " ".join(chr(c) for c in range(start, start + 64) if unicodedata.ucd_3_2_0.category(chr(c)) != "Cn")
    for start in range(0x100, 0x3100, 0x180)
]


def encode(weights, ids):
    def weight(name):
        return torch.from_numpy(weights[name]).double()

    def linear(x, name):
        return torch.nn.functional.linear(x, weight(name + ".weight"), weight(name + ".bias"))

    def norm(x, name):
        return torch.nn.functional.layer_norm(x, x.shape[-1:], weight(name + ".weight"), weight(name + ".bias"), 1e-12)

    def heads(x):
        return x.reshape(len(ids), HEADS, -1).transpose(0, 1)

    x = weight("embeddings.word_embeddings.weight")[ids] + weight("embeddings.position_embeddings.weight")[: len(ids)]
    x = norm(x + weight("embeddings.token_type_embeddings.weight")[0], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        q, k, v = (heads(linear(x, at + "attention.self." + each)) for each in ("query", "key", "value"))
        scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
        mixed = (torch.softmax(scores, -1) @ v).transpose(0, 1).reshape(len(ids), -1)
        x = norm(x + linear(mixed, at + "attention.output.dense"), at + "attention.output.LayerNorm")
        hidden = torch.nn.functional.gelu(linear(x, at + "intermediate.dense"))
        x = norm(x + linear(hidden, at + "output.dense"), at + "output.LayerNorm")
    return torch.nn.functional.normalize(x.mean(0), dim=0)


def main():
    folder, here = pathlib.Path(sys.argv[1]), pathlib.Path(__file__).parent
    sentences = (here / "sentences.txt").read_text(encoding="utf-8").splitlines()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    weights = load_file(folder / "model.safetensors")
    tokens = {s: tokenizer.encode(s).ids for s in sentences}
    embeddings = numpy.stack([encode(weights, tokens[s]).numpy() for s in sentences])
    numpy.save(here / "reference.npy", embeddings.astype(numpy.float16))
    tokens.update({s: tokenizer.encode(s).ids for s in ODD_TEXTS})
    text = ",\n".join(json.dumps([s, ids], separators=(",", ":")) for s, ids in tokens.items())
    (here / "tokens.json").write_text(f"[\n{text}\n]\n", encoding="utf-8")


main()
