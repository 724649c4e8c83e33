#!/usr/bin/env bash
# The help of report comes from its option table.
boundshim report --help
