#!/usr/bin/env bash
# Wrong usage is said in a sentence and exits with 2.
try() {
	boundshim report "$@" 2>&1 | head -n 1
	boundshim report "$@" >/dev/null 2>&1
	echo "exit $?"
}
try
try --top x trace.bst
try --format yaml trace.bst
try --frobnicate trace.bst
try --fail-if 'speed>3' trace.bst
try --fail-if 'overhead_pct' trace.bst
