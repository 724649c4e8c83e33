#!/usr/bin/env bash
# A trace under the roofs of another GPU: a prediction, said to be one. On its own GPU nothing changes; labels and ceilings stay.
trace=samples/traces/gemm_loop/trace.bst
boundshim report --on a100 "$trace" | sed -n '/^On /,/^$/p'
echo "== memory goes by bandwidth"
boundshim report --on l40s samples/traces/cos_1gib/trace.bst | sed -n '/^On /,/^$/p'
echo "== every GPU"
for on in v100 t4 a100 a10 l4 l40s h100 h200 b200; do
	boundshim report --format json --on "$on" "$trace" | python3 -c '
import json, sys
device = json.load(sys.stdin)["processes"][0]["devices"][0]
on, kernel = device["on"], device["kernels"][0]["on"]
t = on["time"]
print(on["name"], "covers", round(on["covered"], 3), "nothing" if not t else "%.2f" % t["value"], kernel and kernel["roof"])'
done
echo "== labels stay"
boundshim report --format json "$trace" >"$TEST_TMP/here"
boundshim report --format json --on l4 "$trace" >"$TEST_TMP/there"
python3 - "$TEST_TMP/here" "$TEST_TMP/there" <<'PYTHON'
import json, sys
here, there = (json.load(open(path))["processes"][0]["devices"][0] for path in sys.argv[1:])
del there["on"]
for kernel in there["kernels"]:
    del kernel["on"]
print("the rest is the same:", here == there)
PYTHON
echo "== no kernel under a roof"
boundshim report --on a100 samples/traces/mlp_train/trace.bst | sed -n '/^On /,/^$/p'
echo "== no such GPU"
boundshim report --on voodoo2 "$trace" 2>&1 | head -n 1
