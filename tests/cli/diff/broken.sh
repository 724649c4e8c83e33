#!/usr/bin/env bash
# A trace that was cut off or damaged is compared as far as it goes, and the output says so.
trace=samples/traces/mlp_train/trace.bst
small=samples/traces/cos_1gib/trace.bst
head -c 300000 "$trace" >"$TEST_TMP/torn.bst"
boundshim diff --top 2 "$trace" "$TEST_TMP/torn.bst" 2>&1 | sed "s|$TEST_TMP|TMP|g"
boundshim diff "$trace" "$TEST_TMP/torn.bst" >/dev/null 2>&1
echo "exit $?"
for file in tests/golden/broken/*.bst; do
	boundshim diff --format json "$small" "$file" >"$TEST_TMP/out" 2>/dev/null
	status=$?
	[[ $status -le 1 ]] || echo "$file: exit $status"
	[[ ! -s $TEST_TMP/out ]] || python3 -m json.tool "$TEST_TMP/out" >/dev/null || echo "$file: no JSON"
done
