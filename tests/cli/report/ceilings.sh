#!/usr/bin/env bash
# Which ceilings a report goes by: a named file, else what calibrate keeps, else derived ones. They
# move headroom and no label. A file that cannot be used is said in a sentence; only one that was
# named fails the report.
trace=samples/traces/gemm_loop/trace.bst
uuid=$(boundshim report --format json "$trace" | python3 -c '
import json, sys
print(json.load(sys.stdin)["processes"][0]["devices"][0]["uuid"])')
kept=$XDG_DATA_HOME/boundshim/ceilings
mkdir -p "$kept"
ceilings() { # UUID BF16_TFLOPS
	python3 - "$@" <<'PYTHON'
import json, sys
document = json.load(open("samples/h200/ceilings.json"))
device = document["devices"][0]
device["uuid"], rate = sys.argv[1], float(sys.argv[2]) * 1e12
device["ceilings"]["tensor_bf16"].update(value=rate, low=rate * 0.99, high=rate * 1.01)
json.dump(document, sys.stdout)
PYTHON
}
line() {
	boundshim report "$@" "$trace" 2>&1 | grep '^Ceilings'
}
refused() { # what a bad file does, without the temporary folder's name
	boundshim report "$@" "$trace" 2>&1 >"$TEST_TMP/out" | sed "s|$TEST_TMP|TMP|g; s|$uuid|UUID|g"
	boundshim report "$@" "$trace" >/dev/null 2>&1
	echo "exit $?"
	grep '^Ceilings' "$TEST_TMP/out"
}

echo "== none kept"
line
ceilings "$uuid" 800 >"$kept/$uuid.json"
echo "== kept"
line
echo "== named"
ceilings "$uuid" 700 >"$TEST_TMP/named.json"
line --ceilings "$TEST_TMP/named.json"
echo "== none asked for"
line --ceilings none

echo "== headroom moves, labels and peaks do not"
boundshim report --format json --ceilings none "$trace" >"$TEST_TMP/derived"
boundshim report --format json --ceilings "$TEST_TMP/named.json" "$trace" >"$TEST_TMP/named"
python3 - "$TEST_TMP/derived" "$TEST_TMP/named" <<'PYTHON'
import json, sys
derived, named = (json.load(open(path))["processes"][0]["devices"][0] for path in sys.argv[1:])
a, b = derived["kernels"][0], named["kernels"][0]
print("source", derived["ceilings"]["tensor_bf16"]["source"], named["ceilings"]["tensor_bf16"]["source"])
print("roof", a["roof"], b["roof"])
ratio = b["roofline_pct"]["value"] / a["roofline_pct"]["value"]
peak = derived["ceilings"]["tensor_bf16"]["value"]
print("roofline", "moved" if abs(ratio * 700e12 / peak - 1) < 1e-6 else ratio)
for key in ("regime", "leaf", "confidence", "tensor_pct", "dram_pct", "flops_per_s", "bytes_per_s", "intensity"):
    if a[key] != b[key]:
        print(key, "differs:", a[key], b[key])
for key in ("dram_peak_bytes_per_s", "tensor_peak_flops", "fma_peak_flops"):
    if derived["ceilings"][key] != named["ceilings"][key]:
        print(key, "differs")
PYTHON

rm "$kept/$uuid.json"
echo "== not there"
refused --ceilings "$TEST_TMP/missing.json"
echo "== cut off"
head -c 700 "$TEST_TMP/named.json" >"$TEST_TMP/cut.json"
refused --ceilings "$TEST_TMP/cut.json"
echo "== foreign"
echo '{"schema": "somebody.else/7"}' >"$TEST_TMP/foreign.json"
refused --ceilings "$TEST_TMP/foreign.json"
echo "== of another GPU"
ceilings GPU-other 700 >"$TEST_TMP/other.json"
refused --ceilings "$TEST_TMP/other.json"
echo "== makes no sense"
ceilings "$uuid" -1 >"$TEST_TMP/negative.json"
refused --ceilings "$TEST_TMP/negative.json"
echo "== two traces, one sentence"
boundshim report --ceilings "$TEST_TMP/missing.json" "$trace" samples/traces/cos_1gib/trace.bst 2>&1 >/dev/null | wc -l
echo "== kept, and broken: said, and no failure"
cp "$TEST_TMP/foreign.json" "$kept/$uuid.json"
refused
