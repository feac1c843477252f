"""BFCL's adapter; needs the package (make benchmarks)."""

import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError

import psutil
import pytest

from lib.envs import Environment, Episode, catalog, null, play
from lib.envs.benchmarks.bfcl import BFCL, MAX_ROUNDS, MULTI_TURN, SINGLE_TURN
from lib.envs.benchmarks.bfcl_calls import RefusedCall, admit, to_tool
from lib.rollouts.policies import Context
from lib.rollouts.prompts import Harness
from lib.rollouts.tool_calls import parse_tool_calls
from lib.trajectories.schema import Message, Tool, ToolCall, offered_tools


def test_a_missing_package_gives_the_command(monkeypatch):
    def missing(package):
        raise PackageNotFoundError(package)

    monkeypatch.setattr(catalog, "version", missing)
    with pytest.raises(ImportError, match=r"bfcl-eval 2026.3.23 .* run: make benchmarks"):
        BFCL()
    monkeypatch.setattr(catalog, "version", lambda package: "1.0")
    with pytest.raises(ImportError, match=r"it is 1.0; run: make benchmarks"):
        BFCL()


def test_unknown_category():
    with pytest.raises(ValueError, match=r"category must be one of multi_turn_base, .* got 'java'"):
        BFCL("java")


# ------------------------------------------------------------------------------------- the gate

NAMES = ("cd", "echo", "power")


class Evil:
    """Its representation is a call."""

    def __repr__(self):
        return "__import__('os').system('touch canary')"


class EvilText(str):
    __repr__ = Evil.__repr__


ATTACK = "__import__('os').system('touch canary')"

REFUSED = {
    "code as the name": ToolCall(ATTACK),
    "a module's function": ToolCall("os.system", {"command": "touch canary"}),
    "a call before the name": ToolCall(f"{ATTACK} or cd", {"folder": "a"}),
    "a statement before the name": ToolCall(f"{ATTACK};cd", {"folder": "a"}),
    "a line before the name": ToolCall(f"{ATTACK}\ncd", {"folder": "a"}),
    "a call that closes early": ToolCall(f"cd(folder='a') or {ATTACK} #", {}),
    "a lambda": ToolCall(f"(lambda: {ATTACK})", {}),
    "eval": ToolCall("eval", {"source": ATTACK}),
    "exec": ToolCall("exec", {"source": ATTACK}),
    "open": ToolCall("open", {"file": "canary", "mode": "w"}),
    "a private method": ToolCall("_load_scenario", {"scenario": {}}),
    "a dunder": ToolCall("__class__", {}),
    "an attribute of a tool": ToolCall("cd.__globals__", {}),
    "a name that normalises to a tool's": ToolCall("ｃｄ", {"folder": "a"}),
    "a null byte in the name": ToolCall("cd\0", {"folder": "a"}),
    "an empty name": ToolCall("", {}),
    "code as a key": ToolCall("cd", {f"folder={ATTACK}, other": "a"}),
    "unpacking as a key": ToolCall("cd", {f"**{ATTACK}, folder": "a"}),
    "a key that closes the call": ToolCall("cd", {f"folder='a') or {ATTACK} or cd(folder": "b"}),
    "a walrus as a key": ToolCall("cd", {f"folder:={ATTACK}": "a"}),
    "a line in a key": ToolCall("cd", {f"folder\n={ATTACK},\nother": "a"}),
    "a keyword as a key": ToolCall("cd", {"lambda": "a"}),
    "a key that normalises to another": ToolCall("cd", {"folder": "a", "ｆolder": "b"}),
    "a key that is no text": ToolCall("cd", {1: "a"}),
    "an object that writes code": ToolCall("cd", {"folder": Evil()}),
    "text that writes code": ToolCall("cd", {"folder": EvilText("a")}),
    "code deep inside": ToolCall("cd", {"folder": [{"a": [Evil()]}]}),
    "a tuple": ToolCall("cd", {"folder": ("a",)}),
    "bytes": ToolCall("cd", {"folder": b"a"}),
    "a set": ToolCall("cd", {"folder": {"a"}}),
    "infinity": ToolCall("cd", {"folder": float("inf")}),
    "not a number": ToolCall("cd", {"folder": float("nan")}),
    "a key inside that is no text": ToolCall("cd", {"folder": {Evil(): 1}}),
    "a power that never ends": ToolCall("power", {"base": 9, "exponent": 10**9}),
    "a number too long to write": ToolCall("cd", {"folder": 10**5000}),
}

deep = []
for _ in range(1000):
    deep = [deep]
REFUSED["a thousand brackets"] = ToolCall("cd", {"folder": deep})

HARMLESS = {
    "a quote that closes": f"' + {ATTACK} + '",
    "both quotes": f"""'"''' + {ATTACK} + '''"'""",
    "a format string": "{" + ATTACK + "}",
    "a backslash before the quote": f"\\' + {ATTACK} + \\'",
    "an escaped end": f"\\\\' + {ATTACK}",
    "lines": f"a\n{ATTACK}\r\n",
    "a comment": f"# {ATTACK}",
    "a null byte": f"\0{ATTACK}",
    "the name of a tool and a bracket": "cd(folder='a') and echo (1)",
    "a surrogate": "\ud800",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_hostile_calls_are_refused(kind):
    with pytest.raises(RefusedCall):
        admit(REFUSED[kind], NAMES)


@pytest.mark.parametrize("kind", HARMLESS)
def test_hostile_text_stays_text(kind):
    text = admit(ToolCall("cd", {"folder": HARMLESS[kind]}), NAMES)
    assert eval(text, {"cd": lambda folder: folder}) == HARMLESS[kind]


def test_admitted_text():
    call = ToolCall("cd", {"folder": "it's", "deep": {"a": [1, -2.5, True, None]}})
    assert admit(call, NAMES) == """cd(folder="it's", deep={'a': [1, -2.5, True, None]})"""


def test_schemas_become_json_schemas():
    raw = {
        "name": "f",
        "description": "d",
        "parameters": {
            "type": "dict",
            "properties": {
                "a": {"type": "tuple", "items": {"type": "float"}, "description": "x"},
                "b": {"type": "any", "optional": True, "enum": [1]},
            },
            "required": ["a"],
        },
    }
    schema = {
        "properties": {
            "a": {"items": {"type": "number"}, "description": "x", "type": "array"},
            "b": {"enum": [1]},
        },
        "required": ["a"],
        "type": "object",
    }
    assert to_tool(raw) == Tool("f", "d", schema)


# -------------------------------------------------------------------------------- the benchmark


@pytest.fixture(scope="module")
def base():
    pytest.importorskip("bfcl_eval", reason="BFCL is not installed: make benchmarks")
    return BFCL()


def states():
    """Return the names under which BFCL keeps the states of attempts."""
    utils = sys.modules["bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils"]
    return [name for name in vars(utils) if name.endswith("_instance")]


@pytest.mark.parametrize("category", MULTI_TURN)
def test_oracle_solves_all_and_null_nothing(base, category):
    environment = BFCL(category)
    assert len(environment.tasks()) == 200
    for task in environment.tasks():
        assert play(environment.reset(task, 0), environment.oracle)[1].passed is True, task
        assert play(environment.reset(task, 0), null)[1].passed is False, task
    assert not states()


@pytest.mark.parametrize(("category", "count"), [("simple_python", 400), ("multiple", 200)])
def test_oracle_and_null_in_single_turn(base, category, count):
    environment = BFCL(category)
    assert len(environment.tasks()) == count
    for task in environment.tasks():
        assert play(environment.reset(task, 0), environment.oracle)[1].passed is True, task
        assert play(environment.reset(task, 0), null)[1].passed is False, task


def test_protocol(base):
    assert isinstance(base, Environment)
    assert isinstance(base.reset("multi_turn_base_0", 0), Episode)
    assert isinstance(BFCL("multiple").reset("multiple_0", 0), Episode)
    with pytest.raises(ValueError, match="has no task 'x'; its first is 'multi_turn_base_0'"):
        base.reset("x", 0)


def test_nothing_is_written_beside_the_package(base):
    play(base.reset("multi_turn_base_0", 0), base.oracle)
    assert "bfcl_eval.constants.eval_config" not in sys.modules


def test_hostile_calls_execute_nothing(base, tmp_path, monkeypatch):
    """Played to the end, so that what is admitted passes execution and grading."""
    from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_utils

    evaluated = []
    spy = lambda text: evaluated.append(text) or eval(text, vars(multi_turn_utils))  # noqa: E731
    monkeypatch.setattr(multi_turn_utils, "eval", spy, raising=False)
    monkeypatch.chdir(tmp_path)
    hostile = [ToolCall("cd", {"folder": text}) for text in HARMLESS.values()]
    episode = base.reset("multi_turn_base_0", 0)
    refused = episode.step(Message("assistant", "", tuple(REFUSED.values())))
    assert len(refused) == len(REFUSED)
    assert all(message.content.startswith("Error: ") for message in refused)
    assert not evaluated
    episode.step(Message("assistant", "", tuple(hostile)))
    play(episode, base.oracle)
    monkeypatch.undo()
    assert episode.outcome.info["refused_calls"] == len(REFUSED)
    assert len(evaluated) > len(hostile)
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("parser", ["robust", "paper", "exact"])
def test_code_is_no_call(base, parser):
    tools = base.reset("multi_turn_base_0", 0).tools
    for text in (ATTACK, f"[{ATTACK}]", f"```tool_call\n[{ATTACK}]\n```", "[cd(folder='a')]"):
        assert not parse_tool_calls(text, tools, parser=parser).calls


def test_what_a_round_returns(base):
    episode = base.reset("multi_turn_base_0", 0)
    calls = (ToolCall("cd", {"folder": "document"}, id="1"), ToolCall("rm_all", {}, id="2"))
    good, bad = episode.step(Message("assistant", "", calls))
    assert good == Message(
        "tool", '{"current_working_directory": "document"}', name="cd", tool_call_id="1"
    )
    assert bad == Message(
        "tool", "Error: there is no tool 'rm_all'", name="rm_all", tool_call_id="2"
    )


def test_names_of_tools_inside_a_value_are_left_alone(base):
    episode = base.reset("multi_turn_base_0", 0)
    call = ToolCall("echo", {"content": "cd (now)"})
    (answer,) = episode.step(Message("assistant", "", (call,)))
    assert answer.content == '{"terminal_output": "cd (now)"}'


def test_a_text_ends_the_user_turn(base):
    episode = base.reset("multi_turn_base_0", 0)
    (message,) = episode.step(Message("assistant", "Done."))
    assert message.role == "user"
    assert "grep" in message.content


def test_one_round_too_many_is_a_failure(base):
    episode = base.reset("multi_turn_base_0", 0)
    again = Message("assistant", "", (ToolCall("pwd"),))
    for _ in range(MAX_ROUNDS):
        assert episode.step(again)
    assert episode.step(again) == ()
    assert episode.outcome.passed is False
    assert episode.outcome.reason == "more than 20 rounds in user turn 0"
    with pytest.raises(ValueError, match="is done"):
        episode.step(again)


def test_late_tools_come_with_their_message(base):
    environment = BFCL("multi_turn_miss_func")
    episode = environment.reset("multi_turn_miss_func_0", 0)
    assert "sort" not in [tool.name for tool in episode.tools]
    messages, _ = play(episode, environment.oracle)
    late = [message for message in messages if message.tools]
    assert [tool.name for message in late for tool in message.tools] == ["sort"]


def test_an_abandoned_episode_can_be_freed(base):
    episode = base.reset("multi_turn_base_0", 0)
    episode.step(Message("assistant", "", (ToolCall("pwd"),)))
    assert states()
    episode.close()
    episode.close()
    assert not states()


def test_an_episode_that_is_dropped_frees_its_state(base):
    base.reset("multi_turn_base_0", 0).step(Message("assistant", "", (ToolCall("pwd"),)))
    gc.collect()
    assert not states()


def test_wrong_arguments_fail_with_a_reason(base):
    environment = BFCL("simple_python")
    wrong = ToolCall("calculate_triangle_area", {"base": 1, "height": 5})
    episode = environment.reset("simple_python_0", 0)
    episode.step(Message("assistant", "", (wrong,)))
    assert episode.outcome.passed is False
    assert "Invalid value for parameter 'base'" in episode.outcome.reason


@pytest.mark.parametrize("value", [None, [1], [[1]], {"a": {}}, [{"a": [1]}], "x", 1, True])
def test_arguments_of_any_shape_are_graded(base, value):
    for category in SINGLE_TURN:
        environment = BFCL(category)
        for task in environment.tasks():
            episode = environment.reset(task, 0)
            call = episode.tools[0]
            arguments = dict.fromkeys(call.parameters["properties"], value)
            episode.step(Message("assistant", "", (ToolCall(call.name, arguments),)))
            assert episode.outcome.passed in (True, False)


def mixed(environment):
    """Reply as the oracle does in every other round, else with a call that changes the state."""
    rounds = iter(range(10**6))

    def reply(episode):
        if next(rounds) % 3 == 2:
            return Message("assistant", "", (ToolCall("touch", {"file_name": "x"}),))
        return environment.oracle(episode)

    return reply


@pytest.mark.slow
@pytest.mark.parametrize("category", ["multi_turn_base", "multi_turn_long_context"])
def test_eight_threads_give_what_one_gives(base, category):
    environment = BFCL(category)
    jobs = [(task, attempt) for task in environment.tasks() for attempt in range(2)]

    def run(job):
        reply = environment.oracle if job[1] else mixed(environment)
        return play(environment.reset(*job), reply)

    alone = list(map(run, jobs))
    gate = threading.Barrier(8)
    with ThreadPoolExecutor(8, initializer=gate.wait) as pool:
        together = list(pool.map(run, jobs))
    assert together == alone
    assert 0 < sum(outcome.passed for _, outcome in alone) < len(jobs)


@pytest.mark.slow
def test_memory_stays_over_1600_rollouts(base):
    def rollouts(count):
        for attempt in range(count):
            for task in base.tasks():
                play(base.reset(task, attempt), base.oracle)

    rollouts(1)
    process = psutil.Process()
    before = process.memory_info().rss
    rollouts(8)
    grown = (process.memory_info().rss - before) / 2**20
    assert grown < 20
    assert not states()


@pytest.mark.parametrize("precision", ["2_000_000", "2000000", 2_000_000, [2_000_000], None])
def test_a_number_that_would_run_for_hours_is_refused_however_it_is_written(precision):
    call = ToolCall("logarithm", {"value": 10.5, "base": 3, "precision": precision})
    with pytest.raises(RefusedCall, match="must be a number of 1000 at most"):
        admit(call, {"logarithm"})


def test_tools_that_come_late_are_told_once_and_the_prompt_only_grows():
    category = BFCL("multi_turn_miss_func")
    for task in category.tasks()[:20]:
        episode = category.reset(task, 0)
        messages, said, before = list(episode.messages), Harness(), ""
        while not episode.done:
            tools = offered_tools(episode.tools, messages)
            prompt = said.prompt(Context(episode.system, tools, tuple(messages)))
            assert prompt.startswith(before)
            assert all(prompt.count(f"def {tool.name}(") == 1 for tool in tools)
            reply = Message("assistant", "no")
            before = prompt + reply.content
            messages += [reply, *episode.step(reply)]
        episode.close()
