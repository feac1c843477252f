"""The lab's machinery at work, and its speed: python tests/bench/lab.py, under 3 minutes.

First what must hold: pre-training from nothing, and RL from a committed base. Then rates, the best
of several, with the machine's load beside them: on a busy machine they fall with it, and those in
processor seconds less so.
"""

import argparse
import contextlib
import gc
import itertools
import multiprocessing
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # before torch starts its threads

import pandas as pd
import torch
from transformers.utils import logging

from lib.generation import load
from lib.lab import plan
from lib.lab.evaluation import evaluate, open_policy
from lib.ptgs import PTGS
from lib.rollouts.episodes import roll_out
from lib.rollouts.prompts.word_language import WordLanguage, read_calls
from lib.training import PTGSSchedule, defaults, train_policy
from lib.training.pretraining import STAGES, new_model, pretrain
from lib.trajectories.schema import RolloutKey

ENVIRONMENT = "sokoban"
BASE = plan.DATA / "models" / plan.Base(environment=ENVIRONMENT).name
POST = plan.DATA / "models" / "sokoban-0.25M-grpo-fixed-0.0003-0"


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for part in (pretraining, training):
            show(part(Path(folder)))
    for part in (steps, evaluation):
        show(part())
    show([("all of this, s", time.perf_counter() - began, "< 180", "")])


def show(rows):
    """Print what was measured, and how busy the machine is."""
    print(pd.DataFrame(rows, columns=["", "measured", "must reach", "goal"]).to_string(index=False))
    busy, _, _ = os.getloadavg()
    print(f"load in the last minute: {busy:.1f} on {os.cpu_count()} cores\n", flush=True)


# -------------------------------------------------------------------------------- what must hold


def pretraining(folder: Path) -> list[tuple]:
    """A base from nothing: its loss falls, and its calls come to be ones that can be read."""
    environment = plan.environment(ENVIRONMENT, "train")
    model, made = new_model(environment.words(), "0.06M")
    corpus = replace(STAGES["base-85"].corpus, native=1.0, chatter=0.0, episodes=48)
    stage = replace(STAGES["base-35"], corpus=corpus, steps=160)
    log = pretrain(model, made, environment, stage, folder / "base", progress=False)
    first, last = log[0]["loss"], log[-1]["loss"]
    assert last < first - 1, f"the loss went from {first} to {last} nats a token"
    policy = open_policy(folder / "base", ENVIRONMENT, 1.0)
    keys = [RolloutKey(0, task, 0) for task in environment.tasks()[:64]]
    valid_calls = [
        bool(read_calls(message.content, [environment.tool]))
        for rollout in roll_out(policy.start(keys), environment, keys, "bench", "base")
        for message in rollout.messages
        if message.role == "assistant"
    ]
    valid = sum(valid_calls) / len(valid_calls)
    assert valid > 0.9, f"{valid:.1%} of the replies are calls in native form"
    return [
        ("pre-training, loss after 20 steps, nats a token", first, "", ""),
        ("pre-training, loss after 160 steps", last, f"< {first - 1:.2f}", ""),
        ("replies that are native calls", valid, 0.9, ""),
    ]


def training(folder: Path) -> list[tuple]:
    """RL with PTGS from a base: pass@1 rises, log-probs agree at T_x, a stopped run ends alike."""

    def run(name, stop_at=None):
        model, tokenizer = load(BASE)
        environment = plan.environment(ENVIRONMENT, "train")
        tasks = environment.tasks()[:16]
        settings = defaults("grpo", steps=16, max_new_tokens=plan.NEW_TOKENS[ENVIRONMENT])
        schedule = PTGSSchedule(PTGS(seed=0, **plan.PTGS[ENVIRONMENT, "grpo"]))
        if stop_at:
            schedule.observe = _stopping(schedule.observe, stop_at)
        log = train_policy(
            model, tokenizer, WordLanguage(), environment, tasks, settings, schedule, folder / name,
            checkpoint_every=0.0, progress=False,
        )  # fmt: skip
        return model.state_dict(), log, schedule.state()

    weights, log, state = run("whole")
    with contextlib.suppress(KeyboardInterrupt):
        run("stopped", stop_at=7)
    weights_2, log_2, state_2 = run("stopped")
    assert state == state_2
    assert [_untimed(line) for line in log] == [_untimed(line) for line in log_2]
    assert all(torch.equal(weights[name], weights_2[name]) for name in weights)
    gap = max(line["engine_gap"] for line in log)
    temperatures = {group["temperature"] for line in log for group in line["groups"]}
    assert gap < 1e-3, f"a log-prob at T_x is {gap} off the one it was sampled with"
    assert len(temperatures) > 100
    before, after = (sum(line["success"] for line in part) / 4 for part in (log[:4], log[-4:]))
    assert after > before, f"success of training rollouts went from {before} to {after}"
    return [
        ("success in RL, mean of steps 1 to 4", before, "", ""),
        ("success in RL, mean of steps 13 to 16", after, f"> {before:.2f}", ""),
        ("largest gap of a log-prob at T_x, nats", gap, "< 0.001", ""),
        ("a stopped run ends as a whole one, to the bit", True, True, ""),
    ]


def _stopping(observe, step):
    calls = itertools.count(1)

    def stops(*rows):
        if next(calls) == step:
            raise KeyboardInterrupt
        observe(*rows)

    return stops


def _untimed(line):
    return {name: value for name, value in line.items() if name != "seconds"}


# ------------------------------------------------------------------------------------------ speed


def steps() -> list[tuple]:
    """GRPO steps of 8 groups of 16 from the base: on one thread, as the lab takes them, and two."""
    rows = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        wall, cpu = _step_times(24)
        size = f"GRPO step of 8 x 16, s, threads: {threads}"
        rows += [
            (f"{size}, best", wall[0], 0.6, 0.3),
            (f"{size}, median", wall[len(wall) // 2], 0.6, 0.3),
            (f"{size}, median of processor s", cpu[len(cpu) // 2], "", ""),
        ]
    torch.set_num_threads(1)
    return rows


def _step_times(count):
    """Seconds and processor seconds of a step, each sorted; the levels are drawn beforehand."""
    clock = []

    class Clocked(PTGSSchedule):
        def assign(self, *step):
            clock.append((time.perf_counter(), time.process_time()))
            return super().assign(*step)

    model, tokenizer = load(BASE)
    environment = plan.environment(ENVIRONMENT, "train")
    for task in environment.tasks():
        environment.level(task)
    settings = defaults("grpo", steps=count, max_new_tokens=plan.NEW_TOKENS[ENVIRONMENT])
    with tempfile.TemporaryDirectory() as folder:
        schedule = Clocked(PTGS(seed=0))
        train_policy(
            model, tokenizer, WordLanguage(), environment, environment.tasks(), settings, schedule,
            folder, progress=False,
        )  # fmt: skip
    pairs = list(itertools.pairwise(clock[1:]))
    return [sorted(later[i] - earlier[i] for earlier, later in pairs) for i in (0, 1)]


def evaluation(processes: int = 2, repeats: int = 4) -> list[tuple]:
    """Rollouts a second of processes of one thread each, side by side, as the lab evaluates."""
    spawn = multiprocessing.get_context("spawn")
    together = spawn.Barrier(processes)
    rows = []
    with spawn.Pool(processes, _begin, (together,)) as pool:
        for name, model in {"base": BASE, "post-trained": POST}.items():
            measured = pool.starmap(_evaluate, [(model, repeats)] * processes, chunksize=1)
            wall = sum(max(rate[0] for rate in rates) for rates in measured)
            cpu = max(rate[1] for rates in measured for rate in rates)
            rows += [
                (f"evaluation of the {name}, rollouts/s of {processes} processes", wall, 400, 800),
                (f"evaluation of the {name}, rollouts a processor second", cpu, "", ""),
            ]
    return rows


def _begin(barrier):
    global together
    together = barrier
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    gc.freeze()


def _evaluate(model, repeats):
    """Rollouts a second and a processor second, of each repeat."""
    environment = plan.environment(ENVIRONMENT, "test", plan.TASKS)
    policy = open_policy(model, ENVIRONMENT, 0.5)
    tasks = environment.tasks()[:8]
    evaluate(policy, environment, tasks, 4, seed=0)
    rates = []
    for _ in range(repeats):
        together.wait()
        wall, cpu = time.perf_counter(), time.process_time()
        evaluate(policy, environment, tasks, plan.ATTEMPTS, seed=0)
        count = len(tasks) * plan.ATTEMPTS
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        rates.append((count / wall, count / cpu))
    return rates


if __name__ == "__main__":
    main()
