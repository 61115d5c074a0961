# SPDX-License-Identifier: MIT
"""What the cases compute, in PyTorch 2, compiled by torch.compile (Inductor, which calls a C++ compiler), by function."""
import torch
import torch.nn.functional as nn

import cases

NAME = f"torch.compile ({torch.__version__})"


def silu(x, y):
    return nn.silu(2 * x + 0.5) * y


def black_scholes(spot, strike, time):
    deviation = 0.3 * torch.sqrt(time)
    d1 = (torch.log(spot / strike) + 0.065 * time) / deviation
    normal = lambda d: 0.5 * (1 + torch.erf(0.70710678 * d))
    return spot * normal(d1) - strike * torch.exp(-0.02 * time) * normal(d1 - deviation)


def linear_gelu(x, w, b):
    return nn.gelu(x @ w + b, approximate="tanh")


def rope_attention(q, k, v, cosine, sine):
    def turned(y):
        a, b = y[..., :32], y[..., 32:]
        return torch.cat([a * cosine - b * sine, b * cosine + a * sine], 2)

    return nn.scaled_dot_product_attention(turned(q), turned(k), v)


def training_step(x, *weights):
    label = torch.arange(x.shape[0]) % 10
    weights = [each.detach().requires_grad_() for each in weights]
    w1, b1, w2, b2 = weights
    loss = nn.cross_entropy(nn.relu(x @ w1 + b1) @ w2 + b2, label)
    gradients = torch.autograd.grad(loss, weights)
    return loss.detach(), *((w - 0.01 * d).detach() for w, d in zip(weights, gradients))


def layernorm(x, scale, shift):
    return nn.layer_norm(x, x.shape[1:], scale, shift)


FUNCTIONS = cases.WRITTEN_ALIKE | {
    "silu": silu,
    "bias_relu": lambda x, b: nn.relu(x + b),
    "softmax": lambda x: nn.softmax(x, 1),
    "layernorm": layernorm,
    "mse": nn.mse_loss,
    "max_axis1": lambda x: x.amax(1),
    "batchnorm": lambda x: nn.batch_norm(x, None, None, training=True),
    "black_scholes": black_scholes,
    "logsumexp_axis0": lambda x: torch.logsumexp(x, 0),
    "logsumexp_axis1": lambda x: torch.logsumexp(x, 1),
    "linear_gelu": linear_gelu,
    "mlp": lambda x, w1, b1, w2, b2: linear_gelu(x, w1, b1) @ w2 + b2,
    "swiglu": lambda x, w, v: nn.silu(x @ w) * (x @ v),
    "attention": nn.scaled_dot_product_attention,
    "rope_attention": rope_attention,
    "causal_attention": lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, is_causal=True),
    "conv3x3_relu": lambda x, w: nn.relu(nn.conv2d(x, w, padding=1)),
    "train_mlp": training_step,
}


def call(function, operands):
    f, arguments = torch.compile(FUNCTIONS[function]), [torch.from_numpy(each) for each in operands]
    if function == "train_mlp":
        return lambda: f(*arguments)

    def inference():
        with torch.inference_mode():
            return f(*arguments)

    return inference
