"""Chat templates that loop, fail or write without end."""

import threading
import time

import pytest

from lib.rollouts.policies.protocol import PolicyError, PromptRefused
from lib.rollouts.prompts import ChatTemplate, rendering
from tests.tiny import with_template

ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
GROWING = "{% for a in range(99999) %}{{ a|string * 9999 }}{% endfor %}"
BOMBS = {
    "time": (ENDLESS, "it takes more than 2 s"),
    "pieces": ("{% for a in range(99999) %}{{ 'x' * 99999 }}{% endfor %}", "1 GiB of memory"),
    "block": (
        "{% set b %}{% for a in range(99999) %}{{ 'x' * 99999 }}{% endfor %}{% endset %}",
        "1 GiB of memory",
    ),
    "product": ("{{ 'x' * 99999 * 99999 }}", "1 GiB of memory"),
    "text": ("{{ 'x' * 20000000 }}", "it writes more than 16,777,216 characters"),
}
CASES = {
    "endless": (ENDLESS, "took more than 0.2 s"),
    "recursive": ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "RecursionError"),
    "long": ("{{ 'x' * 2000 }}", "wrote 2,000 characters, more than 1,000"),
    "no such name": ("{{ a.b.c }}", "UndefinedError"),
    "a type": ("{{ 1 + 'a' }}", "TypeError"),
    "division": ("{{ 1 // 0 }}", "ZeroDivisionError"),
    "a syntax": ("{% if %}", "TemplateSyntaxError"),
    "the system": ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "SecurityError"),
}


def render(template):
    return rendering.render(with_template(template), [{"role": "user", "content": "?"}])


@pytest.mark.parametrize("case", CASES)
def test_a_template_that_fails_says_why(monkeypatch, case):
    monkeypatch.setattr(rendering, "MAX_SECONDS", 0.2)
    monkeypatch.setattr(rendering, "MAX_CHARACTERS", 1000)
    template, reason = CASES[case]
    render("warm")
    before, start = threading.active_count(), time.monotonic()
    with pytest.raises(PromptRefused, match=reason):
        render(template)
    assert time.monotonic() - start < 5
    while threading.active_count() > before:  # it is stopped, not left to run
        assert time.monotonic() - start < 5
        time.sleep(0.01)


def test_a_template_that_fills_the_memory_is_stopped(monkeypatch):
    monkeypatch.setattr(rendering, "MAX_GROWTH", 2**27)
    with pytest.raises(PromptRefused, match=r"took more than 0.125 GiB of memory"):
        render(GROWING)


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_template_is_tried_out_before_it_is_used(bomb):
    template, reason = BOMBS[bomb]
    with pytest.raises(PolicyError, match=f"template cannot be used: .*{reason}.*harness"):
        ChatTemplate(with_template(template))
