#!/usr/bin/env python3
"""The ring's model (ring.pml) holds in every state that it can reach, and each of its mutants, one mistake each, is found out."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MODEL = pathlib.Path(__file__).resolve().parent / "ring.pml"
MUTANTS = sorted({int(n) for n in re.findall(r"MUTANT [!=]= (\d)", MODEL.read_text())} - {0})
MEMORY_MB = 1000


def verify(mutant, folder):
    """(errors, states, the assertion that failed first) of the model with this mistake; 0: none."""
    where = pathlib.Path(folder) / str(mutant)
    where.mkdir()
    subprocess.run(["spin", f"-DMUTANT={mutant}", "-a", MODEL], cwd=where, check=True, capture_output=True)
    subprocess.run(["cc", "-O1", "-w", "-DSAFETY", f"-DMEMLIM={MEMORY_MB}", "-o", "pan", "pan.c"], cwd=where, check=True)
    out = subprocess.run(["./pan", "-m100000"], cwd=where, check=True, capture_output=True, text=True).stdout
    if "Search not completed" in out and "errors: 0" in out or "out of memory" in out:
        sys.exit(f"mutant {mutant}: not all states were seen\n{out}")
    failed = re.search(r"^pan:1: (.*?) \(at depth", out, re.M)
    return (int(re.search(r"errors: (\d+)", out)[1]), int(float(re.search(r"([\d.e+]+) states, stored", out)[1])),
            failed[1] if failed else "")


def main():
    for tool in ("spin", "cc"):
        if not shutil.which(tool):
            print(f"{tool} is not there")
            sys.exit(77)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMP")) as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = dict(zip([0, *MUTANTS], pool.map(lambda mutant: verify(mutant, folder), [0, *MUTANTS])))
    wrong = []
    for mutant, (errors, states, words) in results.items():
        print(f"{'mutant ' + str(mutant) if mutant else 'the model'}: {errors} errors in {states} states {words}")
        if bool(errors) != bool(mutant):
            wrong.append(mutant)
    if wrong:
        sys.exit(f"FAIL {'the model does not hold' if 0 in wrong else f'mutants that nothing found: {wrong}'}")
    print(f"ok   {results[0][1]} states, {len(MUTANTS)} mutants found out")


main()
