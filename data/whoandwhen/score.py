"""Score every step of Who & When, and write a table beside this file.

    score.py FOLDER                                              # SmolLM2-135M-Instruct alone
    score.py FOLDER --policy Qwen3-14B --reference Qwen3-14B-Base --gpu     # a pair, on a GPU

FOLDER is the data set (hf download Kevin355/Who_and_When --repo-type dataset). It may be stopped at
any moment and goes on where it was; the table holds what is scored so far.
"""

import argparse
import sys
from pathlib import Path

import pandas as pd

from lib import ROOT, advantage
from lib.advantage import store
from lib.envs.benchmarks.whoandwhen import SPLITS, as_rollout, read_logs
from lib.rollouts.policies import PolicyError
from lib.rollouts.prompts import Plain
from lib.trajectories.jsonl import RolloutWriter

HERE = Path(__file__).parent
SMALL = "smollm2-135m-instruct"
SCORES = ("log-prob", "self-certainty")
CONTEXT = 4096
"""Tokens that are read of a log, at most; steps past them have no score."""


def score(logs, given, out: Path) -> None:
    """Score the logs into a folder."""
    file = out.parent / f"{out.name}.jsonl"
    file.unlink(missing_ok=True)
    with RolloutWriter(file) as writer:
        for log in logs:
            writer.write(as_rollout(log))
    options = {"context": given.context, "gpu": given.gpu}
    reading = {"prompt_format": Plain(), "seams": "cut"}
    advantage.score([file], given.policy, given.reference, out, **reading, **options)


def tabulate(logs, out: Path) -> pd.DataFrame:
    """A row for each step of every log, also of those that are not scored as they are now.

    out: a folder of scores; those of other logs stay there unread.
    """
    steps = pd.DataFrame(
        {
            "split": log.split,
            "file": log.file,
            "step": step,
            "characters": len(text),
            "mistake": log.step,
        }
        for log in logs
        for step, text in enumerate(log.texts)
    )
    try:
        scored = store.read_scores(out, of=map(as_rollout, logs))
    except FileNotFoundError:  # guesses need lengths and labels alone
        return steps.assign(missing=None, **dict.fromkeys(("tokens", *SCORES), float("nan")))
    scores = pd.DataFrame(
        {
            "split": [scored.keys[i][2] for i in scored.trajectory],
            "file": [scored.keys[i][3] for i in scored.trajectory],
            "step": scored.messages - 1,
            "missing": scored.missing,
            "tokens": scored.counts,
        }
    )
    scores["log-prob"] = advantage.step_values(scored, scored.policy)
    scores["self-certainty"] = advantage.confidence(scored)
    if scored.reference is not None:
        scores["progress advantage"] = advantage.score_steps(scored)
    return steps.merge(scores, how="left", on=["split", "file", "step"])


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the data set")
    parser.add_argument("--policy", default=SMALL, help=f"a model ({SMALL})")
    parser.add_argument("--reference", help="its reference; without one, log-probs alone")
    parser.add_argument("--context", type=int, default=CONTEXT, help=f"tokens ({CONTEXT})")
    parser.add_argument("--splits", nargs="+", choices=SPLITS, help="to score (all that are there)")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--write", action="store_true", help="only write what is scored so far")
    given = parser.parse_args(argv)
    out = ROOT / "build" / "whoandwhen" / Path(given.policy).name
    try:
        logs = read_logs(given.folder, given.splits or ())
        if not given.write:
            wanted = [log for log in logs if log.split in (given.splits or SPLITS)]
            score(wanted, given, out)
        table = tabulate(logs, out)
    except (OSError, ValueError, ImportError, FloatingPointError, PolicyError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    path = HERE / f"{out.name}.parquet"
    table.to_parquet(path, index=False)
    scored = table.dropna(subset="tokens")[["split", "file"]].drop_duplicates()
    print(f"{path.name}: {len(scored)} of {len(logs)} logs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
