#!/usr/bin/env bash
# Exit 0 for a trace that was cut off, 1 for damage inside and for what is no trace; each with a sentence.
for name in cut-in-payload chunk-header-bit foreign empty incompatible-bit; do
	{ boundshim info "tests/golden/broken/$name.bst" >/dev/null; } 2>&1
	echo "exit $?"
done
boundshim info tests/golden/no-such.bst 2>&1
echo "exit $?"
boundshim info tests/golden 2>&1
echo "exit $?"
