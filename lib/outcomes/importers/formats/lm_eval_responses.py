"""A document's responses in a row of lm-evaluation-harness, and which of them succeeded."""

import hashlib
import json
import math
from collections import Counter

from lib.outcomes.errors import OutcomesError, shown
from lib.outcomes.importers.records import NONE, get
from lib.outcomes.importers.reports import ImportReport
from lib.outcomes.importers.verdicts import verdict
from lib.outcomes.values import is_utf8
from lib.trajectories.schema import Message

_SHARES = ("exact_match", "pass@1", "pass_at_1")
"""Metrics that are the share of successes if a filter keeps a list of responses."""
_TARGETS = (str, int, float, bool, list, dict, NONE)


class Responses:
    """The responses of a document, from one row.

    doc: the document's number.  document: its hash, or None, and a hash of its target.
    texts: all responses.  kept: those that the filter kept, or the only one; `listed` tells which.
    """

    def __init__(self, row, place):
        self.row, self.place = row, place
        self.doc = get(row, "doc_id", (int,), place)
        target = get(row, "target", _TARGETS, place)
        self.target = target if type(target) is str else json.dumps(target)
        if not is_utf8(self.target):
            raise OutcomesError(
                f"{place}, 'target': expected text that UTF-8 can encode, got {shown(target)}. "
                "Fetch the file again, or correct the line."
            )
        hashed = row.get("doc_hash")
        self.document = hashed if type(hashed) is str else None, _short(self.target)
        resps = get(row, "resps", (list,), place)
        kept = get(row, "filtered_resps", (list,), place)
        torn = any(type(r) is not list or not r for r in resps)
        if torn or not resps or len(resps) != len(kept):
            raise OutcomesError(
                f"{place}: expected at least one list in 'resps', and as many entries in "
                f"'filtered_resps'; got {len(resps)} and {len(kept)}."
            )
        likelihood = type(resps[0][0]) is list  # [log-likelihood, whether greedy]
        texts = [*resps[0], *(kept[0] if type(kept[0]) is list else kept)]
        if not likelihood and not set(map(type, texts)) <= {str}:
            raise OutcomesError(f"{place}: expected text in 'resps' and 'filtered_resps'.")
        self.single = len(resps) == 1 and not likelihood  # otherwise a request for each choice
        self.texts = resps[0] if self.single else [""]
        self.kept = kept[0]
        self.listed = self.single and type(self.kept) is list
        self.prompt, self.settings = _request(row.get("arguments"))
        if not isinstance(self.settings, dict):
            self.settings = None

    def messages(self, number):
        """The prompt and the response of this number, as a chat."""
        text = self.texts[number]
        prompt = [Message("user", self.prompt)] if isinstance(self.prompt, str) else []
        return [*prompt, Message("assistant", text if isinstance(text, str) else str(text))]


def _short(text) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _request(arguments):
    """The first prompt and its decoding settings; logs before 0.4.3 hold lists."""
    if isinstance(arguments, dict) and isinstance(arguments.get("gen_args_0"), dict):
        first = arguments["gen_args_0"]
        return first.get("arg_0"), first.get("arg_1")
    if isinstance(arguments, list) and arguments and isinstance(arguments[0], list):
        return (*arguments[0], None, None)[:2]
    return None, None


def verdicts(
    value, responses: Responses, metric: str, where: str, report: ImportReport
) -> list[bool] | int:
    """The verdict on each scored response, or, if a row does not say which, how many succeeded."""
    if not responses.listed or len(responses.kept) == 1:
        return [verdict(value, where, report)]
    c = _successes(value, len(responses.kept), metric, responses, where, report)
    passed = [text == responses.target for text in responses.kept]
    # The tool may have normalised texts before it compared them, so equality alone proves nothing.
    return passed if sum(passed) == c else c


def _successes(value, n, metric, responses, where, report) -> int:
    """How many of n responses succeeded, by a metric that is their share."""
    if metric not in _SHARES:
        raise OutcomesError(
            f"{where}: one number for {n} responses does not say which succeeded. Expected "
            f"{', '.join(_SHARES)}, or a filter that keeps one response."
        )
    if type(value) is bool:
        raise OutcomesError(
            f"{where}: one {str(value).lower()} for {n} responses does not say whether one of them "
            f"was scored or all. Expected the share that succeeded, such as {1 / n:g}, or a filter "
            "that keeps one response."
        )
    if report.threshold is not None:
        raise OutcomesError(
            f"{where}: a threshold does not apply to the share of {n} responses that succeeded. "
            "Leave the threshold out."
        )
    if metric == "exact_match" and responses.target.startswith("["):
        raise OutcomesError(
            f"{where}: with several targets, the tool writes 1 if any of the {n} responses is "
            "right, so the number of successes is unknown. Choose a filter that keeps one response."
        )
    c = round(value * n) if math.isfinite(value) else -1
    if not 0 <= c <= n or abs(value * n - c) > 1e-6:
        raise OutcomesError(f"{where}: expected a share of {n} responses, got {value}.")
    equal = responses.kept.count(responses.target)
    if metric == "exact_match" and c != equal and c not in _possible(responses):
        raise OutcomesError(
            f"{where}: by the score, {c} of {n} responses are right, but in 'filtered_resps' "
            f"{equal} equal the target, and equal responses are right or wrong together. Expected "
            "both to agree. If the row was altered, fetch the file again."
        )
    return c


def _possible(responses) -> set[int]:
    """The possible numbers of right responses: equal texts share a verdict, the target is right."""
    groups = Counter(responses.kept)
    sums = {groups.pop(responses.target, 0)}
    for size in groups.values():
        sums |= {total + size for total in sums}
    return sums
