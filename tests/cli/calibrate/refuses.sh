#!/usr/bin/env bash
# Nothing is kept of a measurement that failed or makes no sense, and the reason is said.
export XDG_DATA_HOME=$TEST_TMP/data
try() { # COMMAND... of the stand-in
	printf '#!/bin/sh\n%s\n' "$*" >"$TEST_TMP/kernels"
	chmod +x "$TEST_TMP/kernels"
	BOUNDSHIM_KERNELS=$TEST_TMP/kernels boundshim calibrate 2>&1 >/dev/null | sed "s|$TEST_TMP|TMP|"
	echo "exit ${PIPESTATUS[0]}"
}
try 'echo no GPU >&2; exit 1'
# shellcheck disable=SC2016
try 'kill -KILL $$'
try 'echo hello'
try 'echo "{}"'
try 'echo "{\"schema\": \"boundshim.ceilings/1\", \"devices\": []}"'
try 'echo "{\"schema\": \"boundshim.ceilings/2\", \"devices\": [{\"uuid\": \"GPU-1\"}]}"'
try 'echo "{\"schema\": \"boundshim.ceilings/1\", \"devices\": [{\"uuid\": \"GPU-1\", \"ceilings\": {\"fp32\": {}}}]}"'
try 'sed s/GPU-0/..-0/ tests/cli/calibrate/kernels.json | sed s,..-0,../0,'
try 'yes | head -c 2000000'
try 'cat tests/cli/calibrate/kernels.json' >/dev/null
XDG_DATA_HOME=/dev/null BOUNDSHIM_KERNELS=$TEST_TMP/kernels boundshim calibrate 2>&1 >/dev/null | tail -n 1
find "$TEST_TMP/data" -name '*.json*' | wc -l
BOUNDSHIM_KERNELS=/no/such boundshim calibrate 2>&1
echo "exit $?"
cp "$BOUNDSHIM" "$TEST_TMP/boundshim"
"$TEST_TMP/boundshim" calibrate 2>&1 | sed "s|$TEST_TMP|TMP|g"
boundshim calibrate now 2>&1 | head -n 1
boundshim calibrate --device x 2>&1 | head -n 1
