#!/usr/bin/env python3
"""Math-library calls on the stand-in libraries: every entry point that the shim hooks is called through the dynamic linker, and
the trace must say of each, in order, the FLOPs, least bytes and sizes that the program worked out by itself. Also in a stream
capture, without counting nested calls twice, and with each kernel inside exactly one call."""
import bisect
import collections
import re

from lib import ROOT, as_alone, check, equal, main, need_sim, run

need_sim("library_calls")

FLOPS, BYTES = 512, 1024
LIB_FAILED, LIB_CAPTURED, LIB_NESTED, LIB_DEFERRED = 1, 2, 4, 8


def hooked():
    """Names of library.def that have a wrapper that records."""
    names = set()
    for kind, name in re.findall(r"^(CALL|CALL_64|OWN)\((\w+),", (ROOT / "shim/library.def").read_text(), re.M):
        names.add(name)
        if kind == "CALL_64":
            names.add(name + "_64")
    return names - {f"cudnnBackend{what}" for what in ("CreateDescriptor", "DestroyDescriptor", "SetAttribute", "GetAttribute")} \
        - {"ncclGroupStart"}


def expected(out):
    """The program's own words, before and after `captured`."""
    before, _, after = out.partition("captured\n")
    return [[tuple(line.split()) for line in part.splitlines()] for part in (before, after)]


def compare(trace, out):
    wanted = sum(expected(out), [])
    shapes = {s["id"]: s for s in trace["shape"]}
    rows = trace["library"]
    equal(len(rows), len(wanted), "library calls in the trace")
    for row, want in zip(rows, wanted):
        shape = shapes.get(row["shape"])
        check(shape, "a library call without a shape:", row)
        known = shape["flags"] & (FLOPS | BYTES)
        numbers = ("flops", "bytes", "m", "n", "k", "batch")
        got = (trace.api(row), *(str(shape[n]) if known else "-" for n in numbers))
        equal(got, want[:-2], f"call at {row['begin']} (library, operation = {shape['library']}, {shape['operation']};"
                         f" flags {shape['flags']})")
    compare_operands(rows, wanted)
    return rows


def compare_operands(rows, wanted):
    """Addresses are numbered as they are first seen; the trace holds none."""
    ids = {"0": 0}
    for row, want in zip(rows, wanted):
        for column, address in zip(("operand_a", "operand_b"), want[-2:]):
            equal(row[column], ids.setdefault(address, len(ids)), f"{column} of {want[0]}, {address}")
    check(len(ids) > 8, "only", len(ids) - 1, "addresses")


def every_entry_point_says_what_it_computes():
    alone = run("library_calls", preload=False)
    seen = collections.Counter()
    for mode in ("trace", "hooks"):
        result = as_alone(run("library_calls", mode=mode), alone).says(0)
        equal(result.status, 0, f"{mode}: exit status")
        trace = result.trace().sound().lossless()
        seen.update(trace.api(row) for row in compare(trace, alone.out))
        for library in ("cublas", "cublaslt", "cudnn", "nccl"):
            equal(trace.meta.get(f"library.state.{library}"), "calls seen", f"state of {library}")
    equal(hooked() - seen.keys(), set(), "hooked entry points that the program does not call")
    equal(seen.keys() - hooked(), set(), "calls of what is not hooked")
    return f"{len(seen)} entry points, {sum(seen.values()) // 2} calls"


def each_kernel_lies_in_one_library_call():
    trace = run("library_calls").trace()
    rows = sorted((row for row in trace["library"] if not row["flags"] & LIB_DEFERRED), key=lambda row: row["begin"])
    begins = [row["begin"] for row in rows]
    launches = {row["correlation"]: row for row in trace["call"] if row["correlation"]}
    kernels = collections.Counter()
    for kernel in (k for k in trace["run"] if not k["graph"]):
        launch = launches[kernel["correlation"]]
        at = bisect.bisect_right(begins, launch["begin"]) - 1
        row = rows[at] if at >= 0 else None
        check(row and launch["begin"] + launch["duration"] <= row["begin"] + row["duration"],
              "a kernel outside of all library calls:", trace.kernel_name(kernel))
        equal(row["thread"], launch["thread"], "thread")
        kernels[row["begin"]] += 1
        check(not row["flags"] & LIB_CAPTURED, "a captured call that ran:", row)
    ran = [row for row in rows if not row["flags"] & (LIB_CAPTURED | LIB_FAILED)]
    for row in ran:
        # the stand-in's single-precision GEMM has a second kernel; filling a graph runs none
        count = 2 if trace.api(row) == "cublasSgemm_v2" else 0 if "CudaGraph" in trace.api(row) else 1
        equal(kernels[row["begin"]], count, f"kernels of {trace.api(row)}")
    return f"{sum(kernels.values())} kernels of {len(ran)} calls"


def graph_nodes_carry_the_call_that_made_them():
    result = run("library_calls")
    trace = result.trace()
    wanted = expected(result.out)[1]
    rows = trace["library"][-len(wanted):]
    by_begin = {row["begin"]: row for row in rows}
    for row in rows:
        check(row["flags"] & LIB_CAPTURED, "not flagged as captured:", row)
    created = [node for node in trace["node"] if node["kind"] == 1]
    equal(len(created), len(wanted) + 1, "nodes: one for each call, two for the single-precision GEMM")
    made = collections.Counter()
    for node in created:
        row = by_begin.get(node["library"])
        check(row, "a node of no library call:", node)
        equal(node["shape"], row["shape"], "shape of a node")
        check(row["begin"] <= node["time"] <= row["begin"] + row["duration"], "a node made outside of its call:", node)
        made[row["begin"]] += 1
    equal(sorted(made.values()), [1] * (len(wanted) - 1) + [2], "nodes of each call")
    source = {node["node"]: node["source"] or node["node"] for node in trace["node"]}
    origin = {node["node"] for node in created}
    replayed = [kernel for kernel in trace["run"] if kernel["graph"]]
    equal(len(replayed), 3 * len(created), "kernels of replays")
    for kernel in replayed:
        check(source.get(kernel["node"], kernel["node"]) in origin, "a replayed node of unknown origin:", kernel)


def calls_past_the_hooks_are_told_apart():
    """A program that only loads a library, as XLA does, and one that has none."""
    trace = run("launch_loop", "steps=5").trace()
    equal([key for key in trace.meta if key.startswith("library.state")], [], "states of libraries that are not there")
    equal(len(trace["shape"]) + len(trace["library"]), 0, "library rows")


def addresses_beyond_the_numbers_have_none():
    most, count = 65535, 80000
    trace = run("library_calls", "rounds=0", f"addresses={count}", virtual=True).trace().sound()
    rows = [row for row in trace["library"] if not row["flags"] & LIB_CAPTURED]
    # a writer that is kept waiting loses rows, and lost rows have no number
    check(most < len(rows) - 1, f"{len(rows)} rows are too few to run out of numbers, {trace.losses}")
    equal({row["operand_b"] for row in rows}, {2}, "the one matrix")
    numbers = [1, *range(3, most + 1)]
    got = [row["operand_a"] for row in rows]
    equal(got[:-1], numbers + [0] * (len(got) - 1 - len(numbers)), "numbers")
    check(got[-1] in (0, 1), f"the first matrix again: {got[-1]}")
    check("library.operands" in trace.meta, "not said that there were more")
    check("library.operands" not in run("library_calls").trace().meta, "said where there were not")


def the_shape_dictionary_has_each_once():
    trace = run("library_calls", "rounds=3").trace().sound().lossless()
    shapes = [tuple(v for k, v in sorted(row.items()) if k != "id") for row in trace["shape"]]
    equal(len(shapes), len(set(shapes)), "shapes")
    equal([row["id"] for row in trace["shape"]], list(range(1, len(shapes) + 1)), "ids")


main(every_entry_point_says_what_it_computes, each_kernel_lies_in_one_library_call,
     graph_nodes_carry_the_call_that_made_them, calls_past_the_hooks_are_told_apart, the_shape_dictionary_has_each_once,
     addresses_beyond_the_numbers_have_none)
