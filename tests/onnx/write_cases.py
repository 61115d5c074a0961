# SPDX-License-Identifier: MIT
# Writes the test cases of ONNX's backends, those that the PyPI package onnx makes and those that it ships, as files
# for tests/onnx_backend_test.cpp: FOLDER/NAME/model.onnx, input_0.pb..., output_0.pb...
#   python write_cases.py FOLDER
import pathlib
import shutil
import sys

import onnx
from onnx import numpy_helper
from onnx.backend.test import loader

# Of sequences, maps and optionals no loader of tensors has a meaning: such cases have a model but no tensors.
def write_tensor(value, name, path):
    if isinstance(value, onnx.TensorProto):
        path.write_bytes(value.SerializeToString())
    elif hasattr(value, "dtype") and value.dtype.kind != "O":
        path.write_bytes(numpy_helper.from_array(value, name).SerializeToString())


def write_made(case, folder):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    inputs, outputs = case.data_sets[0]
    for kind, values, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
        for i, (value, info) in enumerate(zip(values, infos)):
            write_tensor(value, info.name, folder / f"{kind}_{i}.pb")


def main():
    out = pathlib.Path(sys.argv[1])
    partial = out.with_name(out.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    for case in loader.load_model_tests(kind="node"):
        write_made(case, partial / case.name)
    shipped = pathlib.Path(onnx.__file__).parent / "backend/test/data"
    for kind in ("simple", "pytorch-operator", "pytorch-converted"):
        for case in sorted((shipped / kind).iterdir()):
            if (case / "test_data_set_0").is_dir():
                shutil.copytree(case / "test_data_set_0", partial / case.name)
                shutil.copy(case / "model.onnx", partial / case.name)
    for model in sorted((shipped / "light").glob("*.onnx")):
        folder = partial / ("test_" + model.stem)
        folder.mkdir()
        shutil.copy(model, folder / "model.onnx")
        shutil.copy(model.with_name(model.stem + "_output_0.pb"), folder / "output_0.pb")
    shutil.rmtree(out, ignore_errors=True)
    partial.rename(out)


if __name__ == "__main__":
    main()
