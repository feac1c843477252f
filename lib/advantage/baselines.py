"""Cheap scores from the same pass, which the progress advantage has to beat: [t] each."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lib.advantage.aggregation import MissingReference, step_values, trajectory_values
from lib.advantage.scores import Scored


def policy_log_prob(scored: Scored) -> NDArray[np.float64]:
    """Mean over steps of the mean log-prob of a token under the policy, [t]."""
    return trajectory_values(scored, step_values(scored, scored.policy))


def reference_log_prob(scored: Scored) -> NDArray[np.float64]:
    """Mean over steps of the mean log-prob of a token under the reference, [t]."""
    if scored.reference is None:
        raise MissingReference(
            "no reference was run, so it has no log-prob: score with a `reference`"
        )
    return trajectory_values(scored, step_values(scored, scored.reference))


def confidence(scored: Scored) -> NDArray[np.float64]:
    """Confidence of each step, [s]: the mean over its tokens of *minus* the top-k mean log-prob.

    A high value is a sure policy: where one token has nearly all of the probability, the others of
    the top k have very negative log-probs.
    """
    return step_values(scored, -scored.policy_top)


def self_certainty(scored: Scored) -> NDArray[np.float64]:
    """Mean confidence over steps, [t]."""
    return trajectory_values(scored, confidence(scored))


def deepconf_tail(scored: Scored) -> NDArray[np.float64]:
    """Confidence of the last step, [t]."""
    return trajectory_values(scored, confidence(scored), "last")


def deepconf_bottom10(scored: Scored) -> NDArray[np.float64]:
    """Mean confidence of the least confident tenth of the steps, [t]."""
    return trajectory_values(scored, confidence(scored), "bottom10")


def self_certainty_as_released(scored: Scored) -> NDArray[np.float64]:
    """Self-certainty without the minus, as in the paper's release: a high value is unsure, [t]."""
    return trajectory_values(scored, -confidence(scored))


def deepconf_tail_as_released(scored: Scored) -> NDArray[np.float64]:
    """DeepConf tail without the minus, as the paper's release has it, [t]."""
    return trajectory_values(scored, -confidence(scored), "last")


def deepconf_bottom10_as_released(scored: Scored) -> NDArray[np.float64]:
    """The lowest tenth without the minus, which is that of the *surest* steps, [t]."""
    return trajectory_values(scored, -confidence(scored), "bottom10")


def minus_turns(scored: Scored) -> NDArray[np.float64]:
    """Minus the number of steps, [t]: where wins end early, this alone is a strong score."""
    return -scored.steps.astype(float)


def oracle(scored: Scored) -> NDArray[np.float64]:
    """1 for a success, 0 for a failure, NaN where the outcome is missing, [t]."""
    return np.array([np.nan if passed is None else float(passed) for passed in scored.passed])


def at_random(scored: Scored, rng: np.random.Generator) -> NDArray[np.float64]:
    """Random numbers from 0 to 1, [t]."""
    return rng.random(len(scored))


BASELINES: dict[str, Callable[[Scored], NDArray[np.float64]]] = {
    "policy log-prob": policy_log_prob,
    "reference log-prob": reference_log_prob,
    "self-certainty": self_certainty,
    "DeepConf tail": deepconf_tail,
    "DeepConf bottom 10 %": deepconf_bottom10,
    "self-certainty (as released)": self_certainty_as_released,
    "DeepConf tail (as released)": deepconf_tail_as_released,
    "DeepConf bottom 10 % (as released)": deepconf_bottom10_as_released,
    "minus turns": minus_turns,
}
"""The baselines that need nothing but the pass, by their names in tables and pictures."""
