#!/usr/bin/env bash
# The steps of the traces recorded on an H200, played unchanged, take what they took, within 2 %; and what is advised on those that
# have a report beside them.
for trace in samples/traces/*/trace.bst; do
	words=/dev/null
	[[ -e ${trace%/*}/report.txt ]] && words=/dev/stdout
	printf '%s: ' "$(basename "$(dirname "$trace")")" >>$words
	boundshim report --format json --top 1 "$trace" | python3 -c '
import json, sys
device = json.load(sys.stdin)["processes"][0]["devices"][0]
whatif = device["whatif"]
if not whatif["known"]:
    print(whatif["reason"])
    sys.exit()
recorded, replayed = whatif["recorded_step_ns"], whatif["replayed_step_ns"]
assert abs(replayed / recorded - 1) < 0.02, f"{replayed} ns in place of {recorded} ns"
assert abs(abs(replayed / recorded - 1) - whatif["replay_error"]) < 1e-6, whatif
assert abs(recorded / device["steady"]["step"]["period_ns"] - 1) < 0.1, "the steps are not typical"
for advice in device["advice"]:
    speedup = advice["speedup"]
    assert 1 <= speedup["low"] <= speedup["value"] <= speedup["high"], advice
    assert advice["why"] and advice["how"], advice
advised = [advice["id"] for advice in device["advice"]]
print(whatif["steps"], "steps,", *(advised or ["nothing to advise"]))' >>$words || exit 1
done
