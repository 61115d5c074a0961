# SPDX-License-Identifier: MIT
"""What the cases compute, in JAX, which XLA compiles: by function."""
import jax
import jax.numpy as jnp
from jax import nn

import cases

jax.config.update("jax_platforms", "cpu")

NAME = f"XLA (JAX {jax.__version__})"


def silu(x, y):
    return nn.silu(2 * x + 0.5) * y


def layernorm(x, scale, shift):
    deviation = x - x.mean(1, keepdims=True)
    return deviation * jax.lax.rsqrt((deviation * deviation).mean(1, keepdims=True) + 1e-5) * scale + shift


def batchnorm(x):
    deviation = x - x.mean(0)
    return deviation * jax.lax.rsqrt((deviation * deviation).mean(0) + 1e-5)


def black_scholes(spot, strike, time):
    deviation = 0.3 * jnp.sqrt(time)
    d1 = (jnp.log(spot / strike) + 0.065 * time) / deviation
    normal = lambda d: 0.5 * (1 + jax.lax.erf(0.70710678 * d))
    return spot * normal(d1) - strike * jnp.exp(-0.02 * time) * normal(d1 - deviation)


def linear_gelu(x, w, b):
    return nn.gelu(x @ w + b, approximate=True)


def attention(q, k, v):
    return nn.softmax(q @ k.swapaxes(1, 2) * 0.125) @ v


def causal_attention(q, k, v):
    seen = jnp.tril(jnp.ones((q.shape[1], q.shape[1]), bool))
    return nn.softmax(jnp.where(seen, q @ k.swapaxes(1, 2) * 0.125, -jnp.inf)) @ v


def rope_attention(q, k, v, cosine, sine):
    def turned(y):
        a, b = y[..., :32], y[..., 32:]
        return jnp.concatenate([a * cosine - b * sine, b * cosine + a * sine], 2)

    return attention(turned(q), turned(k), v)


def training_step(x, *weights):
    label = jnp.arange(x.shape[0]) % 10

    def loss(w1, b1, w2, b2):
        rates = nn.log_softmax(nn.relu(x @ w1 + b1) @ w2 + b2)
        return -rates[jnp.arange(x.shape[0]), label].mean()

    value, gradients = jax.value_and_grad(loss, argnums=(0, 1, 2, 3))(*weights)
    return value, *(w - 0.01 * d for w, d in zip(weights, gradients))


FUNCTIONS = cases.WRITTEN_ALIKE | {
    "silu": silu,
    "bias_relu": lambda x, b: nn.relu(x + b),
    "softmax": nn.softmax,
    "layernorm": layernorm,
    "mse": lambda x, y: ((x - y) ** 2).mean(),
    "max_axis1": lambda x: x.max(1),
    "batchnorm": batchnorm,
    "black_scholes": black_scholes,
    "logsumexp_axis0": lambda x: nn.logsumexp(x, 0),
    "logsumexp_axis1": lambda x: nn.logsumexp(x, 1),
    "linear_gelu": linear_gelu,
    "mlp": lambda x, w1, b1, w2, b2: linear_gelu(x, w1, b1) @ w2 + b2,
    "swiglu": lambda x, w, v: nn.silu(x @ w) * (x @ v),
    "attention": attention,
    "rope_attention": rope_attention,
    "causal_attention": causal_attention,
    "conv3x3_relu": lambda x, w: nn.relu(jax.lax.conv(x, w, (1, 1), "SAME")),
    "train_mlp": training_step,
}


def call(function, operands):
    """A call of the compiled function, which returns when its results are there."""
    f, arguments = jax.jit(FUNCTIONS[function]), [jnp.asarray(each) for each in operands]
    return lambda: jax.block_until_ready(f(*arguments))
