#!/usr/bin/env bash
# The traces recorded on an H200 keep their verdicts: regime, leaf, steps, evidence by kernel time, coverage.
# The reports beside them, and those in README.md, are what the command prints. Those of the field guide have none: guide.sh.
for report in samples/traces/*/report.txt; do
	trace=${report%/*}/trace.bst
	printf '%s: ' "$(basename "$(dirname "$trace")")"
	boundshim report --format json --top 0 "$trace" | python3 -c '
import collections, json, sys
process = json.load(sys.stdin)["processes"][0]
device, coverage = process["devices"][0], process["coverage"]
steady = device["steady"]
assert sum(steady["leaves"].values()) == steady["window_ns"], "leaves do not sum to the window"
evidence = collections.Counter()
for kernel in device["kernels"]:
    evidence[kernel["evidence"]] += kernel["busy_ns"]
most = max(evidence, key=evidence.get)
print(device["verdict"]["regime"], device["verdict"]["leaf"], "steps", (steady["step"] or {}).get("count"),
      "evidence", most, "kernels", coverage["kernels"], "explained", coverage["kernels_explained"],
      "lost", coverage["lost"], "complete", process["run"]["complete"])'
done
for report in samples/traces/*/report.txt; do
	boundshim report "${report%/*}/trace.bst" | diff "$report" - || exit 1
done
python3 -c '
import sys
sys.exit(open("samples/traces/mlp_train/report.txt").read().strip() not in open("README.md").read())' || {
	echo "README.md: its report is not samples/traces/mlp_train/report.txt"
	exit 1
}
boundshim report --view roofline samples/traces/bert_train/trace.bst | python3 -c '
import sys
readme = open("README.md").read()
pasted = readme[readme.index("\nFLOPs against time"):].split("\n```")[0]
sys.exit(pasted not in sys.stdin.read())' || {
	echo "README.md: its rooflines are not those of samples/traces/bert_train"
	exit 1
}
