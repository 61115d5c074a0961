# SPDX-License-Identifier: MIT
"""Writes training_reference.json: what PyTorch's optimizers, clipping and recurrent cells compute, in double. Run it
where the file is to go. Lion, which PyTorch does not have, is its paper's Algorithm 2 (Chen et al. 2023)."""
import json
import torch

torch.set_default_dtype(torch.float64)


def wave(shape, seed):
    """Numbers that the tests make themselves: sin(0.7 i + seed)."""
    return torch.sin(0.7 * torch.arange(torch.Size(shape).numel()) + seed).reshape(shape)


def rounded(numbers):
    return [float(f"{v:.12g}") for v in numbers]


# ---- optimizers: five steps of w, b for the loss mean((x w + b - y)^2)

X, Y = wave((4, 2), 1.0), wave((4, 3), 2.0)
RATE = 0.1


class Lion(torch.optim.Optimizer):
    def __init__(self, parameters, lr, weight_decay, beta1=0.9, beta2=0.99):
        super().__init__(parameters, {"lr": lr})
        self.decay, self.beta1, self.beta2 = weight_decay, beta1, beta2

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].get("m", torch.zeros_like(p))
                update = torch.sign(self.beta1 * m + (1 - self.beta1) * p.grad) + self.decay * p
                self.state[p]["m"] = self.beta2 * m + (1 - self.beta2) * p.grad
                p -= group["lr"] * update


def trajectory(optimizer, clip=None, **options):
    parameters = [wave((2, 3), 3.0).requires_grad_(), wave((3,), 4.0).requires_grad_()]
    optimizer = optimizer(parameters, lr=RATE, **options)
    out = []
    for t in range(1, 6):
        optimizer.zero_grad()
        ((X @ parameters[0] + parameters[1] - Y) ** 2).mean().backward()
        if clip is not None:
            clip(parameters)
        optimizer.step()
        if t in (1, 5):
            out.append(rounded(v for p in parameters for v in p.detach().ravel().tolist()))
    return out


def by_norm(parameters):
    # clip_grad_norm_ adds 1e-6 to the norm; here it is exact.
    norm = torch.sqrt(sum((p.grad**2).sum() for p in parameters))
    for p in parameters:
        p.grad *= min(1.0, 0.3 / norm)


def by_value(parameters):
    torch.nn.utils.clip_grad_value_(parameters, 0.1)


optim = torch.optim
optimizers = {
    "sgd": trajectory(optim.SGD),
    "sgd_decay": trajectory(optim.SGD, weight_decay=0.05),
    "momentum": trajectory(optim.SGD, momentum=0.9),
    "nesterov": trajectory(optim.SGD, momentum=0.9, nesterov=True, weight_decay=0.05),
    "adam": trajectory(optim.Adam),
    "adam_decay": trajectory(optim.Adam, weight_decay=0.05),
    "adam_w": trajectory(optim.AdamW, weight_decay=0.05),
    "rmsprop": trajectory(optim.RMSprop),
    "lion": trajectory(Lion, weight_decay=0.05),
    "clipped_by_norm": trajectory(optim.SGD, by_norm),
    "clipped_by_value": trajectory(optim.SGD, by_value),
}

# ---- cells: three times of a batch of two with three inputs and a width of two


def sequence(layer, gates):
    layer = layer(3, 2)
    with torch.no_grad():
        layer.weight_ih_l0.copy_(wave((3, 2 * gates), 2.0).T)
        layer.weight_hh_l0.copy_(wave((2, 2 * gates), 3.0).T)
        layer.bias_ih_l0.copy_(wave((2 * gates,), 4.0))
        # The other cells have one bias here.
        layer.bias_hh_l0.copy_(wave((2 * gates,), 5.0) if gates == 3 else torch.zeros(2 * gates))
    h, c = wave((1, 2, 2), 6.0), wave((1, 2, 2), 7.0)
    out, _ = layer(wave((3, 2, 3), 1.0), (h, c) if gates == 4 else h)
    return rounded(out.detach().ravel().tolist())


cells = {"rnn": sequence(torch.nn.RNN, 1), "lstm": sequence(torch.nn.LSTM, 4), "gru": sequence(torch.nn.GRU, 3)}

with open("training_reference.json", "w", encoding="ascii") as file:
    lines = [f'  "{name}": {json.dumps(numbers)}' for name, numbers in optimizers.items()]
    file.write('{"optimizers": {\n' + ",\n".join(lines) + '\n},\n"cells": ' + json.dumps(cells) + "}\n")
