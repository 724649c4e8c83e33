#!/usr/bin/env bash
# One table alone; a table that does not exist is wrong usage.
boundshim info --dump=run tests/golden/valid/every-table.bst | cut -c1-80
boundshim info --dump=nothing tests/golden/valid/every-table.bst 2>&1
echo "exit $?"
