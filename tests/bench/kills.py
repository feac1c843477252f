"""Kill a running collection at random moments, resume it each time, and compare the tables.

    python tests/bench/kills.py [KILLS]

With a scripted policy, in batches and side by side, where all must be as in an undisturbed run, and
with a small model, where attempts with counted ties may differ.
"""

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHILD = """
import random, sys, time
from lib.rollouts import collection
from lib.rollouts.prompts import Harness
from lib.rollouts.policies import LocalPolicy, ScriptedPolicy
from tests import buttons

kind, out, model, attempts = sys.argv[1:]

def guess(context, key):
    time.sleep(0.002)
    return buttons.press(random.Random(f"{key}{len(context.messages)}").randrange(6))

if kind != "model":
    policy, tasks = ScriptedPolicy(guess, "guess"), 6
    policy.concurrency = 4 if kind == "side by side" else None
else:
    from lib import generation
    engine = generation.Engine(*generation.load(model))
    sampling = generation.Sampling(temperature=1.0, max_new_tokens=24)
    policy, tasks = LocalPolicy(engine, Harness(), sampling, name="tiny"), 3
world = buttons.Buttons(tasks)
print("ready", flush=True)
collection.collect(policy, world, world.tasks(), int(attempts), out, pair="p", arm="a", at_once=8)
"""


class Collection:
    """A collection that runs in a process of its own."""

    def __init__(self, kind: str, out: Path, model: Path | None = None, attempts: int = 20):
        self.command = [sys.executable, "-c", CHILD, kind, str(out), str(model), str(attempts)]
        self.out = out

    def start(self) -> subprocess.Popen:
        """Start it, and return when it is about to collect."""
        run = subprocess.Popen(self.command, cwd=ROOT, stdout=subprocess.PIPE)
        if run.stdout.readline() != b"ready\n":
            raise RuntimeError(f"the collection ended with {run.wait()}")
        return run

    def finish(self) -> float:
        """Run it to its end, and return the seconds that took."""
        with self.start() as run:
            begun = time.monotonic()
            if run.wait() != 0:
                raise RuntimeError(f"the collection ended with {run.returncode}")
        return time.monotonic() - begun

    def disturb(self, seconds: float) -> int:
        """Run it, kill it after that long, and return how many bytes of rollouts there are."""
        with self.start() as run:
            time.sleep(seconds)
            run.send_signal(signal.SIGKILL)
        return sum(file.stat().st_size for file in self.out.glob("rollouts-*"))

    def rollouts(self) -> dict:
        """What was collected, by task and attempt."""
        from lib.trajectories.jsonl import iter_rollouts

        files = sorted(self.out.glob("rollouts-*"))
        found = [rollout for file in files for rollout in iter_rollouts(file)]
        by_key = {rollout.key: rollout for rollout in found}
        assert len(by_key) == len(found), "an attempt was run twice"
        return by_key


def essence(rollout) -> tuple:
    """All but the last bits of the log-probs, which depend on what else is in a batch."""
    tokens = [(turn.prompt_ids, turn.action_ids, turn.finish) for turn in rollout.turns]
    return rollout.passed, rollout.reason, rollout.messages, tokens, rollout.seeds


def compare(
    kind: str, kills: int, generator: random.Random, folder: Path, attempts: int = 20
) -> tuple[int, int, int]:
    """Kill a collection again and again, resume it each time, and compare it with a calm one.

    Returns the kills that came while it was collecting, the attempts that differ, and those of them
    with no counted tie that would explain it.
    """
    model = None
    if kind == "model":
        from tests import tiny

        model = tiny.save(folder / "model")
    calm, disturbed = (
        Collection(kind, folder / name, model, attempts) for name in ("calm", "disturbed")
    )
    whole = calm.finish()
    sizes = [
        disturbed.disturb(generator.uniform(0, 1.5 * whole / max(kills, 1))) for _ in range(kills)
    ]
    disturbed.finish()
    expected, got = calm.rollouts(), disturbed.rollouts()
    assert expected.keys() == got.keys()
    differ = [key for key in expected if essence(expected[key]) != essence(got[key])]
    unexplained = [key for key in differ if not any("ties" in o[key].info for o in (expected, got))]
    size = sum(file.stat().st_size for file in calm.out.glob("rollouts-*"))
    return sum(0 < at < size for at in sizes), len(differ), len(unexplained)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    generator = random.Random(time.time_ns())
    for kind in ("scripted", "side by side", "model"):
        with tempfile.TemporaryDirectory() as folder:
            hit, differ, unexplained = compare(kind, kills, generator, Path(folder), 100)
        print(
            f"{kind}: {kills} kills, {hit} of them amid the collection; "
            f"{differ} attempts differ, {unexplained} without a counted tie"
        )
        assert unexplained == 0
        assert kind == "model" or differ == 0
