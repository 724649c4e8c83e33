#!/usr/bin/env bash
# The traces recorded on an H200 keep their verdicts: regime, leaf, steps, evidence by kernel time, coverage.
for trace in samples/traces/*/trace.bst; do
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
