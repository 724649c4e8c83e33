"""Where each device's time went, by what the simulated CUDA says happened: DESIGN's rules written a second time, from the truth
alone, one slice after the other and without any of the analyzer's shortcuts."""
import bisect
import collections
import itertools

from lib import DRIVER_FUNCTIONS, HOOKED, class_of

LEAVES = ("compute dram cache transfer communication host launch sync alloc underfilled latency dependency tracing"
          " unknown").split()
ISSUES = ("LAUNCH", "GRAPH_LAUNCH", "COPY", "SET", "PREFETCH")
ALLOC_LIKE = ("ALLOC", "FREE", "MODULE")
BLOCKING_NOW_AND_THEN = ("STREAM", "CAPTURE", "GRAPH", "DEVICE")
BLOCKING_NS = 10_000  # docs/accounting.md: shorter ones are the host's
OWN_GAP_NS = 100_000  # docs/accounting.md: the longest time that a device takes by itself
COLLECTIVE = "nccl"
EPOCH = 1_700_000_000_000_000_000  # where the virtual clock begins: play.c tells its times from here
IDLE = ("host", "launch", "sync", "alloc", "dependency", "tracing", "unknown")


def recorded(call):
    """Does a hook or a driver callback of the shim see it?"""
    if call["nested"]:
        return False
    if call["domain"] == "runtime":
        return call["api"] in HOOKED
    return call["api"].split("_")[0] in DRIVER_FUNCTIONS


class Thread:
    """What a thread of the program did: its waits, its other blocking calls, when it issued work, and by its own word the rest."""

    tracing = ()

    def __init__(self, calls, ops, spent):
        self.calls = sorted(calls, key=lambda c: c["begin"])
        self.issues = [c["begin"] for c in self.calls if class_of(c["api"]) in ISSUES and not c["captured"] and not c["ret"]]
        by_call = collections.defaultdict(list)
        for op in ops:
            by_call[op["corr"]].append(op)
        self.spans = []
        for call in self.calls:
            kind = self.kind_of(call, by_call[call["corr"]])
            if kind:
                self.spans.append((call["begin"], call["end"], kind))
        self.spent = sorted(spent)
        self.span_begins = [begin for begin, _, _ in self.spans]

    @staticmethod
    def kind_of(call, ops):
        clas = class_of(call["api"])
        if clas == "SYNC":
            return "sync"
        if clas == "COPY":
            waited = ops and ops[0]["pageable"] and ops[0]["end"] <= call["end"]
            return "sync" if "Async" not in call["api"] or waited else None
        if clas in ALLOC_LIKE or (clas in BLOCKING_NOW_AND_THEN and call["end"] - call["begin"] >= BLOCKING_NS):
            return "alloc"
        if clas == "LAUNCH" and call["loads"]:
            return "alloc"
        return None

    def first_span(self, at):
        """The first that still matters then: what was over before the last launch is done with."""
        i = bisect.bisect_right(self.issues, at) - 1
        return max(0, bisect.bisect_left(self.span_begins, self.issues[i] if i >= 0 else 0) - 1)

    def next_issue(self, at):
        i = bisect.bisect_left(self.issues, at)
        return self.issues[i] if i < len(self.issues) else float("inf")


class Device:
    """The leaves of one device between two moments. `labels`: from the names of the kernels that run to their
    leaf."""

    def __init__(self, ops, threads, labels, calls):
        self.ops = sorted(ops, key=lambda op: op["start"])
        self.threads, self.labels, self.calls = threads, labels, calls
        self.busy, self.gaps = [], []
        for op in self.ops:
            if self.busy and op["start"] <= self.busy[-1][1]:
                self.busy[-1][1] = max(self.busy[-1][1], op["end"])
            else:
                self.busy.append([op["start"], op["end"]])
        self.busy_begins = [b for b, _ in self.busy]
        self.busy_sums = [0, *itertools.accumulate(e - b for b, e in self.busy)]

    def busy_between(self, begin, end):
        return self.busy_before(end) - self.busy_before(begin)

    def busy_before(self, at):
        i = bisect.bisect_right(self.busy_begins, at) - 1
        return self.busy_sums[i] + min(at, self.busy[i][1]) - self.busy[i][0] if i >= 0 else 0

    def pieces(self, begin, end):
        """(begin, end, leaf, part of host) in order, from `begin` to `end` without a hole."""
        found = self.busy_pieces()
        at = begin
        firsts = {}
        for op in self.ops:
            firsts.setdefault(op["start"], op)
        for b, e in self.busy:
            if b > at:
                found += self.split_gap(at, b, firsts[b])
            at = max(at, e)
        if end > at:
            found += self.split_gap(at, end, None)
        return sorted(p for p in found if p[1] > p[0])

    def busy_pieces(self):
        ends, found = {}, []
        active = []
        for op in self.ops:  # an earlier kernel of its stream goes before
            key = op["stream"], op["context"]
            kernel = op["kind"] == "kernel"
            op = dict(op, counts=max(op["start"], ends.get(key, 0) if kernel else 0))
            if kernel:
                ends[key] = max(ends.get(key, 0), op["end"])
            active.append(op)
        cuts = sorted({t for op in active for t in (op["counts"], op["end"])})
        alive, i = [], 0
        for b, e in zip(cuts, cuts[1:]):
            while i < len(active) and active[i]["start"] <= b:
                alive.append(active[i])
                i += 1
            alive = [op for op in alive if op["end"] > b]
            now = [op for op in alive if op["counts"] <= b]
            if now:
                found.append((b, e, self.label(now), None))
        return found

    def label(self, ops):
        kernels = sorted(op["name"] for op in ops if op["kind"] == "kernel" and COLLECTIVE not in op["name"])
        if kernels:
            return self.labels(kernels)
        return "communication" if any(op["kind"] == "kernel" for op in ops) else "transfer"

    def cause(self, op):
        """What let it start last: its call, what its stream waited for, or the device's own pace."""
        return max(op["held"], op["host_end"])

    def split_gap(self, b, e, op):
        if op is None:
            return self.split_thread(b, e, self.ops[-1]["tid"])
        call = self.calls[op["corr"], op["tid"]]
        released = min(max(self.cause(op), b), e)
        if call["end"] <= b:
            own = "launch" if e - released <= OWN_GAP_NS else "unknown"
            found = [(b, released, "dependency", None), (released, e, own, None)]
            return self.trace_node(found, op)
        c, r = max(call["begin"], b), min(max(call["end"], b), e)
        released = max(released, r)
        found = self.split_thread(b, c, op["tid"])
        found.append((c, r, "alloc" if call["loads"] else "sync" if class_of(call["api"]) == "SYNC" else "launch", None))
        found += [(r, released, "dependency", None),
                  (released, e, "launch" if e - released <= OWN_GAP_NS else "unknown", None)]
        return self.trace_calls(found, op["tid"])

    def trace_node(self, found, op):
        cost = self.node_cost if op["graph"] and op["kind"] == "kernel" else 0
        b, e, leaf, _ = found[-1]
        cost = min(cost, e - b) if leaf == "launch" else 0
        return found[:-1] + [(b, e - cost, leaf, None), (e - cost, e, "tracing", None)]

    def trace_calls(self, found, tid):
        """Our part of calls, where it lies in launch or host time."""
        out, tracing = [], self.threads[tid].tracing
        for b, e, leaf, part in found:
            i = bisect.bisect_left(tracing, (b, 0))
            at = b
            while leaf in ("launch", "host") and i < len(tracing) and tracing[i][0] < e:
                tb, te = tracing[i][0], min(tracing[i][1], e)
                out += [(at, tb, leaf, part), (tb, te, "tracing", None)]
                at, i = te, i + 1
            out.append((at, e, leaf, part))
        return out

    def split_thread(self, b, e, tid):
        thread, found, at, lead = self.threads[tid], [], b, 0
        for sb, se, kind in thread.spans[thread.first_span(b):]:
            if sb >= e:
                break
            if se > b:
                found += self.host(thread, at, max(at, min(sb, e)), lead)
                found.append((max(at, sb), min(se, e), kind, None))
                at = max(at, min(se, e))
            if kind == "sync":  # the lead that it destroyed, for as long as the next launch takes
                lead = max(lead, min(se + self.busy_between(sb, se), thread.next_issue(se)))
        return self.trace_calls([p for p in found + self.host(thread, at, e, lead) if p[1] > p[0]], tid)

    def host(self, thread, b, e, lead):
        found, at = [], min(max(b, lead), e)
        if at > b:
            found.append((b, at, "sync", None))
        for sb, se, how in thread.spent[max(0, bisect.bisect_right(thread.spent, (b,)) - 1):]:
            if sb >= e:
                break
            sb, se = max(sb, at), min(se, e)
            if how == "work" or se <= sb:
                continue
            found += [(at, sb, "host", "running"), (sb, se, "host", {"sleep": "blocked", "preempt": "preempted"}[how])]
            at = se
        return found + [(at, e, "host", "running")]

    node_cost = 0


class Timeline:
    """The devices of one run. `spent`: lines of tests/apps/play.c on what its threads did; `origin`: of times in a report."""

    def __init__(self, truth, spent, labels, pageable=(), launch_cost=0, node_cost=0):
        loads = [row["begin"] for row in truth.other if row["t"] == "load"]
        calls = [dict(c, loads=any(c["begin"] <= at < c["end"] for at in loads)) for c in truth.calls if recorded(c)]
        ops = [dict(op, pageable=op["kind"] == "copy" and op["copy_kind"] in pageable) for op in truth.ops]
        last_host = {}
        for op in ops:  # in the order of each stream
            op["host_end"] = last_host.pop((op["context"], op["stream"]), 0)
            if op["kind"] == "host":
                last_host[op["context"], op["stream"]] = op["end"]
        first = min(c["begin"] for c in calls)
        self.origin = min(first, min(op["start"] for op in ops if op["kind"] != "host"))
        self.end = max(max(c["end"] for c in calls), max(op["end"] for op in ops if op["kind"] != "host"))
        own = collections.defaultdict(list)
        for tid, begin, end, how in spent:
            own[tid].append((EPOCH + begin, EPOCH + end, how))
        tids = {c["tid"] for c in calls}
        threads = {tid: Thread([c for c in calls if c["tid"] == tid], [op for op in ops if op["tid"] == tid], own[tid])
                   for tid in tids}
        by_corr = {}
        for call in calls:
            by_corr.setdefault((call["corr"], call["tid"]), call)
        for call in truth.calls:  # what a runtime call does inside has its id
            by_corr.setdefault((call["corr"], call["tid"]), dict(call, loads=False))
        for tid, thread in threads.items():
            thread.tracing = sorted({(op["enqueued"] - launch_cost, op["enqueued"]) for op in ops
                                     if op["tid"] == tid and op["kind"] == "kernel" and launch_cost})
        self.devices = {}
        for index in sorted({op["device"] for op in ops if op["kind"] != "host"}):
            mine = [op for op in ops if op["device"] == index and op["kind"] != "host"]
            device = Device(mine, threads, labels, by_corr)
            device.node_cost = node_cost
            self.devices[index] = device.pieces(self.origin, self.end)

    def leaves(self, device, begin=None, length=None):
        """{leaf: ns}, and {part of host: ns}, of a stretch given as a report gives it."""
        b = self.origin + (begin or 0)
        e = b + length if length is not None else self.end
        leaves, parts = collections.Counter({leaf: 0 for leaf in LEAVES}), collections.Counter()
        for pb, pe, leaf, part in self.devices[device]:
            ns = min(pe, e) - max(pb, b)
            if ns > 0:
                leaves[leaf] += ns
                parts[part] += ns if leaf == "host" else 0
        return leaves, parts
