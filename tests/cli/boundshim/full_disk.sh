#!/usr/bin/env bash
# What could not be written is a failure, whoever wrote it.
[[ -e /dev/full ]] || { echo 'no /dev/full'; exit 77; }
for command in '--help' '--version' 'report --help' 'info tests/golden/valid/example.bst' \
	'info --dump tests/golden/valid/example.bst'; do
	# shellcheck disable=SC2086
	{ boundshim $command >/dev/full; } 2>&1
	echo "exit $?"
done
