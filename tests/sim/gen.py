#!/usr/bin/env python3
"""Writes the exported entry points of one stand-in library.

Every CUDA function enters through sim_invoke(), which does costs, faults, correlation ids, callbacks
and truth; what the function means is IMPL(name) in a C file. The glue between the two is written
here from NVIDIA's own parameter structs (generated_cuda*_meta.h) and callback ids, so that
functionParams in a CUPTI callback is the caller's arguments in the real layout.

usage: gen.py cuda|cudart12|cudart13|cupti12|cupti13 CUDA_INC OUT.c OUT.h SOURCE...
Names without IMPL() become stubs that return 801 (CUPTI: 27), not supported.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# These twins run on the calling thread's own default stream.
TWIN = re.compile(r"_pt[ds][sz]$")


def read_structs(path):
    """struct name without _params -> list of (C declaration, field name)"""
    text = open(path, errors="replace").read()
    found = {}
    for body, name in re.findall(r"typedef struct \w+_st \{([^}]*)\} (\w+)_params;", text):
        fields = []
        for line in body.split(";"):
            line = " ".join(line.split()).replace(" __dv", "")
            if line:
                fields.append((line, re.search(r"(\w+)$", line).group(1)))
        found[name] = fields
    return found


def read_cbids(path, prefix):
    text = open(path, errors="replace").read()
    return dict(re.findall(prefix + r"_TRACE_CBID_(\w+)\s*=\s*(\d+)", text))


def read_names(path):
    return [line.strip() for line in open(os.path.join(HERE, path)) if line.strip()]


def marked(sources, macro):
    names = set()
    for source in sources:
        names.update(re.findall(r"^%s\((\w+)[,)]" % macro, open(source).read(), re.M))
    return names


def base_of(name):
    return TWIN.sub("", name)


def runtime_structs(inc, names, major):
    """Exported name -> struct name. CUDA 13 took over the signatures that 12 called _v2 or _v3."""
    api = read_structs(os.path.join(inc, "generated_cuda_runtime_api_meta.h"))
    removed = read_structs(os.path.join(inc, "generated_cudart_removed_meta.h"))

    def pick(table, name):
        m = TWIN.search(name)
        stem, twin = base_of(name), (m.group(0) if m else "")
        for form in (stem + twin, stem):
            hits = [s for s in table if re.fullmatch(re.escape(form) + r"_v\d{4,}", s)]
            if hits:
                return max(hits, key=lambda s: int(s.rsplit("_v", 1)[1]))
        return None

    chosen = {}
    for name in names:
        struct = pick(api, name)
        older = base_of(name) + "_v2" in names or base_of(name) in (
            "cudaMemcpyBatchAsync", "cudaMemcpy3DBatchAsync")
        if major == 12 and (older or not struct):
            struct = pick(removed, name) or struct
        if not struct and major == 12:
            struct = pick(api, re.sub(r"_v[23](?=_pt|$)", "", name))
        if struct:
            chosen[name] = struct
    return chosen, {**removed, **api}


def generate(kind, inc, out_c, out_h, sources):
    done = marked(sources, "IMPL")
    symbols = marked(sources, "SYMBOL")
    by_hand = marked(sources, "EXPORTED") | marked(sources, "SETTING")
    major = int(kind[-2:]) if kind[-1].isdigit() else 0
    if kind.startswith("cupti"):
        stubs(out_c, [n for n in read_names(kind + ".names") if n not in by_hand], 27)
        with open(out_h, "w") as f:
            for domain in ("driver", "runtime"):
                ids = read_cbids(os.path.join(inc, "cupti_%s_cbid.h" % domain), "CUPTI_" + domain.upper())
                f.write("#define SIM_%s_CBIDS(NAME)" % domain.upper())
                for name, cbid in ids.items():
                    if re.match(r"_*cu", name):
                        f.write(" \\\n\tNAME(%s, \"%s\")" % (cbid, name))
                f.write("\n\n")
        return
    if kind == "cuda":
        structs = read_structs(os.path.join(inc, "generated_cuda_meta.h"))
        cbids = read_cbids(os.path.join(inc, "cupti_driver_cbid.h"), "CUPTI_DRIVER")
        names = sorted(n for n in set(structs) | set(cbids) if re.match("cu(?!64|D3D|VDPAU)", n))
        chosen = {n: n for n in structs}
        domain, headers = "SIM_DRIVER", ["<cupti.h>"]  # which includes the structs, unguarded
    else:
        names = read_names(kind + ".names")
        chosen, structs = runtime_structs(inc, names, major)
        cbids = read_cbids(os.path.join(inc, "cupti_runtime_cbid.h"), "CUPTI_RUNTIME")
        domain = "SIM_RUNTIME"
        headers = ["<cuda_runtime_api.h>", "<cupti.h>"]
        for name in ("__cudaLaunchKernel", "__cudaLaunchKernel_ptsz"):
            chosen[name] = name + "_v13000"
            structs[chosen[name]] = [("cudaKernel_t kernel", "kernel"), ("dim3 gridDim", "gridDim"),
                                     ("dim3 blockDim", "blockDim"), ("void **args", "args"),
                                     ("size_t sharedMem", "sharedMem"), ("cudaStream_t stream", "stream")]

    h = ["#pragma once"]
    h += ["#include %s" % x for x in headers] + ['#include "sim.h"', ""]
    if kind != "cuda":
        h.append("typedef struct { cudaKernel_t kernel; dim3 gridDim; dim3 blockDim; void **args;"
                 " size_t sharedMem; cudaStream_t stream; } __cudaLaunchKernel_v13000_params;")
        h.append("typedef __cudaLaunchKernel_v13000_params __cudaLaunchKernel_ptsz_v13000_params;")
        # NVIDIA ships the removed structs' header, and not the one it includes.
        current = read_structs(os.path.join(inc, "generated_cuda_runtime_api_meta.h"))
        for struct in sorted(set(chosen.values())):
            if struct not in current and not struct.startswith("__cudaLaunchKernel"):
                h.append("typedef struct {%s;} %s_params;" % (
                    "; ".join(f[0] for f in structs[struct]) or "int unused", struct))
    implemented, table = [], []
    for name in names:
        if name in by_hand:
            continue
        impl = name if name in done else base_of(name)
        if impl in done:
            implemented.append((name, impl))
    seen = set()
    for name, impl in implemented:
        if impl in seen:
            continue
        seen.add(impl)
        args = chosen.get(impl) or chosen.get(name)
        h.append("typedef %s %s_args;" % (args + "_params" if args else "struct sim_no_args", impl))
        h.append("int impl_%s(const %s_args *p, struct sim_call *call);" % (impl, impl))
        if impl in symbols:
            h.append("const char *symbol_%s(const void *params);" % impl)
    open(out_h, "w").write("\n".join(h) + "\n")

    c = ['#include "%s"' % os.path.basename(out_h), ""]
    for name, impl in implemented:
        struct = chosen.get(name)
        fields = structs[struct] if struct else []
        cbid = cbids.get(struct or name)
        if not cbid:
            cbid = next((v for k, v in cbids.items() if re.fullmatch(re.escape(name) + r"_v\d+", k)), "0")
        decl = ", ".join(f[0] for f in fields) or "void"
        init = ", ".join(".%s = %s" % (f[1], f[1]) for f in fields)
        # functionName is plain in the runtime domain and the exported name in the driver's.
        c.append("SIM_ENTRY int entry_%s(%s) __asm__(\"%s\");" % (name, decl, name))
        c.append("int entry_%s(%s)\n{" % (name, decl))
        c.append("\t%s sim_args = {%s};" % (struct + "_params" if struct else "struct sim_no_args", init or "0"))
        c.append("\tstatic uint64_t cost = SIM_COST_UNKNOWN;")
        c.append("\tstatic const struct sim_api api = {\"%s\", \"%s\", %s, %s, %s, %s, &cost};" % (
            name, base_of(name), domain, cbid,
            "true" if TWIN.search(name) else "false",
            "symbol_" + impl if impl in symbols else "NULL"))
        if struct and chosen.get(impl, struct) != struct:
            c.append("\t_Static_assert(sizeof(sim_args) == sizeof(%s_args), \"twin\");" % impl)
        c.append("\treturn SIM_INVOKE(&api, &sim_args, (sim_impl)impl_%s);\n}\n" % impl)
        table.append(name)
    open(out_c, "w").write("\n".join(c) + "\n")
    missing = [n for n in names if n not in table and n not in by_hand]
    stubs(out_c, missing, 801, append=True)
    if kind == "cuda":
        entries = sorted(set(table + missing) | by_hand)
        with open(out_c, "a") as f:
            for n in entries:
                f.write("extern char address_%s[] __asm__(\"%s\");\n" % (n, n))
            f.write("const struct sim_export sim_exports[] = {\n")
            for n in entries:
                f.write("\t{\"%s\", address_%s},\n" % (n, n))
            f.write("\t{NULL, NULL},\n};\n")


def stubs(out_c, names, code, append=False):
    with open(out_c, "a" if append else "w") as f:
        if not append:
            f.write('#include "sim.h"\n')
        for name in names:
            f.write("SIM_ENTRY int stub_%s(void) __asm__(\"%s\");\n" % (name, name))
            f.write("int stub_%s(void)\n{\n\treturn SIM_STUB(\"%s\", %d);\n}\n" % (name, name, code))


if __name__ == "__main__":
    generate(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
