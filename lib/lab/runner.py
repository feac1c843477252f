"""The queue of the lab's work. It may be killed at any moment and goes on.

Every piece of work has a folder under `Plan.build`, is done by whichever worker holds its lock, and
leaves tables there; `gather` joins those of finished work to the tables of results in `Plan.data`.
"""

import time
from collections.abc import Callable, Sequence

from lib.lab.gathering import gather, gathered
from lib.lab.plan import LAB, Plan
from lib.lab.work import Base, Work, with_needs
from lib.trajectories import storage


def is_done(work: Work, lab: Plan = LAB) -> bool:
    """Whether a piece of work is complete, in its folder or in the tables of results."""
    if (lab.build / work.name / "done").exists():
        return True
    has_model = not isinstance(work, Base) or lab.kept_folder(work).exists()
    return work.name in gathered(lab) and has_model


def is_ready(work: Work, lab: Plan = LAB) -> bool:
    """Whether all that a piece of work needs is there; of a base its model is enough."""
    return all(
        lab.kept_folder(need).exists() if isinstance(need, Base) else is_done(need, lab)
        for need in work.needs
    )


def do(work: Work, lab: Plan = LAB, progress: bool | None = None) -> bool:
    """Do a piece of work unless another process does it; returns whether it is done now."""
    from lib.lab.making import make  # torch, which whoever only asks what is done can do without

    try:
        with storage.lock(lab.build / work.name):
            if is_done(work, lab):
                return True
            make(work, lab, progress)
            (lab.build / work.name / "done").touch()
    except storage.LockedError:
        return is_done(work, lab)
    gather(lab)
    return True


def do_all(
    wanted: Sequence[Work],
    lab: Plan = LAB,
    *,
    go_on: Callable[[], bool] = lambda: True,
    done: Callable[[Work, float], None] = lambda work, seconds: None,
) -> None:
    """Do these pieces of work and what they need, beside other workers that do the same.

    go_on: called before each piece; False ends the work.  done: called after each piece, with it
    and the seconds that it took.
    """
    wanted = with_needs(wanted)
    while go_on():
        waiting = [work for work in wanted if not is_done(work, lab)]
        if not waiting:
            return
        for work in waiting:
            began = time.monotonic()
            if is_ready(work, lab) and do(work, lab, progress=False):
                done(work, time.monotonic() - began)
                break
        else:
            time.sleep(2)  # others are at work on what is needed
