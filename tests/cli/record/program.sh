#!/usr/bin/env bash
# The program's own exit status and output; 127 and 126 as a shell has them.
lib=build/libboundshim.so
[[ -e $lib ]] || { echo 'libboundshim.so is not built'; exit 77; }
export BOUNDSHIM_LIB=$lib
# shellcheck disable=SC2016
boundshim record -- sh -c 'echo "$1"; exit 42' sh out
echo "exit $?"
boundshim record sh -c 'kill -TERM $$' 2>/dev/null
echo "exit $?"
boundshim record /no/such/program 2>&1
echo "exit $?"
boundshim record /etc/passwd 2>&1
echo "exit $?"
boundshim record 2>&1 | head -n 1
