"""Rows of one context read one sequence, and every row finds what it has read."""

import numpy as np
import pytest

from lib.generation.slots import SlotAllocator


class Held:
    """Slots that hold lists of tokens, beside what each row ought to find."""

    def __init__(self, rows):
        self.allocator, self.contents = SlotAllocator(rows), []
        self.meant = [[] for _ in range(rows)]

    def copy(self, sources, targets):
        self.contents += [[] for _ in range(self.allocator.count - len(self.contents))]
        for target, held in zip(targets, [list(self.contents[s]) for s in sources], strict=True):
            self.contents[target] = held

    def begin(self, rows, contexts):
        self.contents[self.allocator.held :] = []
        before = [self.contents[s] if s >= 0 else [] for s in self.allocator.slot_of[rows]]
        first = [contexts.index(context) for context in contexts]
        self.copy(*self.allocator.begin(np.array(rows), np.array(first)))
        for i, slot in zip(first, self.allocator.read, strict=True):
            assert self.contents[slot] == before[i]
        for row, slot, context in zip(rows, self.allocator.read.tolist(), contexts, strict=True):
            self.contents[slot], self.meant[row] = list(context), list(context)
        self.check()

    def step(self, tokens):
        self.copy(*self.allocator.split(np.array(tokens)))
        for slot in range(self.allocator.sequences):
            (token,) = {t for t, s in zip(tokens, self.allocator.read, strict=True) if s == slot}
            self.contents[slot].append(token)
        for row, token in zip(self.allocator.rows, tokens, strict=True):
            self.meant[row].append(token)
        self.check()

    def keep(self, alive):
        self.copy(*self.allocator.keep(np.array(alive)))
        self.check()

    def check(self):
        for row, slot in zip(self.allocator.rows, self.allocator.read, strict=True):
            assert self.contents[slot] == self.meant[row]
        assert set(self.allocator.read) == set(range(self.allocator.sequences))
        assert set(self.allocator.slot_of) - {-1} == set(range(self.allocator.held))


def test_rows_of_one_context_read_one_sequence_until_their_tokens_differ():
    held = Held(4)
    held.begin([0, 1, 2, 3], [[7], [7], [7], [8]])
    assert held.allocator.sequences == 2
    held.step([1, 1, 2, 1])
    assert held.allocator.sequences == 3
    held.step([1, 5, 1, 1])
    assert held.allocator.sequences == 4


def test_rows_that_rest_with_one_context_hold_one_slot():
    held = Held(3)
    held.begin([0, 1, 2], [[7], [7], [7]])
    held.keep([False, True, True])
    held.step([1, 1])
    held.keep([False, False])
    assert (held.allocator.held, held.contents[0]) == (1, [7, 1])
    assert held.meant == [[7], [7, 1], [7, 1]]


def test_a_row_that_comes_back_finds_what_it_has_read_though_others_went_on():
    held = Held(2)
    held.begin([0, 1], [[7], [7]])
    held.keep([False, True])
    held.step([1])
    held.begin([0, 1], [[7, 2], [7, 1, 2]])
    assert held.allocator.sequences == 2


@pytest.mark.parametrize("seed", range(30))
def test_whatever_rows_do_each_reads_what_is_its_own(seed):
    random = np.random.default_rng(seed)
    held = Held(9)
    for _ in range(6):
        rows = random.permutation(9)[: random.integers(1, 10)].tolist()
        held.begin(rows, [held.meant[row] + [int(random.integers(2))] for row in rows])
        while len(held.allocator.rows):
            if random.random() < 0.5:
                held.keep(random.random(len(held.allocator.rows)) < 0.7)
            else:
                held.step(random.integers(0, 2, len(held.allocator.rows)).tolist())


def test_a_slot_that_a_row_at_rest_has_is_not_taken_over():
    held = Held(2)
    held.begin([0, 1], [[7], [7]])
    held.begin([0], [[7, 1]])
    held.begin([1], [[7, 2]])
    held.begin([0], [[7, 1, 3]])
    assert held.allocator.held == 2
    assert held.contents[held.allocator.slot_of[1]] == [7, 2]
