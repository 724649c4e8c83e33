#!/usr/bin/env bash
# What was measured is printed beside the derived peaks and kept for each GPU, or in a file of choice.
here=$PWD/tests/cli/calibrate
cat >"$TEST_TMP/kernels" <<END
#!/bin/sh
echo "asked: \$* mode \$BOUNDSHIM_MODE" >&2
cat $here/kernels.json
END
chmod +x "$TEST_TMP/kernels"
export BOUNDSHIM_KERNELS=$TEST_TMP/kernels XDG_DATA_HOME=$TEST_TMP/data
boundshim calibrate 2>"$TEST_TMP/words" | sed "s|$TEST_TMP|TMP|"
cat "$TEST_TMP/words"
kept=$TEST_TMP/data/boundshim/ceilings
stat -c '%n %a' "$kept"/* | sed "s|$TEST_TMP|TMP|"
python3 -c '
import json, sys
document = json.load(open(sys.argv[1]))
print(document["schema"], [d["uuid"] for d in document["devices"]], len(document["devices"][0]["ceilings"]))
' "$kept"/*.json
boundshim calibrate --device 3 --output "$TEST_TMP/mine.json" 2>&1 | grep -E 'asked|kept' | sed "s|$TEST_TMP|TMP|"
find "$TEST_TMP" -name '*.json*' | wc -l
