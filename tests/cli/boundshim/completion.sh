#!/usr/bin/env bash
# The completion script is valid, and completes commands, options and choices.
eval "$(boundshim --completion)"
try() { # WORD...
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_boundshim
	printf '%s\n' "${COMPREPLY[*]}"
}
try boundshim re
try boundshim report --fo
try boundshim report --format ''
try boundshim record --mode = h
