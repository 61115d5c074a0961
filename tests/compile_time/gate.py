#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the templates that Clang instantiates for the reference programs beside this file, and compares with baseline.json.

A count is the same on every run and every machine, where seconds are not, and seconds follow it. It does depend on the
versions of the compiler and of the libraries, which the baseline names: with others the gate is skipped (exit code 77).

  gate.py check COMPILER INCLUDE_DIRECTORIES [BASELINE]   fails where a program has 3 % more than the baseline
  gate.py renew COMPILER INCLUDE_DIRECTORIES [BASELINE]   writes the baseline

INCLUDE_DIRECTORIES is a list separated by semicolons.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ("core", "one_op", "ten_ops", "training_step")
ALLOWED_GROWTH = 0.03
# One instruction set on every machine, and units as a program of several has them.
FLAGS = ["-std=c++20", "-mavx2", "-mfma", "-fopenmp", "-DSINTER_SEPARATE"]
# What a program gains or loses elsewhere is told by name in the baseline; what is rarer is told as "other".
NAMED_FROM = 5
SKIPPED = 77


def template_of(detail):
    """The template of an instantiation, without its arguments and without inline namespaces."""
    name = re.sub(r"\b(abi_\w+|__cxx11|_V2|__1)::", "", detail)
    name = re.split(r"[<(]", name.replace("operator<", "operator-less"), maxsplit=1)[0]
    return name.strip() or "(a lambda)"


def instantiations(events):
    """How often each template is instantiated: classes and functions."""
    counts = collections.Counter()
    for event in events:
        if event.get("name") in ("InstantiateClass", "InstantiateFunction"):
            counts[template_of(event["args"]["detail"])] += 1
    return counts


class Compiler:
    def __init__(self, command, directories):
        self.command = [command, *FLAGS]
        for directory in directories.split(";"):
            # Named again, /usr/include would move before the compiler's own headers.
            if directory and directory != "/usr/include":
                self.command += ["-isystem", directory]

    def run(self, arguments, text=None):
        return subprocess.run([*self.command, *arguments], input=text, check=True, capture_output=True, text=True).stdout

    def versions(self):
        asked = ("__clang_version__", "__GLIBCXX__", "EIGEN_WORLD_VERSION", "EIGEN_MAJOR_VERSION", "EIGEN_MINOR_VERSION",
                 "XSIMD_VERSION_MAJOR", "XSIMD_VERSION_MINOR")
        headers = "#include <vector>\n#include <Eigen/src/Core/util/Macros.h>\n#include <xsimd/config/xsimd_config.hpp>\n"
        defined = self.run(["-E", "-dM", "-x", "c++", "-"], headers)
        found = dict(re.findall(r"^#define (\w+) (.*)$", defined, re.MULTILINE))
        return {name: found.get(name, "") for name in asked}

    def counts(self, source):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace.json")
            self.run(["-fsyntax-only", "-ftime-trace=" + trace, "-ftime-trace-granularity=0", str(source)])
            with open(trace, encoding="utf-8") as file:
                return instantiations(json.load(file)["traceEvents"])


def summary(counts):
    named = {name: n for name, n in sorted(counts.items()) if n >= NAMED_FROM}
    return {"total": sum(counts.values()), "templates": named}


def growth(before, counts):
    """The templates that grew, most first: (growth, name, count before, count now)."""
    grown = []
    for name, n in counts.items():
        was = before["templates"].get(name)
        if was is None and n < NAMED_FROM:
            continue
        if n > (was or 0):
            grown.append((n - (was or 0), name, was or 0, n))
    return sorted(grown, key=lambda each: (-each[0], each[1]))


def complaint(program, before, counts):
    """What to say of a program that grew too much, or None."""
    total = sum(counts.values())
    if total <= before["total"] * (1 + ALLOWED_GROWTH):
        return None
    share = 100 * (total / before["total"] - 1)
    lines = [f"{program}: {total} instantiations, {before['total']} in the baseline (+{share:.1f} %). What grew:"]
    lines += [f"  +{more:<5} {name} ({was} -> {now})" for more, name, was, now in growth(before, counts)[:15]]
    return "\n".join(lines)


def check(compiler, baseline):
    kept = json.loads(baseline.read_text(encoding="utf-8"))
    versions = compiler.versions()
    if versions != kept["versions"]:
        print(f"skipped: the baseline is of {kept['versions']}, here is {versions}")
        return SKIPPED
    failed = False
    for program in PROGRAMS:
        counts = compiler.counts(HERE / f"{program}.cpp")
        said = complaint(program, kept["programs"][program], counts)
        failed = failed or said is not None
        print(said or f"{program}: {sum(counts.values())} instantiations, {kept['programs'][program]['total']} in the baseline")
    if failed:
        print("Where it is worth that, renew the baseline: ./dev baseline")
    return 1 if failed else 0


def renew(compiler, baseline):
    programs = {program: summary(compiler.counts(HERE / f"{program}.cpp")) for program in PROGRAMS}
    text = json.dumps({"versions": compiler.versions(), "programs": programs}, indent=1, sort_keys=True)
    baseline.write_text(text + "\n", encoding="utf-8")
    for program in PROGRAMS:
        print(f"{program}: {programs[program]['total']} instantiations")
    return 0


def main(arguments):
    if len(arguments) not in (3, 4) or arguments[0] not in ("check", "renew"):
        print(__doc__, file=sys.stderr)
        return 2
    compiler = Compiler(arguments[1], arguments[2])
    baseline = pathlib.Path(arguments[3]) if len(arguments) == 4 else HERE / "baseline.json"
    return (check if arguments[0] == "check" else renew)(compiler, baseline)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as failure:
        print(failure.stderr, file=sys.stderr)
        sys.exit(1)
