"""Rows of one context read one sequence, and every row finds what it has read."""

import numpy as np
import pytest

from lib.generation.seats import Seats


class Held:
    """Slots that hold lists of tokens, beside what each row ought to find."""

    def __init__(self, rows):
        self.seats = Seats(rows)
        self.slots = [[] for _ in range(rows)]
        self.meant = [[] for _ in range(rows)]

    def copy(self, sources, targets):
        for target, held in zip(targets, [list(self.slots[s]) for s in sources], strict=True):
            self.slots[target] = held

    def begin(self, rows, contexts):
        seen = {}
        first = [seen.setdefault(tuple(context), i) for i, context in enumerate(contexts)]
        self.copy(*self.seats.sit(np.array(rows), np.array(first)))
        self.slots[self.seats.sequences : len(rows)] = ["lost"] * (len(rows) - self.seats.sequences)
        for row, slot, context in zip(rows, self.seats.seat, contexts, strict=True):
            self.slots[slot], self.meant[row] = list(context), list(context)
        self.check()

    def step(self, tokens):
        self.copy(*self.seats.part(np.array(tokens)))
        for slot in range(self.seats.sequences):
            (token,) = {t for t, s in zip(tokens, self.seats.seat, strict=True) if s == slot}
            self.slots[slot].append(token)
        for row, token in zip(self.seats.rows, tokens, strict=True):
            self.meant[row].append(token)
        self.check()

    def keep(self, alive):
        self.copy(*self.seats.rise(np.array(alive)))
        self.check()

    def check(self):
        active = self.seats.rows.tolist()
        for row, slot in zip(active, self.seats.seat, strict=True):
            assert self.slots[slot] == self.meant[row]
        assert set(self.seats.seat) == set(range(self.seats.sequences))
        assert set(self.seats.row_at[: len(active)]) == set(active)
        for slot in range(len(active), len(self.slots)):
            assert self.slots[slot] == self.meant[self.seats.row_at[slot]]
        assert self.seats.row_at[self.seats.slot_of].tolist() == list(range(len(self.slots)))


def test_rows_of_one_context_read_one_sequence_until_their_tokens_differ():
    held = Held(4)
    held.begin([0, 1, 2, 3], [[7], [7], [7], [8]])
    assert held.seats.sequences == 2
    held.step([1, 1, 2, 1])
    assert held.seats.sequences == 3
    held.step([1, 5, 1, 1])
    assert held.seats.sequences == 4


def test_a_row_that_ends_leaves_its_sequence_to_those_that_go_on():
    held = Held(3)
    held.begin([0, 1, 2], [[7], [7], [7]])
    held.keep([False, True, True])
    held.step([1, 1])
    assert (held.seats.sequences, held.meant) == (1, [[7], [7, 1], [7, 1]])


@pytest.mark.parametrize("seed", range(30))
def test_whatever_rows_do_each_finds_what_it_has_read(seed):
    random = np.random.default_rng(seed)
    held = Held(9)
    for _ in range(6):
        rows = random.permutation(9)[: random.integers(1, 10)].tolist()
        held.begin(rows, [held.meant[row] + [int(random.integers(2))] for row in rows])
        while len(held.seats.rows):
            if random.random() < 0.5:
                held.keep(random.random(len(held.seats.rows)) < 0.7)
            else:
                held.step(random.integers(0, 2, len(held.seats.rows)).tolist())
