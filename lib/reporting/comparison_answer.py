"""What comparisons come to, in a sentence that answers, and what to do next: plain text.

Sentences give the levels of both arms, so that no sign has to be explained. Only an interval that
excludes zero makes a change certain: without one a sentence says so, and "within chance" is what
has zero in its interval.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from lib import claims, metrics
from lib.metrics.formatting import side

CERTAIN, BY_CHANCE, NO_INTERVAL, SAME = "certain", "within chance", "without an interval", "same"


def percents(*values: float) -> list[str]:
    """Shares as percentages, with the decimals that keep unequal ones, 0 and 1 apart.

    >>> percents(0.93, 0.55), percents(0.9996, 1.0), percents(0.401, 0.404)
    (['93 %', '55 %'], ['99.96 %', '100 %'], ['40.1 %', '40.4 %'])
    """
    for digits in range(13):
        texts = [f"{100 * value:.{digits}f}" for value in values]
        rounded = {round(value, 12): float(text) for value, text in zip(values, texts, strict=True)}
        off_ends = all(text not in (0, 100) for value, text in rounded.items() if 0 < value < 1)
        if off_ends and len(set(rounded.values())) == len(rounded):
            break
    return [f"{text.rstrip('0').rstrip('.') if '.' in text else text} %" for text in texts]


def certainty(gap: metrics.Band) -> str:
    """How sure a difference, base minus post, is: one of the four words above."""
    if abs(gap.value) <= metrics.MARGIN and not gap.high - gap.low > metrics.MARGIN:
        return SAME
    if np.isnan(gap.low):
        return NO_INTERVAL
    return CERTAIN if side(gap.low, gap.high) else BY_CHANCE


def answer(studies: Sequence[claims.Study]) -> str:
    """The sentence that a page opens with: what happened to coverage, and at one attempt.

    For several comparisons it counts them by what happened.
    """
    return _answer_one(studies[0]) if len(studies) == 1 else _answer_many(studies)


def coverage_title(study: claims.Study) -> str:
    """What happened to coverage at K, or to accuracy where K is 1, as the title of a picture.

    As in "Coverage fell: 93 % to 55 % at 14 attempts".
    """
    tax = study.tax
    what, at = ("Coverage", f"{tax.K} attempts") if tax.K > 1 else ("Accuracy", "one attempt")
    base, post = _levels(tax, tax.K)
    gap = tax.gap.at(tax.K)
    change = {
        CERTAIN: _verb(gap),
        BY_CHANCE: "undecided",
        NO_INTERVAL: f"{_verb(gap)}, without an interval",
        SAME: "is the same",
    }[certainty(gap)]
    return f"{what} {change}: {base if base == post else f'{base} to {post}'} at {at}"


def crossover_title(tax: metrics.SharpeningTax) -> str:
    """From which budget on the base is ahead, as the title of a picture."""
    crossover, K = tax.crossover, tax.K
    if not np.isfinite(crossover.value):
        return f"The base does not overtake within {K} attempts"
    if crossover.value == 1:
        return f"The base is ahead from the first attempt to {K}"
    if np.isnan(crossover.low):
        span = ""
    else:
        low, high = (f"{k:.0f}" if np.isfinite(k) else "none" for k in crossover[1:3])
        span = f" [95 %: {low} to {high}]".replace(" ", "\N{NO-BREAK SPACE}").replace(
            "\N{NO-BREAK SPACE}", " ", 1
        )  # a title breaks its line before the interval, not within
    return f"The base is ahead from {crossover.value:.0f} attempts on{span}"


def tasks_title(comparison) -> str:
    """How many tasks never succeeded in either arm, as the title of a picture."""
    cells = comparison.base, comparison.post
    base, post = (metrics.task_categories(cell.c, cell.n, cell.tasks) for cell in cells)
    if sum(base[:3]) == sum(post[:3]):
        of = f"of {sum(base[:3])} tasks"
        return f"Never solved: {base.always_fail} (base), {post.always_fail} (post-trained) {of}"
    shares = percents(*(kinds.always_fail / sum(kinds[:3]) for kinds in (base, post)))
    return f"Never solved: {shares[0]} of tasks (base), {shares[1]} (post-trained)"


def _answer_one(study) -> str:
    comparison, tax = study
    K, gap = tax.K, tax.gap.at(tax.K)
    base, post = _levels(tax, K)
    what, at = ("coverage", f"{K} attempts") if K > 1 else ("accuracy", "one attempt")
    sure = certainty(gap)
    head = {
        CERTAIN: f"{what.capitalize()} {_verb(gap)}",
        BY_CHANCE: f"Whether {what} changed is undecided",
        NO_INTERVAL: f"{what.capitalize()} {_verb(gap)}, without an interval to say how surely",
        SAME: f"{what.capitalize()} is the same",
    }[sure]
    both = f"the base solves {base} of the tasks, the post-trained model {post}"
    body = f"at {at} " + (f"both solve {base} of the tasks" if base == post else both)
    body += ", a difference within chance" if sure == BY_CHANCE and base != post else ""
    if K > 1:
        end = _at_one_attempt(tax)
    elif comparison.max_k == 1:
        end = "coverage cannot be seen with one attempt a task"
    else:
        end = "coverage at more attempts was not asked for"
    return f"{head}: {body}; {end}."


def _at_one_attempt(tax) -> str:
    gap = tax.gap.at(1)
    base, post = _levels(tax, 1)
    sure, gained = certainty(gap), gap.value < 0
    if abs(gap.value) <= metrics.MARGIN:
        return f"at one attempt both solve {base}"
    if sure == BY_CHANCE:
        what = "gain" if gained else "loss"
        return f"the {what} at one attempt, {base} to {post}, is within chance"
    if sure == NO_INTERVAL:
        return f"at one attempt the base solves {base}, the post-trained model {post}"
    if gained:
        return f"at one attempt the post-trained model is ahead, {post} against {base}"
    return (
        f"at one attempt the base is ahead as well, {base} against {post}"
        if (side(*tax.gap.at(tax.K)[1:]) == 1)
        else f"at one attempt the base is ahead, {base} against {post}"
    )


def _answer_many(studies) -> str:
    unit = "benchmarks" if one_pair(studies) else "comparisons"
    several = [study for study in studies if study.tax.K > 1]
    at_one = f"accuracy at one attempt {_counted([s.tax.gap.at(1) for s in studies], unit)}"
    if not several:
        return f"With one attempt a task, coverage cannot be seen; {at_one}."
    budgets = {study.tax.K for study in several}
    at = f"at {budgets.pop()} attempts" if len(budgets) == 1 else "at the most attempts of each"
    left = len(studies) - len(several)
    single = f" (not seen on {left} more, with one attempt a task)" if left else ""
    counts = _counted([s.tax.gap.at(s.tax.K) for s in several], unit)
    return f"Coverage {at} {counts}{single}; {at_one}."


def one_pair(studies: Sequence[claims.Study]) -> bool:
    """Whether all comparisons are of one pair, so that the benchmark alone names each."""
    return len({study.comparison.pair for study in studies}) == 1


def _counted(gaps, unit) -> str:
    """As in: fell on 12 of 30 benchmarks, rose on 3 and is undecided on 15."""
    texts = {
        CERTAIN: "{} on",
        NO_INTERVAL: "{}, without an interval, on",
        SAME: "is the same on",
        BY_CHANCE: "is undecided on",
    }
    numbers = Counter(texts[certainty(gap)].format(_verb(gap)) for gap in gaps)
    order = [text.format(verb) for text in texts.values() for verb in ("fell", "rose")]
    parts = [(text, numbers[text]) for text in dict.fromkeys(order) if numbers[text]]
    (first, n), *rest = parts
    total = f"all {n} {unit}" if n == len(gaps) else f"{n} of {len(gaps)} {unit}"
    phrases = [f"{first} {total}", *(f"{name} {count}" for name, count in rest)]
    return phrases[0] if not rest else f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def _levels(tax, k) -> list[str]:
    """Coverage of the base and of the post-trained arm at k, as percentages."""
    return percents(tax.coverage_base.at(k).value, tax.coverage_post.at(k).value)


def _verb(gap) -> str:
    return "fell" if gap.value > 0 else "rose"
