#!/usr/bin/env bash
# Wrong usage and bad input are said in a sentence; usage exits with 2, what cannot be read with 1.
a=samples/traces/cos_1gib/trace.bst
try() {
	boundshim diff "$@" 2>&1 >/dev/null | sed "s|$TEST_TMP|TMP|g"
	boundshim diff "$@" >/dev/null 2>&1
	echo "exit $?"
}
try 2>&1 | sed -n '1p;$p'
try "$a" 2>&1 | sed -n '1p;$p'
try "$a" "$a" "$a" 2>&1 | sed -n '1p;$p'
try --format yaml "$a" "$a" 2>&1 | sed -n '1p;$p'
try --fail-if 'speed>+3' "$a" "$a"
try --fail-if 'step_ms' "$a" "$a"
try --fail-if 'step_ms>+5%x' "$a" "$a"
try --fail-if 'regime>+5%' "$a" "$a"
try "$a" /nonexistent.bst
mkdir "$TEST_TMP/empty"
try "$a" "$TEST_TMP/empty"
printf 'no trace' >"$TEST_TMP/foreign.bst"
try "$TEST_TMP/foreign.bst" "$a"
