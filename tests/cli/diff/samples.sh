#!/usr/bin/env bash
# Recorded traces against each other: a run against itself is no change, two programs are called two programs, and leaves add up.
trace() { echo "samples/traces/$1/trace.bst"; }
for name in samples/traces/*/report.txt; do
	name=${name%/*}
	boundshim diff --format json "$name" "$name" | python3 -c '
import json, sys
pair = json.load(sys.stdin)["pairs"][0]
assert pair["time"]["change_ns"]["value"] == 0 and pair["time"]["significant"] is False, pair["time"]
assert not pair["notes"], pair["notes"]
assert all(leaf["change_ns"] == 0 for leaf in pair["leaves"].values()), pair["leaves"]
changed = [k["short_name"] for k in pair["kernels"] if k["match"] != "same" or k["pace"] != "same" or k["change_ns"]]
assert not changed, changed' || exit 1
done
for a in mlp_train demo; do
	for b in gemm_loop bert_infer; do
		boundshim diff --format json "$(trace $a)" "$(trace $b)" | python3 -c '
import json, sys
pair = json.load(sys.stdin)["pairs"][0]
for key in ("a_ns", "b_ns", "change_ns"):
    assert sum(leaf[key] for leaf in pair["leaves"].values()) == pair["mean"][key], key' || exit 1
	done
done
boundshim diff --top 3 "$(trace mlp_train)" "$(trace mlp_train)"
echo
boundshim diff --top 3 "$(trace mlp_train)" "$(trace bert_infer)"
echo
boundshim diff --top 3 "$(trace demo)" "$(trace demo-static)"
echo
boundshim diff --window whole --top 3 "$(trace demo)" "$(trace demo-static)"
boundshim diff "$(trace demo)" "$(trace demo-static)" >"$TEST_TMP/readme"
python3 -c '
import os, sys
sys.exit(open(os.environ["TEST_TMP"] + "/readme").read().strip() not in open("README.md").read())' || {
	echo "README.md: its comparison is not what the command prints"
	exit 1
}
