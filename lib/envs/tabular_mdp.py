"""Small MDPs solved exactly: the log ratio of a policy to its reference, without noise.

The return is regularised: E sum_t gamma^t [r_t - beta KL(pi || ref at s_t)]. Its optimum satisfies
beta log(pi*/ref) = Q* - V* (arXiv 2606.26080), whatever the transitions. Arrays are indexed
[state], [state, action] or [state, action, next state]; states that end have no reward and lead to
themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

Array = NDArray[np.float64]

POLISHING = 2000
"""The most steps along the natural gradient that `maximise` ends with."""


@dataclass(frozen=True)
class Table:
    """An MDP.

    transition: [s, a, s'], probabilities.  reward: [s, a, s'], of each transition.  gamma: the
    discount, below 1.  ends: [s], where the episode is over.
    """

    transition: Array
    reward: Array
    gamma: float
    ends: NDArray[np.bool_]

    def __post_init__(self):
        sums = self.transition.sum(-1)
        if not np.allclose(sums, 1) or (self.transition < 0).any():
            worst = np.unravel_index(np.abs(sums - 1).argmax(), sums.shape)
            raise ValueError(
                f"probabilities of (state, action) {worst} sum to {sums[worst]}: expected 1"
            )
        if not 0 <= self.gamma < 1:
            raise ValueError(f"gamma is {self.gamma}: it must be at least 0 and below 1")

    @property
    def expected_reward(self) -> Array:
        """Mean reward of an action, [s, a]."""
        return (self.transition * self.reward).sum(-1)


class Soft(NamedTuple):
    """A policy and its soft values: Q [s, a], V [s], log_policy [s, a]."""

    Q: Array
    V: Array
    log_policy: Array


def soft_value_iteration(
    table: Table, log_reference: Array, beta: float, tolerance: float = 1e-13
) -> Soft:
    """The optimum by soft value iteration.

    Q = r + gamma P V;  V = beta log sum_a ref exp(Q / beta);  pi* = ref exp((Q - V) / beta).
    """
    _check_beta(beta)
    V = np.zeros(len(table.ends))
    while True:
        Q = table.expected_reward + table.gamma * table.transition @ V
        after = np.where(table.ends, 0.0, beta * logsumexp(log_reference + Q / beta, axis=1))
        if np.abs(after - V).max() <= tolerance * max(1.0, np.abs(after).max()):
            V = after
            break
        V = after
    Q = table.expected_reward + table.gamma * table.transition @ V
    # Where the episode is over nothing is chosen: the reference stays as it is.
    log_policy = np.where(
        table.ends[:, None], log_reference, log_reference + (Q - V[:, None]) / beta
    )
    return Soft(Q, V, log_policy)


def evaluate(table: Table, log_policy: Array, log_reference: Array, beta: float) -> Soft:
    """Soft values of any policy, by one linear solve.

    (I - gamma P_pi) V = sum_a pi [r - beta log(pi / ref)];  Q = r + gamma P V.
    """
    policy = np.exp(log_policy)
    gain = table.expected_reward - beta * (log_policy - log_reference)
    gain = np.where(table.ends, 0.0, (policy * gain).sum(1))
    V = np.linalg.solve(np.eye(len(gain)) - table.gamma * _chain(table, policy), gain)
    return Soft(table.expected_reward + table.gamma * table.transition @ V, V, log_policy)


def maximise(table: Table, log_reference: Array, beta: float) -> Soft:
    """The optimum by another way: gradient ascent on the exact return over policy logits.

    The return is even over all states that do not end as the first, so every state is reached and
    its logits matter. Nothing of `soft_value_iteration` is used: the return and its `gradient` come
    from linear solves, and scipy's L-BFGS climbs. An action that is hardly ever taken moves the
    return too little for its line search, so the last steps go along the natural gradient, the
    gradient over visits and probabilities, until it vanishes or `POLISHING` steps are made.
    Take the `gradient` of the result to see whether the ascent arrived.
    """
    _check_beta(beta)
    live = ~table.ends
    first = live / live.sum()

    def policy_of(logits):
        log_policy = log_softmax(logits.reshape(log_reference.shape), axis=1)
        return np.where(live[:, None], log_policy, log_reference)

    def minus_return(logits):
        solution = evaluate(table, policy_of(logits), log_reference, beta)
        return -float(first @ solution.V), -gradient(table, solution, log_reference, beta).ravel()

    options = {"maxiter": 100_000, "maxfun": 200_000, "ftol": 0, "gtol": 1e-13, "maxcor": 50}
    climbed = minimize(
        minus_return, log_reference.ravel(), jac=True, method="L-BFGS-B", options=options
    )
    solution = evaluate(table, policy_of(climbed.x), log_reference, beta)
    for _ in range(POLISHING):
        natural = np.where(live[:, None], _gain(solution, log_reference, beta), 0.0)
        if np.abs(natural).max() < 1e-12:
            break
        logits = solution.log_policy + natural / (2 * beta)
        solution = evaluate(table, policy_of(logits), log_reference, beta)
    return solution


def gradient(table: Table, solution: Soft, log_reference: Array, beta: float) -> Array:
    """The gradient of the return by a policy's logits, [s, a], even over first states.

    d(s) pi(a|s) [Q - beta log(pi/ref) - V], d the discounted visits of s: the policy gradient
    theorem with the regulariser's own term. It is 0 at the optimum.
    """
    live = ~table.ends
    chain = _chain(table, np.exp(solution.log_policy))
    visits = np.linalg.solve(np.eye(len(live)) - table.gamma * chain.T, live / live.sum())
    slope = visits[:, None] * np.exp(solution.log_policy) * _gain(solution, log_reference, beta)
    return np.where(live[:, None], slope, 0.0)


def _gain(solution: Soft, log_reference: Array, beta: float) -> Array:
    return solution.Q - log_ratio(solution, log_reference, beta) - solution.V[:, None]


def advantage(solution: Soft) -> Array:
    """A = Q - V, [s, a]."""
    return solution.Q - solution.V[:, None]


def log_ratio(solution: Soft, log_reference: Array, beta: float) -> Array:
    """Progress advantage: beta log(pi / ref), [s, a]."""
    return beta * (solution.log_policy - log_reference)


def recovered_reward(table: Table, solution: Soft, log_reference: Array, beta: float) -> Array:
    """The reward that a single transition implies: beta log(pi/ref) + V(s) - gamma V(s'), [s,a,s'].

    Correct in expectation over s', and for each s' only where transitions are deterministic.
    """
    signal = log_ratio(solution, log_reference, beta) + solution.V[:, None]
    return signal[:, :, None] - table.gamma * solution.V[None, None, :]


def _chain(table: Table, policy: Array) -> Array:
    """Probabilities of the next state under a policy, [s, s'], 0 from states that end."""
    chain = np.einsum("sa,sat->st", policy, table.transition)
    return np.where(table.ends[:, None], 0.0, chain)


def _check_beta(beta: float) -> None:
    if not 0 < beta < np.inf:
        raise ValueError(f"beta is {beta!r}: it must be a finite number above 0")


def from_level(level, slip: float, gamma: float, plans: Sequence[Sequence[int]]) -> Table:
    """The MDP of a grid level (`lib.envs.grid.Level`) whose actions are plans of moves.

    The moves of a plan are made one after another, each may slip to a side, until the plan or the
    episode is over; an empty plan stays in place. Reaching the goal has the reward 1.
    slip: the probability that a move goes to one of its two sides, in [0, 1); ValueError otherwise.
    """
    from lib.envs.grid import ACROSS

    if not 0 <= slip < 1:
        raise ValueError(f"slip is {slip}: it must be a probability in [0, 1)")
    states = len(level.next)
    ends = np.array([ended is not None for ended in level.ends])
    goal = np.array([ended is True for ended in level.ends])
    step = np.zeros((4, states, states))
    for state, after in enumerate(level.next):
        for move in range(4):
            chances = [(move, 1 - slip), *((side, slip / 2) for side in ACROSS[move])]
            for done, chance in chances:
                step[move, state, state if ends[state] else after[done]] += chance
    transition = np.zeros((states, len(plans), states))
    for action, plan in enumerate(plans):
        reached = np.eye(states)
        for move in plan:
            reached = reached @ step[move]
        transition[:, action] = reached
    reward = np.broadcast_to(goal & ~ends[:, None], (states, states))[:, None, :]
    reward = np.broadcast_to(reward, transition.shape).astype(float)
    return Table(transition, reward, gamma, ends)
