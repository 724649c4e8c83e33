#!/usr/bin/env bash
# What info says of the worked example of FORMAT.md.
boundshim info tests/golden/valid/example.bst
echo "exit $?"
