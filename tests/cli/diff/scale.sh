#!/usr/bin/env bash
# --scale on recorded traces: not of different sizes, so the user's word is needed; usage is checked.
mlp=samples/traces/mlp_train/trace.bst
gemm=samples/traces/gemm_loop/trace.bst
demo=samples/traces/demo/trace.bst
static=samples/traces/demo-static/trace.bst
try() {
	{ boundshim diff "$@" >/dev/null; } 2>&1
	boundshim diff "$@" >/dev/null 2>&1
	echo "exit $?"
}
try --scale "$mlp" "$mlp"
try --scale "$gemm" samples/traces/none.bst
try --scale --work 1,2,4 "$gemm" "$gemm"
try --scale --work 1,x "$gemm" "$gemm"
try --scale --work 3,3 "$gemm" "$gemm"
try --work 1,2 "$gemm" "$gemm"
try --scale --fail-if 'step_ms>+5%' "$gemm" "$gemm"
try --scale "$gemm" 2>&1 | sed -n '1p;$p'
boundshim diff --scale --work 1,2 --top 3 "$demo" "$static"
boundshim diff --scale --work 1,2 --format json --top 1 "$demo" "$static" | python3 -c '
import json, sys
report = json.load(sys.stdin)
print(report["schema"], len(report["kernels"]), report["whole"]["growth"])'
