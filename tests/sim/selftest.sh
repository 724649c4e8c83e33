#!/bin/sh
# Runs the toy CUPTI client against both stand-in majors, in both clocks.
# usage: selftest.sh BUILD
set -eu
here=$(dirname "$0")
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for lib in libcupti.so.13 libcupti.so.12; do
	SIM_TRUTH=$work/real.$lib "$build/sim/selftest" $lib
	SIM_CLOCK=virtual LD_PRELOAD=$build/sim/libsimclock.so SIM_TRUTH=$work/virtual.$lib \
		"$build/sim/selftest" $lib
	SIM_SCRIPT=$here/selftest_bad.sim SIM_TRUTH=$work/bad "$build/sim/selftest" $lib bad
	SIM_CLOCK=virtual LD_PRELOAD=$build/sim/libsimclock.so SIM_TRUTH=$work/flush \
		"$build/sim/selftest" $lib flush
done
python3 "$here/selftest_timeline.py" "$build"
# The doors that all_doors calls are all that libcudart exports.
for major in 12 13; do
	program=$build/apps/all_doors
	[ $major = 13 ] || program=$program$major
	"$program" list | sort >"$work/doors"
	grep -E '^(cudaMem(cpy|set)|_*cudaLaunch|cudaGraphLaunch)' "$here/cudart$major.names" |
		grep -v cudaLaunchCooperativeKernelMultiDevice | sort | diff "$work/doors" -
done
for run in all_doors all_doors12 fork_child 'fork_child child=cuda' 'fork_child when=before child=launch' \
	exec_twice threads_at_exit dlopen_local two_cudarts 'two_cudarts global=1' static_like failing_calls \
	capture 'launch_loop threads=8 kernels=4 graph=1 host=1' 'launch_loop12 h2d=100 d2h=100'; do
	# shellcheck disable=SC2086 # a program and its options
	"$build"/apps/$run >"$work/out" || { cat "$work/out"; echo "selftest: $run failed"; exit 1; }
done
echo "selftest: the test programs are well"
