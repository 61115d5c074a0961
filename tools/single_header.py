#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes sinter as one header: single_header.py OUTPUT [HEADER...]

HEADERs are named as programs include them; the default is sinter/sinter.hpp alone. Eigen, xsimd and the standard library
stay includes. Every file of sinter comes once, behind those that it includes. What is compiled once for a program that
defines SINTER_SEPARATE is left out of its units but for the one that defines SINTER_SEPARATE_HERE before the header.
"""
import pathlib
import re
import sys

INCLUDE = pathlib.Path(__file__).resolve().parent.parent / "include"
OWN = re.compile(r'\s*#\s*include\s*<(sinter/[^>]+)>')
OTHER = re.compile(r'\s*#\s*include\s*[<"]')
# The only condition under which files of sinter may be left out.
SEPARATE = "#ifndef SINTER_SEPARATE"
WHOLE = "#if !defined(SINTER_SEPARATE) || defined(SINTER_SEPARATE_HERE)"


class File:
    """One header: its own text, and what it includes before and after that."""

    def __init__(self, name):
        self.before, self.after, self.body = [], [], []  # includes: (name, only where all is compiled)
        conditions = []
        code_seen = False
        for line in (INCLUDE / name).read_text().splitlines():
            text = line.strip()
            if text == "#pragma once" or text == "// SPDX-License-Identifier: MIT":
                continue
            if re.match(r"#\s*if", text):
                conditions.append(text)
            own = OWN.match(line)
            if own:
                whole = SEPARATE in conditions
                (self.after if code_seen else self.before).append((own.group(1), whole))
            else:
                self.body.append((line, len(conditions)))
            if re.match(r"#\s*endif", text):
                conditions.pop()
            code_seen = code_seen or not (text == "" or text.startswith(("#", "//")))


def files_of_every_unit(roots, files):
    """Those reached without an include that SINTER_SEPARATE leaves out."""
    reached, waiting = set(), list(roots)
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        file = files.setdefault(name, File(name))
        waiting += [other for other, whole in file.before + file.after if not whole]
    return reached


def amalgamate(roots):
    files, out, done, included = {}, [], set(), set()
    every_unit = files_of_every_unit(roots, files)

    def emit(name):
        if name in done:
            return
        done.add(name)
        file = files.setdefault(name, File(name))
        for other, _ in file.before:
            emit(other)
        out.append(f"// --- {name}")
        if name not in every_unit:
            out.append(WHOLE)
        for line, depth in file.body:
            if OTHER.match(line) and depth == 0:
                if line in included:
                    continue
                if name in every_unit:
                    included.add(line)
            out.append(line)
        if name not in every_unit:
            out.append("#endif")
        out.append("")
        for other, _ in file.after:
            emit(other)

    for root in roots:
        emit(root)
    return "\n".join(out)


def heading():
    text = (INCLUDE / "sinter/support/version.hpp").read_text()
    version = ".".join(re.search(rf"SINTER_VERSION_{part} (\d+)", text).group(1)
                       for part in ("MAJOR", "MINOR", "PATCH"))
    licence = (INCLUDE.parent / "LICENSE").read_text().strip().splitlines()
    lines = [f"sinter {version}, all of it in one header, which tools/single_header.py wrote.", ""] + licence
    return "".join(f"// {line}".rstrip() + "\n" for line in ["SPDX-License-Identifier: MIT"] + lines) + "#pragma once\n\n"


def main(arguments):
    if not arguments:
        sys.exit(__doc__)
    output = pathlib.Path(arguments[0])
    text = amalgamate(arguments[1:] or ["sinter/sinter.hpp"])
    text = re.sub(r"#if[^\n]*\n#endif\n", "", text)  # nothing but includes of sinter stood there
    text = heading() + re.sub(r"\n{3,}", "\n\n", text) + "\n"
    output.parent.mkdir(parents=True, exist_ok=True)
    if not output.exists() or output.read_text() != text:
        output.write_text(text)


main(sys.argv[1:])
