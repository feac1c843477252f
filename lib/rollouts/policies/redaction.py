"""Keep a server's key out of all that is written or shown, even where the server repeats it."""

import base64
import html
import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "[key]"

_LONG = 8
"""A shorter secret is an everyday word to a model: it is replaced in messages of errors alone."""


class Redactor:
    """Replaces secrets, as they are and as they are usually encoded, by `MASK`.

    secrets: such as the key of a server.

    >>> redact = Redactor(["sk-a/b+c-0123"])
    >>> redact("no such key: Bearer sk-a/b+c-0123, sk-a%2Fb%2Bc-0123")
    'no such key: Bearer [key], [key]'
    >>> redact.value({"content": ["sk-a/b+c-0123", 1]})
    {'content': ['[key]', 1]}
    """

    def __init__(self, secrets: Iterable[str]):
        secrets = list(filter(None, secrets))
        self._long = _pattern(secret for secret in secrets if len(secret) >= _LONG)
        self._words = _pattern(secrets, word=True)

    def __call__(self, text: str) -> str:
        """A message of an error without the secrets."""
        return self._words.sub(MASK, self._long.sub(MASK, text))

    def value(self, item: Any) -> Any:
        """A JSON value of an answer without the long secrets, in names of members too."""
        if isinstance(item, str):
            return self._long.sub(MASK, item)
        if isinstance(item, list):
            return [self.value(part) for part in item]
        if isinstance(item, dict):
            return {self.value(name): self.value(part) for name, part in item.items()}
        return item


def _pattern(secrets: Iterable[str], *, word: bool = False) -> re.Pattern[str]:
    forms = {form for secret in secrets for form in _forms(secret)}
    names = "|".join(map(re.escape, sorted(forms, key=len, reverse=True))) or "(?!)"
    return re.compile(rf"(?<!\w)(?:{names})(?!\w)" if word else names)


def _forms(secret: str) -> Iterable[str]:
    yield from (secret, json.dumps(secret)[1:-1], html.escape(secret))
    for quoted in (quote, quote_plus):
        yield quoted(secret, safe="")
        yield re.sub("%..", lambda code: code[0].lower(), quoted(secret, safe=""))
    for text in (secret, f"Bearer {secret}", f":{secret}"):
        yield base64.b64encode(text.encode()).decode().rstrip("=")
        yield base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
