#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the files beside it, which the tests read: what NumPy and the safetensors package make of
known values. Needs numpy, safetensors and ml_dtypes (for bfloat16). Not run by the tests."""
import pathlib

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

folder = pathlib.Path(__file__).parent


def extremes(dtype):
    """Two rows of three: the ends of the type's range, and values between them."""
    if dtype == np.bool_:
        return np.array([[True, False, True], [False, False, True]])
    if np.issubdtype(dtype, np.integer):
        ends = np.iinfo(dtype)
        return np.array([[ends.min, ends.max, 0], [1, 2, ends.max - 1]], dtype)
    return np.array([[-1.5, 0.25, np.inf], [-0.0, 2.0, 0.1]], np.float64).astype(dtype)


NAMES = {
    "bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16,
    "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
}
arrays = {name: extremes(dtype) for name, dtype in NAMES.items()}
shapes = {"scalar": np.array(2.5, np.float32), "empty": np.zeros((3, 0), np.float32),
          "größe/重み": np.arange(4, dtype=np.int32)}

save_file({**arrays, "bf16": extremes(ml_dtypes.bfloat16), **shapes}, folder / "all.safetensors",
          metadata={"Übung": "a \"quoted\" line\n"})
(folder / "all.safetensors").chmod(0o644)

np.savez(folder / "stored.npz", **arrays, fortran=np.asfortranarray(arrays["i16"]), **shapes)
np.savez_compressed(folder / "deflated.npz", **arrays, counted=np.arange(1000, dtype=np.int64))

np.save(folder / "f32.npy", arrays["f32"])
np.save(folder / "fortran.npy", np.asfortranarray(np.arange(24, dtype=np.int16).reshape(2, 3, 4)))
np.save(folder / "big_endian.npy", np.arange(3, dtype=">f4"))
