#!/usr/bin/env bash
# The help of diff comes from its option table.
boundshim diff --help
