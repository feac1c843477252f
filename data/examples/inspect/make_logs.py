"""Write base.eval, post.eval and two_scorers.json with Inspect itself (inspect-ai 0.3.285).

    python -m venv /tmp/inspect && /tmp/inspect/bin/pip install inspect-ai==0.3.285
    /tmp/inspect/bin/python data/examples/inspect/make_logs.py

The model is the tool's own `mockllm`: it answers sums, right or wrong by a seeded draw. One attempt
of the base meets a server error and one runs out of messages, as in real logs.
"""

import random
import tempfile
from pathlib import Path

from inspect_ai import Epochs, Task, eval, task
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import exact, match
from inspect_ai.solver import solver

HERE = Path(__file__).parent
SUMS = [(2, 3), (4, 4), (10, 7), (12, 9), (25, 17), (31, 28)]
SUMS += [(38, 44), (57, 36), (91, 19), (99, 99), (123, 88), (765, 678)]
RATES = {
    "base": (0.9, 0.9, 0.7, 0.7, 0.5, 0.5, 0.4, 0.4, 0.3, 0.3, 0.2, 0.1),
    "post": (1.0, 1.0, 1.0, 1.0, 0.95, 0.95, 0.9, 0.5, 0.1, 0.0, 0.0, 0.0),
}


@solver
def answering(arm):
    async def solve(state, generate):
        number = int(state.sample_id) - 1
        if arm == "base" and (number, state.epoch) == (8, 3):
            raise ConnectionError("the server closed the connection")
        if arm == "base" and (number, state.epoch) == (11, 6):
            state.message_limit = 1
        return await generate(state)

    return solve


def model_of(arm, temperature):
    def reply(messages, tools, tool_choice, config):
        a, b = (int(part) for part in messages[-1].text.split() if part.isdigit())
        number = SUMS.index((a, b))
        right = draws[number].random() < RATES[arm][number]
        output = ModelOutput.from_content("mockllm/model", str(a + b if right else a + b + 1))
        output.usage = ModelUsage(input_tokens=8, output_tokens=2, total_tokens=10)
        return output

    draws = [random.Random(f"{arm} {number}") for number in range(len(SUMS))]
    config = GenerateConfig(temperature=temperature, top_p=0.95, max_tokens=64)
    return get_model("mockllm/model", custom_outputs=reply, config=config, memoize=False)


@task
def sums(arm="base", scorers=None):
    return Task(
        dataset=[
            Sample(id=str(i), input=f"What is {a} + {b} ?", target=str(a + b))
            for i, (a, b) in enumerate(SUMS, 1)
        ],
        solver=answering(arm),
        scorer=scorers or match(),
        epochs=Epochs(6, "mean"),
    )


def write(name, arm, temperature, log_format, scorers=None, limit=None):
    with tempfile.TemporaryDirectory() as folder:
        (log,) = eval(
            sums(arm, scorers),
            model=model_of(arm, temperature),
            log_dir=folder,
            log_format=log_format,
            fail_on_error=False,
            max_samples=1,
            log_realtime=False,
            limit=limit,
            display="none",
        )
        log = read_eval_log(log.location)
    for sample in log.samples:  # these are most of the file, and tell where it was made
        sample.events, sample.events_data = [], None
        if sample.error:
            sample.error.traceback = sample.error.traceback_ansi = ""
    write_eval_log(log, str(HERE / name))


if __name__ == "__main__":
    write("base.eval", "base", 0.7, "eval")
    write("post.eval", "post", 0.6, "eval")
    write("two_scorers.json", "post", 0.6, "json", [match(), exact()], limit=3)
