#!/usr/bin/env bash
# --fail-if: 3 where the change held, 0 where it did not or is noise, 1 where it cannot be judged.
a=samples/traces/demo/trace.bst
b=samples/traces/demo-static/trace.bst
try() {
	echo "$1"
	boundshim diff --fail-if "$@" 2>&1 >/dev/null
	boundshim diff --fail-if "$@" >/dev/null 2>&1
	echo "exit $?"
}
try 'step_ms>+0.05%' "$a" "$b"
try 'host_ms>+3%' "$a" "$b"
try 'launch_ms<-5%' "$a" "$b"
try 'overhead_pct>+3' "$a" "$b"
try 'step_ms>5' "$a" "$b"
try 'step_ms>+100%' samples/traces/cos_1gib/trace.bst "$b"
try 'regime==unknown' "$a" "$b"
try 'lost>+0' "$a" "$b"
