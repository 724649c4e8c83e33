#!/usr/bin/env bash
# Arithmetic of recorded traces: rates, intensity and percent of roof are what the formula makes of
# FLOPs, bytes and ceilings, for every kernel; classes add up; the view fits 100 columns.
for name in bert_train bert_infer gemm_loop mlp_train cos_1gib demo; do
	printf '%s: ' "$name"
	boundshim report --format json "samples/traces/$name/trace.bst" | python3 -c '
import json, sys
device = json.load(sys.stdin)["processes"][0]["devices"][0]
ceilings = device["ceilings"]
def near(a, b):
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b))
known = estimated = 0
for k in device["kernels"]:
    seconds = k["mean_ns"] / 1e9
    for total, rate, source in (("flops", "flops_per_s", "flops_source"), ("bytes", "bytes_per_s", "bytes_source")):
        assert (k[total] is None) == (k[rate] is None) == (k[source] is None), k
        if k[total]:
            assert near(k[total]["value"] / seconds, k[rate]["value"]), k
            assert k[total]["low"] <= k[total]["value"] <= k[total]["high"], k
    if k["flops_source"] == "library":
        assert k["flops"]["low"] == k["flops"]["high"], k
        known += 1
    estimated += k["flops_source"] == "counters"
    if k["intensity"]:
        assert near(k["intensity"]["value"], k["flops"]["value"] / k["bytes"]["value"]), k
    if k["roofline_pct"]:
        memory = ceilings["dram_read"]["value"]
        of_memory = k["bytes_per_s"]["value"] / memory
        if k["roof"] == "dram_read":
            assert near(k["roofline_pct"]["value"], 100 * of_memory), k
        else:
            of_pipe = k["flops_per_s"]["value"] / ceilings[k["roof"]]["value"]
            assert near(k["roofline_pct"]["value"], 100 * of_pipe) and of_pipe >= of_memory, k
        assert k["roofline_pct"]["low"] <= k["roofline_pct"]["value"] <= k["roofline_pct"]["high"], k
classes = device["classes"]
assert sum(c["time_ns"] for c in classes) == sum(k["busy_ns"] for k in device["kernels"])
assert sum(c["launches"] for c in classes) == sum(k["launches"] for k in device["kernels"])
assert near(sum(c["time_share"] for c in classes), 1)
assert near(sum(c["flops_share"]["value"] for c in classes if c["flops_share"]), 1)
print("by library", "some" if known else "none", "by counters", "some" if estimated else "none", end="; ")
first = classes[0]
if first["time_ns"]:
    print("contraction has over 98 % of the FLOPs:", first["flops_share"]["value"] > 0.98, "and of the time:", first["time_share"] > 0.98)
else:
    print("no contraction")'
	boundshim report --view roofline "samples/traces/$name/trace.bst" | python3 -c '
import sys
wide = [line for line in sys.stdin if len(line.rstrip("\n")) > 100]
sys.exit("".join(wide) or None)' || exit 1
done
boundshim report --view roofline samples/traces/gemm_loop/trace.bst | grep -A 3 -E '^(FLOPs|Kernels) against'
