#!/usr/bin/env bash
# Options become variables, the library comes first in LD_PRELOAD, and other tools' injections stay.
lib=build/libboundshim.so
[[ -e $lib ]] || { echo 'libboundshim.so is not built'; exit 77; }
[[ ${VARIANT:-release} == release ]] || { echo 'a sanitized command takes no preloaded library'; exit 77; }
export BOUNDSHIM_LIB=$lib
# shellcheck disable=SC2016
show='printf "%s\n" "${LD_PRELOAD//$PWD/.}" "$BOUNDSHIM_OUT" "$BOUNDSHIM_MODE" "$BOUNDSHIM_MAX_MB" \
	"$BOUNDSHIM_KEEP" "$BOUNDSHIM_CUPTI_YIELD" "${CUDA_INJECTION64_PATH//$PWD/.}" "${NVTX_INJECTION64_PATH//$PWD/.}"'
boundshim record -o x.bst --mode=hooks --max-mb 5 --keep newest --cupti-yield bash -c "$show"
LD_PRELOAD=libm.so.6 CUDA_INJECTION64_PATH=/other.so boundshim record bash -c "$show"
# The program's own options are not ours.
boundshim record echo --mode=hooks --help
