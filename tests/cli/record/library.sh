#!/usr/bin/env bash
# A library that cannot be used is said plainly, and the program does not run.
BOUNDSHIM_LIB=/no/such.so boundshim record echo ran 2>&1
echo "exit $?"
mkdir "$TEST_TMP/a b"
touch "$TEST_TMP/a b/lib.so"
BOUNDSHIM_LIB="$TEST_TMP/a b/lib.so" boundshim record echo ran 2>&1 | sed "s|$TEST_TMP|TMP|"
cp "$BOUNDSHIM" "$TEST_TMP/boundshim"
"$TEST_TMP/boundshim" record echo ran 2>&1 | sed "s|$TEST_TMP|TMP|g"
