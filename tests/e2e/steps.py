#!/usr/bin/env python3
"""Steps found without annotation, in traces of programs on the simulated CUDA whose loops are known: how many, how long, of how many
kernels, and what is set apart. Evaluation phases, checkpoints, sequences of varying length, two models interleaved."""
from lib import check, equal, in_pairs, main
from leaves import WIDE, Scenario, play, report_of

LAYER = "launch fwd_a 0 {g}; launch fwd_b 0 {g}; launch bwd_a 0 {g}; launch bwd_b 0 {g};"
STEP = "".join(LAYER.format(g=WIDE) for _ in range(6)) + "launch loss 0 32; launch adam 0 20000; sync 0"
EVALUATION = "repeat 10; " + "".join("launch fwd_a 0 20000; launch fwd_b 0 20000;" for _ in range(6)) + "launch score 0 32; work 20; end"
CRITIC = "launch critic_a 0 32; launch critic_b 0 32; launch critic_a 0 32; launch critic_b 0 32; launch critic_a 0 32; launch critic_b 0 32"
# ten lengths in turn, each with grids of its own
LENGTHS = "; ".join("".join(LAYER.format(g=900 + 64 * length) for _ in range(3)) + "launch loss 0 32; sync 0; work 30"
                    for length in (7, 3, 9, 1, 5, 8, 2, 6, 4, 10))
KERNELS = "kernel fwd_* duration=20us per_block=0\nkernel bwd_* duration=40us per_block=0\nkernel loss duration=5us per_block=0\n" \
          "kernel score duration=5us per_block=0\nkernel adam duration=150us per_block=0\nkernel critic* duration=30us per_block=0\n"

PASS = "repeat 12; launch gemm 0 20000; launch relu 0 20000; end"
# twelve layers whose operands lie elsewhere: each takes a little longer or shorter, the same in each pass
OWN = "kernel gemm duration=" + ",".join(f"{20 + us / 100:.2f}us" for us in (31, 4, 55, 22, 83, 9, 61, 40, 15, 77, 2, 48)) + " per_block=0\n"
SAME = "kernel gemm duration=20us per_block=0\n"
MANY = "repeat 40"  # passes, for each round


def products(*operands, between="launch relu 0 20000;"):
    """Matrix products of (number of A, number of B), each with what follows it."""
    return " ".join(f"gemm {a}:{b} 0; {between}" for a, b in operands)


# six layers, their weights at 1 to 6; the input of the first is the program's, the others' are in one buffer
SIX = products((1, 20), *((layer, 21) for layer in range(2, 7)))
LIBRARY = "kernel ampere_* duration=20us per_block=0\n"
TRAINING = products((1, 20), (1, 22), (20, 22), between="") + " launch adam 0 20000;"  # forward; of its input, of its weight

# (scenario, kernels of a step, least and most steps, least and most outliers)
CASES = {
    "evaluation": (Scenario(f"repeat 30; {STEP}; work 20; end; {EVALUATION}", rounds=9), 26, (8 * 30, 9 * 30), (7, 9)),
    "checkpoints": (Scenario(f"{STEP}; work 20; every 25; sleep 30000; end", rounds=150), 26, (142, 149), (4, 6)),
    "evaluation_and_checkpoint": (Scenario(f"repeat 40; {STEP}; work 20; end; {EVALUATION}; sleep 20000", rounds=7), 26, (6 * 40, 7 * 40),
                                  (5, 7)),
    "sequence_lengths": (Scenario(LENGTHS, rounds=12), 13, (110, 120), (0, 2)),
    # a critic of six kernels after every fifth and every seventh step: no longer loop repeats often
    "two_models_in_turn": (Scenario(f"{STEP}; work 10; every 5; {CRITIC}; end; every 7; {CRITIC}; end; sync 0", rounds=100), 26, (60, 100),
                           (0, 40)),
    "two_models_at_once": (Scenario(f"{STEP}; work 10", rounds=120,
                                    after="thread; repeat 300; launch critic_a 1 32; launch critic_b 1 32; sync 1; work 70; end"),
                           31, (100, 120), (0, 12)),  # those of the other model that ran meanwhile are counted too
    # nothing but equal layers: a pass is told by what the host does between two of them, and by what differs from layer to layer
    "equal_layers_sync": (Scenario(f"{MANY}; {PASS}; sync 0; end", rounds=8, script=OWN), 24, (310, 320), (0, 2)),
    "equal_layers_host_gap": (Scenario(f"{MANY}; {PASS}; work 6; end", rounds=8, script=OWN), 24, (310, 320), (0, 2)),
    "equal_layers_unmarked": (Scenario(f"{MANY}; {PASS}; end", rounds=8, script=OWN), 2, (3700, 3840), (0, 4)),
    # a step that does something every tenth time is no pass of ten layers
    "log_every_tenth": (Scenario("repeat 400; launch gemm 0 20000; launch relu 0 20000; work 5; every 10; d2h 4 0; sync 0; work 30; end; end",
                                 rounds=8, script=SAME), 2, (2800, 3200), (0, 330)),
    "print_every_tenth": (Scenario("repeat 400; launch gemm 0 20000; launch relu 0 20000; work 5; every 10; work 8; end; end", rounds=8,
                                   script=SAME), 2, (2800, 3200), (0, 330)),
    "accumulated": (Scenario("repeat 40; repeat 8; launch gemm 0 20000; launch relu 0 20000; work 5; end; launch adam 0 20000; work 20; end",
                             rounds=8, script=OWN), 17, (300, 320), (0, 8)),
    # what the operands say: no pause, no duration
    "operands": (Scenario(f"{MANY}; {SIX} end", rounds=8, script=LIBRARY), 12, (310, 320), (0, 2)),
    "operands_sync": (Scenario(f"{MANY}; {SIX} sync 0; end", rounds=8, script=LIBRARY), 12, (310, 320), (0, 2)),
    "operands_of_two": (Scenario(f"{MANY}; {products((1, 20), (2, 21))} end", rounds=8, script=LIBRARY), 4, (310, 320), (0, 2)),
    "operands_of_encoders": (Scenario(f"{MANY}; " + "".join(products((3 * i, 20 + i % 2), (3 * i + 1, 30), (3 * i + 2, 31)) + "launch norm 0 20000;"
                                                            for i in range(4)) + " end", rounds=8, script=LIBRARY), 28, (310, 320), (0, 2)),
    # one weight, whatever it is multiplied with, in whichever order; also with another one behind it, and where it is trained
    "rotating_inputs": (Scenario(f"{MANY}; {products(*((1, 20 + i) for i in range(4)))} end", rounds=8, script=LIBRARY), 2, (1250, 1280), (0, 4)),
    "rotating_inputs_first": (Scenario(f"{MANY}; {products(*((20 + i, 1) for i in range(4)))} end", rounds=8, script=LIBRARY), 2, (1250, 1280),
                              (0, 4)),
    "rotating_inputs_of_two": (Scenario(f"{MANY}; " + "".join(products((1, 20 + i), (2, 30)) + "launch loss 0 32;" for i in range(4)) + " end",
                                        rounds=8, script=LIBRARY), 5, (1250, 1280), (0, 4)),
    "rotating_inputs_of_training": (Scenario(f"{MANY}; " + "".join(TRAINING.replace("20:", f"{40 + i}:").replace(":20", f":{40 + i}")
                                                                   for i in range(3)) + " end", rounds=8, script=LIBRARY), 4, (940, 960), (0, 4)),
}


def detected(name):
    scenario, kernels, steps, outliers = CASES[name]
    scenario.script = KERNELS + scenario.script
    device = report_of(play(f"steps-{name}", scenario).traces[0])["devices"][0]
    step = device["steady"]["step"]
    if not step:
        return f"{name}: no steps"
    words = f"{name}: {step['count']} steps of {step['period_ns'] / 1e3:.0f} us, {step['kernels']} kernels, {step['outlier_count']} outliers"
    good = (steps[0] <= step["count"] <= steps[1] and outliers[0] <= step["outlier_count"] <= outliers[1]
            and abs(step["kernels"] - kernels) <= 0.05 * kernels)
    return words if good else f"{words}; expected {kernels} kernels, {steps} steps, {outliers} outliers (wrong)"


def steps_are_those_of_the_loop():
    found = in_pairs(detected, CASES)
    check(not any(words.endswith("(wrong)") or "no steps" in words for words in found), "\n".join(["", *found]))
    return "\n     ".join(["", *found])


def an_evaluation_is_no_part_of_the_steady_window():
    """Its kernel that occurs nowhere else is not among those of the steady window."""
    scenario = CASES["evaluation"][0]
    device = report_of(play("steps-steady", scenario).traces[0])["devices"][0]
    equal([k["short_name"] for k in device["kernels"] if k["short_name"] == "score"], [], "kernels of the evaluation in the steady window")


def a_pass_says_how_many_layers_it_has():
    """Or that this is not known."""
    for name, layers in (("equal_layers_sync", 12), ("equal_layers_host_gap", 12), ("equal_layers_unmarked", None), ("log_every_tenth", None),
                         ("operands", 6), ("operands_of_two", 2), ("rotating_inputs", None)):
        scenario = CASES[name][0]
        device = report_of(play(f"layers-{name}", scenario).traces[0])["devices"][0]
        equal(device["steady"]["step"]["layers"], layers, name)
        equal(device["steady"]["step"]["detected_by"], "kernel sequence" + " and operands" * (name.startswith("operands")), name)


if __name__ == "__main__":
    main(steps_are_those_of_the_loop, an_evaluation_is_no_part_of_the_steady_window,
         a_pass_says_how_many_layers_it_has)
