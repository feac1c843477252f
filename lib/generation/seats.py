"""Which sequence of the model each rollout reads: those with the same context read one."""

import numpy as np

READ, FREE, RESTING = range(3)
"""Uses of a slot, in the order in which they lie."""


class Seats:
    """Slots of sequences and the rows, one slot a row, that read them.

    The first ``sequences`` slots are read by the active rows, ``rows[i]`` reading slot ``seat[i]``:
    one sequence serves all rows with the same context, and its slot is owned by one of them. After
    these lie the slots of their other readers, free until they part, and then those of the rows at
    rest, each with a sequence of its own.

    Every change returns the copies to make, all at once: slots to copy from, slots to copy to.
    """

    def __init__(self, rows: int):
        self.row_at = np.arange(rows)
        self.slot_of = np.arange(rows)
        self.rows = self.seat = np.zeros(0, dtype=np.int64)
        self.sequences = 0

    def sit(self, rows: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Make these the active rows, ``rows[i]`` reading the sequence of ``rows[first[i]]``."""
        own = self.slot_of[rows]
        self.rows, self.seat = rows, own[first]
        return self._arrange(own, np.arange(len(self.row_at)))

    def part(self, tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give readers of one sequence that go on by different tokens, [n], one each."""
        own = self.slot_of[self.rows]
        pairs = self.seat * (int(tokens.max()) + 1) + tokens
        _, first, group = np.unique(pairs, return_index=True, return_inverse=True)
        stays = np.zeros(len(first), dtype=bool)
        stays[group[own == self.seat]] = True  # the group of the slot's owner
        leaves = first[~stays]
        source = np.arange(len(self.row_at))
        source[own[leaves]] = self.seat[leaves]
        self.seat = np.where(stays, self.seat[first], own[first])[group]
        return self._arrange(own, source)

    def rise(self, alive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Go on with the active rows where ``alive``, bool [n]; the others rest from now on."""
        own = self.slot_of[self.rows]
        # A sequence whose owner rests goes to another of its readers, which gives its own slot.
        owners_first = np.flatnonzero(alive)
        owners_first = owners_first[(own != self.seat)[owners_first].argsort(kind="stable")]
        seats, heirs = np.unique(self.seat[owners_first], return_index=True)
        given = own[owners_first[heirs]]
        self.row_at[given], self.row_at[seats] = self.row_at[seats], self.row_at[given]
        self.slot_of[self.row_at] = np.arange(len(self.row_at))

        own = self.slot_of[self.rows]
        source = np.arange(len(self.row_at))
        source[own[~alive]] = self.seat[~alive]
        self.rows, self.seat = self.rows[alive], self.seat[alive]
        return self._arrange(own[alive], source)

    def _arrange(self, own, source) -> tuple[np.ndarray, np.ndarray]:
        """Sort the slots by use; of those whose use is in its place, none is moved.

        own: slots of the active rows.  source: where what belongs into each slot lies now.
        """
        every = np.arange(len(source))
        use = np.full(len(source), RESTING)
        use[own] = FREE
        use[self.seat] = READ
        wanted = np.sort(use)
        wrong = np.flatnonzero(use != wanted)
        place = every.copy()  # of slot s, the slot whose owner comes to s
        place[wrong] = wrong[use[wrong].argsort(kind="stable")]
        self.row_at = self.row_at[place]
        self.slot_of[self.row_at] = every
        to = np.empty_like(place)
        to[place] = every
        self.seat = to[self.seat]
        self.sequences = int((use == READ).sum())
        source = source[place]
        moved = np.flatnonzero((source != every) & (wanted != FREE))
        return source[moved], moved
