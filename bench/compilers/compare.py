#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare.py BENCH_TABLE [--with jax,torch] [--threads 1] [--rounds 3] [--json FILE] [CASE...]: the cases of the table, or those
whose names begin so, beside what compilers that generate code make of them. sinter, from bench_table, and each of them run in turns,
a process per round, on the first so many cores; taken is the least of the rounds' medians of each. Their calls come from Python,
which costs them 10 to 30 us, and allocate their results."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy

import operands


def measure(module, cases, seconds=0.6):
    """Prints the median time of a call of each case, in seconds, and the sum of what its result's elements are in size."""
    side = __import__(f"in_{module}")
    print(json.dumps({"name": side.NAME}), flush=True)
    for case in cases:
        call = side.call(case, operands.of(case))
        result = [call() for _ in range(3)][0]
        first = result[0] if isinstance(result, tuple) else result
        size = float(numpy.abs(numpy.asarray(first)).sum(dtype=float))
        times, end = [], time.perf_counter() + seconds
        while len(times) < 5 or time.perf_counter() < end:
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
        print(json.dumps({"case": case, "median": sorted(times)[len(times) // 2], "size": size}), flush=True)


def run(command, threads):
    """What a process prints that has the first so many cores."""
    # What Inductor has compiled for one thread, and kept, would run on one.
    kept = os.path.join(tempfile.gettempdir(), f"inductor-{threads}")
    cores = sorted(os.sched_getaffinity(0))[:threads]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, cores),
                          env=dict(os.environ, OMP_NUM_THREADS=str(threads), TORCHINDUCTOR_CACHE_DIR=kept)).stdout


def run_sinter(table, cases, threads):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        run([table, *cases, f"--threads={threads}", "--benchmark_repetitions=5", f"--json={out.name}"], threads)
        return {each["case"]: each["sides"]["sinter"]["median_ns"] * 1e-9 for each in json.load(open(out.name))["cases"]}


def run_side(module, cases, threads):
    lines = run([sys.executable, __file__, "--measure", module, *cases], threads).splitlines()
    found = [json.loads(line) for line in lines if line.startswith("{")]
    return found[0]["name"], {each["case"]: (each["median"], each["size"]) for each in found[1:]}


def check_same(case, sizes):
    """Compilers were given the same operands; a case that they do not agree about is not the same case."""
    if max(sizes) - min(sizes) > 1e-3 * max(sizes):
        sys.exit(f"{case}: results differ: their elements' sizes add up to {sizes}")


def readable(seconds):
    return f"{seconds * 1e6:.3g} us" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"


def main():
    if sys.argv[1:2] == ["--measure"]:
        return measure(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument("case", nargs="*")
    parser.add_argument("--with", dest="sides", default="jax")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_intermixed_args()
    cases = [name for name in operands.CASES if not asked.case or name.startswith(tuple(asked.case))]
    names, best, sizes = {"sinter": "sinter"}, {}, {case: [] for case in cases}
    for _ in range(asked.rounds):
        times = {"sinter": run_sinter(asked.table.resolve(), cases, asked.threads)}
        for module in asked.sides.split(","):
            names[module], found = run_side(module, cases, asked.threads)
            times[module] = {case: found[case][0] for case in cases}
            for case in cases:
                sizes[case].append(found[case][1])
        for side in times:
            for case in cases:
                best[case, side] = min(best.get((case, side), times[side][case]), times[side][case])
    for case in cases:
        check_same(case, sizes[case])
    print("| case | " + " | ".join(name if side == "sinter" else f"{name} | ratio" for side, name in names.items()) + " |")
    print("|---" * (2 * len(names)) + "|")
    for case in cases:
        own = best[case, "sinter"]
        print(f"| {case} | {readable(own)}", *(f"{readable(best[case, side])} | {own / best[case, side]:.2f}"
                                               for side in names if side != "sinter"), sep=" | ", end=" |\n")
    if asked.json:
        asked.json.write_text(json.dumps([{"case": case, "side": names[side], "seconds": value, "threads": asked.threads}
                                          for (case, side), value in best.items()], indent=1))


main()
