#!/usr/bin/env python3
"""scripts/whatif without a GPU: its arithmetic, and what it makes of programs that fail, hang or cannot be predicted, by stand-ins
for the programs and for the report."""
import importlib.machinery
import importlib.util
import json
import subprocess
import sys

from lib import BUILD, ROOT, check, equal, folder, main

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("whatif", str(ROOT / "scripts/whatif"))
harness = importlib.util.module_from_spec(importlib.util.spec_from_loader("whatif", loader))
loader.exec_module(harness)

# Stands for samples/whatif/pairs.py: `good` halves its step, `wrong` does not, `ends` fails, `hangs` never ends.
PAIRS = """
import json, os, sys, time
pairs = [("good", "cuda-graphs", 1), ("wrong", "cuda-graphs", 1), ("batch", "larger-batch", 2), ("ends", "cuda-graphs", 1),
         ("nothing", "no-sync", 1), ("hangs", "cuda-graphs", 1)]
if "--list" in sys.argv:
    for name, change, items in pairs:
        print(json.dumps({"name": name, "change": change, "items": items}))
elif "--only" in sys.argv:
    if sys.argv[1] == "ends":
        sys.exit("no such GPU")
    if sys.argv[1] == "hangs":
        time.sleep(600)
    open(os.path.join(os.environ["BOUNDSHIM_OUT"], "x.bst"), "w").write("trace")
else:
    print("words of a library")
    after = {"wrong": 190, "batch": 200}.get(sys.argv[1], 100)
    print(json.dumps({"before": [200] * 9, "after": [after] * 8 + [1000]}))
"""
REPORT = """#!/usr/bin/env python3
import json
step = lambda *v: dict(zip(("low", "value", "high"), v))
changes = [{"id": "cuda-graphs", "step_ns": step(80, 105, 130)}, {"id": "larger-batch", "step_ns": step(95, 100, 110)}]
whatif = {"known": True, "untraced_step_ns": 200, "replay_error": 0.001, "changes": changes}
print(json.dumps({"processes": [{"devices": [{"steady": {"busy_ns": 1}, "whatif": whatif, "advice": [{"id": "cuda-graphs"}]}]}]}))
"""


def near(got, wanted, what):
    check(abs(got - wanted) < 1e-9, f"{what}: got {got}, expected {wanted}")


def the_measured_speedup_is_the_median_of_neighbours():
    found = harness.speedup({"before": [10, 20, 30, 40], "after": [5, 5, 10, 40]})
    near(found["value"], 2.5, "median of 2, 4, 3 and 1")
    equal((found["low"], found["high"], found["blocks"]), (2, 3, 4), "middle half and number")


def an_interval_holds_what_it_meets():
    predicted = {"value": 2.0, "low": 1.8, "high": 2.2}
    near(harness.judge(predicted, {"value": 1.6, "low": 1.5, "high": 1.7})["error"], 0.25, "error")
    measured = [(1.5, 1.7), (1.5, 1.81), (1.9, 2.0), (1.5, 2.5), (2.1, 2.5), (2.21, 2.5)]
    equal([harness.judge(predicted, {"value": 2, "low": low, "high": high})["inside"] for low, high in measured],
          [False, True, True, True, True, False], "inside")


def a_table_of_all_pairs_comes_out():
    where = folder("whatif")
    (where / "pairs.py").write_text(PAIRS)
    (where / "report").write_text(REPORT)
    (where / "report").chmod(0o755)
    command = [ROOT / "scripts/whatif", "--pairs", where / "pairs.py", "--boundshim", where / "report", "--shim", "", "--seconds", "8",
               "--output", where / "out"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60)
    equal(done.returncode, 1, f"exit status, as one prediction is wrong ({done.stderr})")
    result = json.loads((where / "out/whatif.json").read_text())
    pairs = {pair["name"]: pair for pair in result["pairs"]}
    equal((pairs["good"]["inside"], pairs["wrong"]["inside"], pairs["batch"]["inside"]), (True, False, True), "inside")
    near(pairs["good"]["error"], (200 / 105) / 2 - 1, "error")
    near(pairs["batch"]["measured"]["value"], 2, "per item, of twice as many in the same time")
    check(pairs["ends"]["reason"] == "recording: no such GPU", pairs["ends"])
    check(pairs["nothing"]["reason"] == "nothing to change by no-sync", pairs["nothing"])
    check("no end within" in pairs["hangs"]["reason"], pairs["hangs"])
    equal((result["summary"]["pairs"], result["summary"]["measured"], result["summary"]["inside"]), (6, 3, 2), "summary")
    check("2 of 3 inside their interval" in done.stdout and "1.90x (1.54 to 2.50)" in done.stdout, done.stdout)


def shards_are_parts_that_merge():
    where = folder("whatif")
    (where / "pairs.py").write_text(PAIRS.replace('("ends"', '("good2"').replace('("nothing", "no-sync"', '("good3", "cuda-graphs"')
                                    .replace('("hangs"', '("good4"').replace('("wrong"', '("good5"'))
    (where / "report").write_text(REPORT)
    (where / "report").chmod(0o755)
    common = [ROOT / "scripts/whatif", "--pairs", where / "pairs.py", "--boundshim", where / "report", "--shim", ""]
    for shard in (1, 2):
        done = subprocess.run([*map(str, common), "--shard", f"{shard}/2", "--output", str(where / str(shard))], capture_output=True,
                              text=True, timeout=60)
        equal(done.returncode, 0, f"exit status ({done.stderr})")
    done = subprocess.run([*map(str, common), "--merge", str(where / "1/whatif.json"), str(where / "2/whatif.json"), "--output",
                           str(where / "all")], capture_output=True, text=True, timeout=60)
    equal(done.returncode, 0, f"exit status ({done.stderr})")
    check("6 of 6 inside their interval" in done.stdout, done.stdout)
    done = subprocess.run([*map(str, common), "--merge", str(where / "1/whatif.json"), str(where / "1/whatif.json"), "--output",
                           str(where / "twice")], capture_output=True, text=True, timeout=60)
    check("3 of 3 inside their interval" in done.stdout, f"a pair measured twice counts once: {done.stdout}")


def every_pair_names_an_advice_that_exists():
    known = set()
    for line in (ROOT / "analysis/changes.def").read_text().splitlines():
        if line.startswith("CHANGE("):
            known.add(line.split('"')[1])
    listed = subprocess.run([sys.executable, ROOT / "samples/whatif/pairs.py", "--list"], capture_output=True, text=True, timeout=60)
    pairs = [json.loads(line) for line in listed.stdout.splitlines()]
    check(len(pairs) >= 12, f"only {len(pairs)} pairs")
    equal({pair["change"] for pair in pairs} - known, set(), "changes that are not simulated")
    return f"{len(pairs)} pairs, {len({pair['change'] for pair in pairs})} kinds of change"


def what_was_measured_on_an_h200_is_still_predicted():
    """The table in the repository, and those of its traces that are kept there, by this analyzer."""
    kept = ROOT / "samples/whatif/h200"
    command = [ROOT / "scripts/whatif", "--merge", kept / "whatif.json", "--boundshim", BUILD / "boundshim", "--output"]
    where = folder("kept")
    subprocess.run([*command, where], capture_output=True, timeout=60)
    equal((where / "whatif.txt").read_text(), (kept / "whatif.txt").read_text(), "the table, from its JSON")
    where = folder("again")
    done = subprocess.run([*command, where, "--again"], capture_output=True, text=True, timeout=100)
    equal(done.returncode, 0, f"exit status: {done.stdout}{done.stderr}")
    before, now = (json.loads((path / "whatif.json").read_text()) for path in (kept, where))
    for old, new in zip(before["pairs"], now["pairs"]):
        if "error" in old:
            check(abs(old["error"] - new["error"]) < 0.02, f"{old['name']}: error {new['error']:.1%}, was {old['error']:.1%}")
    summary = now["summary"]
    check(summary["measured"] >= 12, "fewer than 12 changes")
    return f"{summary['measured']} changes, median error {summary['median_error']:.1%}, largest {summary['largest_error']:.1%}"


main(the_measured_speedup_is_the_median_of_neighbours, an_interval_holds_what_it_meets, a_table_of_all_pairs_comes_out,
     shards_are_parts_that_merge, every_pair_names_an_advice_that_exists, what_was_measured_on_an_h200_is_still_predicted)
