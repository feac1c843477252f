"""Write the logs of three runs with lm-evaluation-harness itself (lm-eval 0.4.13).

    python -m venv /tmp/lm-eval && /tmp/lm-eval/bin/pip install lm-eval==0.4.13
    /tmp/lm-eval/bin/python data/examples/lm_eval/make_logs.py

base/ and post/ hold 8 responses to each of six sums, all of them scored; two_filters/ holds the
same task as most tasks of the harness are set up: two filters, and only the first response scored.
The model is a language model of the harness that answers by a seeded draw.
"""

import random
import shutil
import tempfile
from pathlib import Path

import datasets
from lm_eval.api.model import LM
from lm_eval.api.task import ConfigurableTask
from lm_eval.evaluator import simple_evaluate
from lm_eval.loggers import EvaluationTracker

HERE = Path(__file__).parent
SUMS = [(2, 3), (10, 7), (25, 17), (38, 44), (91, 19), (123, 88)]
RATES = {
    "base": (0.9, 0.7, 0.5, 0.4, 0.3, 0.2),
    "post": (1.0, 1.0, 0.95, 0.9, 0.1, 0.0),
}


class Drawing(LM):
    def __init__(self, arm):
        super().__init__()
        self.rates, self.rng = RATES[arm], random.Random(arm)

    def generate_until(self, requests, disable_tqdm=False):
        replies = []
        for request in requests:
            a, b = (int(part) for part in request.args[0].split() if part.isdigit())
            right = self.rng.random() < self.rates[SUMS.index((a, b))]
            replies.append(f"That is {a + b if right else a + b + 1}.")
        return replies

    def loglikelihood(self, requests, disable_tqdm=False):
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


def documents(**_):
    rows = [{"question": f"What is {a} + {b} ?", "answer": str(a + b)} for a, b in SUMS]
    return {"test": datasets.Dataset.from_list(rows)}


def filters(*names, last):
    patterns = {"number": r"(\d+)", "strict": r"That is (\d+)\.$"}
    return [
        {
            "name": name,
            "filter": [{"function": "regex", "regex_pattern": patterns[name]}, last],
        }
        for name in names
    ]


def run(folder, arm, temperature, filter_list):
    task = ConfigurableTask(
        config={
            "task": "sums",
            "custom_dataset": documents,
            "test_split": "test",
            "output_type": "generate_until",
            "doc_to_text": "{{question}}",
            "doc_to_target": "{{answer}}",
            "metric_list": [{"metric": "exact_match"}],
            "generation_kwargs": {
                "until": ["\n"],
                "do_sample": True,
                "temperature": temperature,
                "top_p": 0.95,
                "max_gen_toks": 64,
            },
            "repeats": 8,
            "filter_list": filter_list,
        }
    )
    results = simple_evaluate(Drawing(arm), tasks=[task], bootstrap_iters=0, log_samples=True)
    samples = results.pop("samples")
    with tempfile.TemporaryDirectory() as written:
        tracker = EvaluationTracker(output_path=written)
        tracker.general_config_tracker.model_name_sanitized = "drawing"
        tracker.date_id = "2026-01-01T00-00-00"
        tracker.save_results_samples("sums", samples["sums"])
        target = HERE / folder
        target.mkdir(exist_ok=True)
        for path in Path(written).rglob("*.jsonl"):
            shutil.copy(path, target)
    print(folder, {k: v for k, v in results["results"]["sums"].items() if "exact_match," in k})


if __name__ == "__main__":
    all_eight = {"function": "take_first_k", "k": 8}
    run("base", "base", 0.7, filters("number", last=all_eight))
    run("post", "post", 0.7, filters("number", last=all_eight))
    run("two_filters", "base", 0.7, filters("number", "strict", last={"function": "take_first"}))
