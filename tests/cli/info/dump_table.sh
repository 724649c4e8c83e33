#!/usr/bin/env bash
# One table alone; a table that does not exist is wrong usage.
boundshim info --dump=call tests/golden/valid/example.bst
boundshim info --dump=nothing tests/golden/valid/example.bst >"$TEST_TMP/out" 2>&1
echo "exit $?"
cut -d: -f1-4 "$TEST_TMP/out" | cut -c1-60
