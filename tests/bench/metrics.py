"""How long the intervals take, on one core: python tests/bench/metrics.py, nothing else running.

Prints the time of all intervals of the 12 published comparisons and of 42 paired ones of 770 tasks
(1,000 resamples, all budgets up to 128), and the ratio to a plain loop over resamples that averages
the per-task curves of the tasks drawn. The loop runs some of the resamples and is scaled up.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # before numpy starts its threads

import time

import numpy as np

from lib import claims, metrics, outcomes

K, N_BOOT, LOOPED = 128, 1000, 50


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def plain_loop(base, post, rng):
    """One resample at a time, each a mean over the drawn tasks' curves: what one writes first."""
    budgets = np.arange(1, K + 1)
    per_task = [
        [estimator(c, n, budgets) for estimator in (metrics.pass_at_k, metrics.pass_hat_k)]
        for c, n in (base, post)
    ]
    samples = []
    for _ in range(LOOPED):
        tasks = rng.integers(len(base[0]), size=len(base[0]))
        at, hat = zip(
            *([curve[tasks].mean(axis=0) for curve in arm] for arm in per_task), strict=True
        )
        areas = [metrics.scalability(curve, budgets) for curve in at]
        samples.append([*at, *hat, *areas[0], *areas[1], at[0] - at[1]])
        metrics.crossover(*at)
    np.nanpercentile(np.array(samples)[:, :, 1:], [2.5, 97.5], axis=0)


def drawn_cells(rng, tasks=770, n=128):
    shapes = ((0.3, 0.5), (0.2, 0.2))
    return [(rng.binomial(n, rng.beta(*shape, tasks)), np.full(tasks, n)) for shape in shapes]


def main():
    rng = np.random.default_rng(0)
    published = outcomes.comparisons(claims.load("published"))
    drawn = [drawn_cells(rng) for _ in range(42)]
    plain = seconds(lambda: plain_loop(*drawn[0], rng)) * N_BOOT / LOOPED
    ours = seconds(lambda: metrics.sharpening_tax(*drawn[0], K, n_boot=N_BOOT))
    twelve = min(
        seconds(lambda: [one.tax(K, n_boot=N_BOOT) for one in published]) for _ in range(3)
    )
    many = seconds(lambda: [metrics.sharpening_tax(*two, K, n_boot=N_BOOT) for two in drawn])
    print(f"machine load over the last minute: {os.getloadavg()[0]:.1f}")
    print(f"12 published comparisons, histograms:    {twelve:6.2f} s   (to stay under 1 s)")
    print(f"42 comparisons of 770 tasks, paired:     {many:6.2f} s   (to stay under 5 s)")
    print(f"one comparison, plain loop against ours: {plain / ours:6.0f} times slower")


if __name__ == "__main__":
    main()
