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

import cases


def measure(module, names, seconds=0.6):
    """Prints the median time of a call of each case, in seconds, and the sum of what its result's elements are in size."""
    side = __import__(f"in_{module}")
    print(json.dumps({"name": side.NAME}), flush=True)
    for case in names:
        call = side.call(cases.CASES[case][0], cases.operands_of(case))
        for _ in range(3):
            result = call()
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


def run_sinter(table, names, threads):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        run([table, *names, f"--threads={threads}", "--benchmark_repetitions=5", f"--json={out.name}"], threads)
        return {each["case"]: each["sides"]["sinter"]["median_ns"] * 1e-9 for each in json.load(open(out.name))["cases"]}


def run_side(module, names, threads):
    lines = run([sys.executable, __file__, "--measure", module, *names], threads).splitlines()
    found = [json.loads(line) for line in lines if line.startswith("{")]
    return found[0]["name"], {each["case"]: (each["median"], each["size"]) for each in found[1:]}


def check_same(case, sizes):
    """Compilers were given the same operands; a case that they do not agree about is not the same case."""
    if max(sizes) - min(sizes) > 1e-3 * max(sizes):
        sys.exit(f"{case}: results differ: their elements' sizes add up to {sizes}")


def readable(seconds):
    return f"{seconds * 1e6:.3g} us" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"


def run_rounds(asked, names):
    """The least of the rounds' medians by side and case, and what sides call themselves."""
    best, titles, sizes = {}, {"sinter": "sinter"}, {case: [] for case in names}
    for _ in range(asked.rounds):
        times = {"sinter": run_sinter(asked.table.resolve(), names, asked.threads)}
        for side in asked.sides.split(","):
            titles[side], found = run_side(side, names, asked.threads)
            times[side] = {case: median for case, (median, _) in found.items()}
            for case, (_, size) in found.items():
                sizes[case].append(size)
        for side, medians in times.items():
            for case in names:
                best[side, case] = min(best.get((side, case), medians[case]), medians[case])
    for case in names:
        check_same(case, sizes[case])
    return best, titles


def print_table(best, titles, names):
    others = [side for side in titles if side != "sinter"]
    print("| case | sinter |", *(f"{titles[side]} | ratio |" for side in others))
    print("|---|---|" + "---|---|" * len(others))
    for case in names:
        own = best["sinter", case]
        print(f"| {case} | {readable(own)} |",
              *(f"{readable(best[side, case])} | {own / best[side, case]:.2f} |" for side in others))


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
    names = [name for name in cases.CASES if not asked.case or name.startswith(tuple(asked.case))]
    if not names:
        parser.error(f"no case's name begins so; there are {', '.join(cases.CASES)}")
    best, titles = run_rounds(asked, names)
    print_table(best, titles, names)
    if asked.json:
        asked.json.write_text(json.dumps([{"case": case, "side": titles[side], "seconds": seconds, "threads": asked.threads}
                                          for (side, case), seconds in best.items()], indent=1))


main()
