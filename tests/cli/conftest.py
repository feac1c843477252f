"""The rollouts and models that tests of the advantage use serve the command score too."""

from tests.advantage.conftest import (  # noqa: F401
    opened,
    policy,
    reference,
    rollouts,
    tokenizer,
    whole,
)
