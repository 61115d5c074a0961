# SPDX-License-Identifier: MIT
"""Writes training_reference.json: what optimizers and recurrent cells compute, by the formulas of their papers, in
double. Run it where the file is to go; it needs NumPy alone."""
import json
import numpy as np


def wave(shape, seed):
    """Numbers that the tests make themselves: sin(0.7 i + seed)."""
    return np.sin(0.7 * np.arange(np.prod(shape)) + seed).reshape(shape)


# ---- optimizers: five steps of w, b for the loss mean((x w + b - y)^2)

X, Y = wave((4, 2), 1.0), wave((4, 3), 2.0)
RATE = 0.1


def gradients(w, b):
    d = 2 * (X @ w + b - Y) / Y.size
    return [X.T @ d, d.sum(axis=0)]


def trajectory(step, clip=None):
    parameters = [wave((2, 3), 3.0), wave((3,), 4.0)]
    states = [{} for _ in parameters]
    out = []
    for t in range(1, 6):
        slopes = gradients(*parameters)
        if clip is not None:
            slopes = clip(slopes)
        parameters = [step(p, g, s, t) for p, g, s in zip(parameters, slopes, states)]
        if t in (1, 5):
            out.append([float(f"{v:.12g}") for p in parameters for v in p.ravel()])
    return out


def sgd(momentum=0.0, nesterov=False, decay=0.0):
    def step(w, g, s, t):
        g = g + decay * w
        v = s["v"] = momentum * s.get("v", 0) + g
        return w - RATE * (g + momentum * v if nesterov else v)
    return step


def adam(decay=0.0, decoupled=False, beta1=0.9, beta2=0.999, eps=1e-8):
    def step(w, g, s, t):
        start = w * (1 - RATE * decay) if decoupled else w
        if not decoupled:
            g = g + decay * w
        m = s["m"] = beta1 * s.get("m", 0) + (1 - beta1) * g
        v = s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * g * g
        return start - RATE * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps)
    return step


def rmsprop(alpha=0.99, eps=1e-8):
    def step(w, g, s, t):
        v = s["v"] = alpha * s.get("v", 0) + (1 - alpha) * g * g
        return w - RATE * g / (np.sqrt(v) + eps)
    return step


def lion(decay=0.0, beta1=0.9, beta2=0.99):
    def step(w, g, s, t):
        m = s.get("m", 0)
        s["m"] = beta2 * m + (1 - beta2) * g
        return w - RATE * (np.sign(beta1 * m + (1 - beta1) * g) + decay * w)
    return step


def by_norm(limit):
    def clip(slopes):
        norm = np.sqrt(sum((g * g).sum() for g in slopes))
        return [g * min(1.0, limit / norm) for g in slopes]
    return clip


def by_value(limit):
    return lambda slopes: [np.clip(g, -limit, limit) for g in slopes]


optimizers = {
    "sgd": trajectory(sgd()),
    "sgd_decay": trajectory(sgd(decay=0.05)),
    "momentum": trajectory(sgd(0.9)),
    "nesterov": trajectory(sgd(0.9, nesterov=True, decay=0.05)),
    "adam": trajectory(adam()),
    "adam_decay": trajectory(adam(0.05)),
    "adam_w": trajectory(adam(0.05, decoupled=True)),
    "rmsprop": trajectory(rmsprop()),
    "lion": trajectory(lion(0.05)),
    "clipped_by_norm": trajectory(sgd(), by_norm(0.3)),
    "clipped_by_value": trajectory(sgd(), by_value(0.1)),
}

# ---- cells: three times of a batch of two with three inputs and a width of two


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn(x, h, c, w, u, b, _):
    return np.tanh(x @ w + h @ u + b), c


def lstm(x, h, c, w, u, b, _):
    i, f, g, o = np.split(x @ w + h @ u + b, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru(x, h, c, w, u, b, d):
    xr, xz, xn = np.split(x @ w + b, 3, axis=-1)
    hr, hz, hn = np.split(h @ u + d, 3, axis=-1)
    r, z = sigmoid(xr + hr), sigmoid(xz + hz)
    return (1 - z) * np.tanh(xn + r * hn) + z * h, c


def sequence(cell, gates):
    x = wave((3, 2, 3), 1.0)
    w, u = wave((3, 2 * gates), 2.0), wave((2, 2 * gates), 3.0)
    b, d = wave((2 * gates,), 4.0), wave((2 * gates,), 5.0)
    h, c = wave((2, 2), 6.0), wave((2, 2), 7.0)
    out = []
    for now in x:
        h, c = cell(now, h, c, w, u, b, d)
        out.append(h)
    return [float(f"{v:.12g}") for v in np.stack(out).ravel()]


cells = {"rnn": sequence(rnn, 1), "lstm": sequence(lstm, 4), "gru": sequence(gru, 3)}

with open("training_reference.json", "w", encoding="ascii") as file:
    lines = [f'  "{name}": {json.dumps(numbers)}' for name, numbers in optimizers.items()]
    file.write('{"optimizers": {\n' + ",\n".join(lines) + '\n},\n"cells": ' + json.dumps(cells) + "}\n")
