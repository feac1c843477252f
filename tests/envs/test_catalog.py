"""Environments are opened by their names, with a number of tasks that a machine can hold."""

import pytest

from lib.envs import open_environment


@pytest.mark.parametrize("count", [0, 99_999_999_999])
def test_a_count_beyond_reason_is_refused(count):
    with pytest.raises(ValueError, match=f"`count` is {count}: expected 1 to 1000000 tasks"):
        open_environment("sokoban", count=count)
