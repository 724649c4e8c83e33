#!/usr/bin/env bash
# Help, version and what is no command.
boundshim --help
boundshim --version | sed 's/[0-9.]*$/N/'
boundshim 2>&1 >/dev/null | head -n 1
boundshim frobnicate 2>&1
echo "exit $?"
