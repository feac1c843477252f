"""What a row of lm-evaluation-harness tells of a document's responses, and which succeeded."""

import hashlib
import json
import math
from collections import Counter

from lib.outcomes import OutcomesError
from lib.outcomes.importers.records import NONE, get
from lib.outcomes.importers.reports import ImportReport
from lib.outcomes.importers.verdicts import verdict
from lib.outcomes.values import is_utf8, shown
from lib.trajectories.schema import Message

_SHARES = ("exact_match", "pass@1", "pass_at_1")
"""Metrics that, over a list of responses, are the share of those that succeeded."""
_TARGETS = (str, int, float, bool, list, dict, NONE)


class Responses:
    """What a row tells of its document's responses."""

    def __init__(self, row, place):
        self.row, self.place = row, place
        self.doc = get(row, "doc_id", (int,), place)
        target = get(row, "target", _TARGETS, place)
        self.target = target if type(target) is str else json.dumps(target)
        if not is_utf8(self.target):
            raise OutcomesError(
                f"{place}, 'target': got {shown(target)}, which UTF-8 cannot write; expected the "
                "text of the answer. Fetch the file again, or mend the line."
            )
        hashed = row.get("doc_hash")
        self.document = hashed if type(hashed) is str else None, _short(self.target)
        resps = get(row, "resps", (list,), place)
        kept = get(row, "filtered_resps", (list,), place)
        torn = any(type(r) is not list or not r for r in resps)
        if torn or not resps or len(resps) != len(kept):
            raise OutcomesError(
                f"{place}: expected as many lists in 'resps' as entries in 'filtered_resps', and "
                f"at least one; got {len(resps)} and {len(kept)}."
            )
        likelihood = type(resps[0][0]) is list  # [log-likelihood, whether greedy], not a text
        responses = [*resps[0], *(kept[0] if type(kept[0]) is list else kept)]
        if not likelihood and not set(map(type, responses)) <= {str}:
            raise OutcomesError(f"{place}: expected text in 'resps' and 'filtered_resps'.")
        self.single = len(resps) == 1 and not likelihood  # else a request for each choice
        self.texts = resps[0] if self.single else [""]
        self.kept = kept[0]
        self.listed = self.single and type(self.kept) is list
        self.prompt, self.settings = _request(row.get("arguments"))
        if not isinstance(self.settings, dict):
            self.settings = None

    def messages(self, number):
        """The prompt and one response, as a chat."""
        text = self.texts[number]
        made = [Message("user", self.prompt)] if isinstance(self.prompt, str) else []
        return [*made, Message("assistant", text if isinstance(text, str) else str(text))]


def _short(text) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _request(arguments):
    """The first prompt and its decoding settings, as of now, or as lists, as before 0.4.3."""
    if isinstance(arguments, dict) and isinstance(arguments.get("gen_args_0"), dict):
        first = arguments["gen_args_0"]
        return first.get("arg_0"), first.get("arg_1")
    if isinstance(arguments, list) and arguments and isinstance(arguments[0], list):
        return (*arguments[0], None, None)[:2]
    return None, None


def verdicts(
    value, read: Responses, metric: str, where: str, report: ImportReport
) -> list[bool] | int:
    """The verdict on each scored response, or how many succeeded where that is all that is told."""
    if not read.listed or len(read.kept) == 1:
        return [verdict(value, where, report)]
    c = _successes(value, len(read.kept), metric, read, where, report)
    passed = [text == read.target for text in read.kept]
    return passed if sum(passed) == c else c  # compared after changes that the log does not tell


def _successes(value, n, metric, read, where, report) -> int:
    """How many of n responses succeeded, of a metric that is their share."""
    if metric not in _SHARES:
        raise OutcomesError(
            f"{where}: one number for {n} responses; which succeeded cannot be told from it. "
            f"Expected {', '.join(_SHARES)}, or a filter that keeps one response."
        )
    if type(value) is bool:
        raise OutcomesError(
            f"{where}: one {str(value).lower()} for {n} responses: only one of them was scored, or "
            "all at once, and which cannot be told. Expected the share that succeeded, such as "
            f"{1 / n:g}, or a filter that keeps one response."
        )
    if report.threshold is not None:
        raise OutcomesError(
            f"{where}: a share of {n} responses, to which a threshold does not apply, since each "
            "was scored right or wrong. Leave the threshold out."
        )
    if metric == "exact_match" and read.target.startswith("["):
        raise OutcomesError(
            f"{where}: with several targets, the tool writes 1 where any of the {n} responses is "
            "right; how many are cannot be told."
        )
    c = round(value * n) if math.isfinite(value) else -1
    if not 0 <= c <= n or abs(value * n - c) > 1e-6:
        raise OutcomesError(f"{where}: {value} is no share of {n} responses.")
    if metric == "exact_match" and c != read.kept.count(read.target) and c not in _possible(read):
        raise OutcomesError(
            f"{where}: says that {c} of {n} responses are right, which 'filtered_resps' "
            f"contradicts: {read.kept.count(read.target)} are the target, and equal ones are right "
            "or wrong together. Is the row altered, or of two runs?"
        )
    return c


def _possible(read) -> set[int]:
    """How many of the kept responses can be right, as equal texts are, and the target always."""
    groups = Counter(read.kept)
    sums = {groups.pop(read.target, 0)}
    for size in groups.values():
        sums |= {total + size for total in sums}
    return sums
