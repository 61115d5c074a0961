#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gate_test.py COMPILER: the gate fails at more than 3 %, says which templates grew, and skips other versions."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile

import gate


class FixedVersions(gate.Compiler):
    def versions(self):
        return {"compiler": "the same"}


def source(classes):
    """A program that instantiates one class template so often, and another one five times."""
    return ("template <int> struct grows {};\ntemplate <int> struct stays {};\n"
            + "".join(f"grows<{i}> g{i};\n" for i in range(classes)) + "".join(f"stays<{i}> s{i};\n" for i in range(5)))


def run(command, compiler, baseline):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = command(compiler, baseline)
    return code, said.getvalue()


def main(compiler_name):
    compiler = FixedVersions(compiler_name, "")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        gate.HERE, gate.PROGRAMS = folder, ("program",)
        program, baseline = folder / "program.cpp", folder / "baseline.json"

        program.write_text(source(95))
        assert run(gate.renew, compiler, baseline)[0] == 0
        assert json.loads(baseline.read_text())["programs"]["program"]["total"] == 100
        assert run(gate.check, compiler, baseline)[0] == 0, "nothing changed"

        program.write_text(source(98))
        assert run(gate.check, compiler, baseline)[0] == 0, "3 % are allowed"

        program.write_text(source(99))
        code, said = run(gate.check, compiler, baseline)
        assert code == 1, "4 % are not"
        assert "program: 104 instantiations, 100 in the baseline (+4.0 %)" in said, said
        assert "+4     grows (95 -> 99)" in said and "stays" not in said, said

        other = json.loads(baseline.read_text())
        other["versions"] = {"compiler": "another"}
        baseline.write_text(json.dumps(other))
        assert run(gate.check, compiler, baseline)[0] == gate.SKIPPED, "counts of another compiler say nothing"


if __name__ == "__main__":
    main(sys.argv[1])
