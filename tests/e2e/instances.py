#!/usr/bin/env python3
"""A GPU that is not the program's alone: MPS, an instance of MIG. The report says so."""
import json
import subprocess

from lib import BUILD, equal, check, main, need, need_sim, run

need_sim("launch_loop")
need(BUILD / "boundshim")


def reports(script):
    result = run("launch_loop", "steps=50", "sync=1", script=script).says(0)
    command = [BUILD / "boundshim", "report", result.traces[0]]
    done = [subprocess.run([*command, *more], capture_output=True, text=True, timeout=60, check=True).stdout
            for more in ((), ("--format", "json"))]
    return " ".join(done[0].split()), json.loads(done[1])["processes"][0]["devices"][0]


def mps_is_said():
    text, device = reports("device mps=on\n")
    equal((device["mps"], device["mig"]), (True, False), "mps, mig")
    check("Run under MPS" in text, text)


def an_instance_is_said():
    text, device = reports("device name=NVIDIA_H200_MIG_1g.18gb sms=16\n")
    equal((device["mps"], device["mig"], device["sm_count"]), (False, True, 16), "mps, mig, SMs")
    check("An instance of a GPU (MIG)" in text, text)


def a_whole_gpu_is_not():
    text, device = reports("device mps=off\n")
    equal((device["mps"], device["mig"]), (False, False), "mps, mig")
    check("MPS" not in text and "MIG" not in text, text)


main(mps_is_said, an_instance_is_said, a_whole_gpu_is_not)
