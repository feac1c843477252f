"""Which sequence of the model each rollout reads: those with the same context read one."""

import numpy as np

READ, RESTING, FREE = range(3)
"""Uses of a slot, in the order in which they lie."""

Copies = tuple[np.ndarray, np.ndarray]
"""Slots to copy from and slots to copy to, all at once."""
_NONE: Copies = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)


class SlotAllocator:
    """Slots of sequences, and the slot of each row; rows with the same context have the same one.

    The first ``sequences`` slots are read by the active ``rows``. Up to ``held`` come those that
    only rows at rest have. What a row has read is the beginning of what its slot holds: others may
    have gone on from there. From ``held`` on slots are free.
    """

    def __init__(self, rows: int):
        self.slot_of = np.full(rows, -1)
        self.rows = np.zeros(0, dtype=np.int64)
        self.count = self.held = self.sequences = 0

    @property
    def read(self) -> np.ndarray:
        """The slot of each active row, [n]."""
        return self.slot_of[self.rows]

    def begin(self, rows: np.ndarray, first: np.ndarray) -> Copies:
        """Make these the active rows, ``rows[i]`` with the context of ``rows[first[i]]``."""
        self.rows = rows
        first, group = np.unique(first, return_inverse=True)
        resting = np.delete(self.slot_of, rows)
        begun = self.read[first]
        return self._assign(begun, group, np.isin(begun, resting))

    def split(self, tokens: np.ndarray) -> Copies:
        """Give readers of one sequence that go on by different tokens, [n], one each."""
        said = np.empty(self.sequences, dtype=np.int64)
        said[self.read] = tokens
        if (said[self.read] == tokens).all():
            return _NONE
        pairs = self.read * (int(tokens.max()) + 1) + tokens
        _, first, group = np.unique(pairs, return_index=True, return_inverse=True)
        return self._assign(self.read[first], group, np.zeros(len(first), dtype=bool))

    def keep(self, alive: np.ndarray) -> Copies:
        """Go on with the active rows where ``alive``, bool [n]; the others rest from now on."""
        self.rows = self.rows[alive]
        return self._arrange(np.arange(self.count))

    def _assign(self, begun, group, taken) -> Copies:
        """Give each group of active rows a slot.

        begun: of each group, the slot that holds the beginning of what it reads, or -1: the first
        group that begins so has it, unless it is taken, the others a copy.
        group: of each active row.
        """
        stays = np.zeros(len(begun), dtype=bool)
        stays[np.unique(begun, return_index=True)[1]] = True
        stays &= (begun >= 0) & ~taken
        new = self.held + np.arange((~stays).sum())
        self.count = max(self.count, self.held + len(new))
        source = np.arange(self.count)
        source[new] = np.where(begun[~stays] >= 0, begun[~stays], new)
        slots = begun.copy()
        slots[~stays] = new
        self.slot_of[self.rows] = slots[group]
        return self._arrange(source)

    def _arrange(self, source) -> Copies:
        """Sort the slots by use; none is moved that lies among those of its use.

        source: of each slot, where what belongs into it lies now.
        """
        every, has_slot = np.arange(self.count), self.slot_of >= 0
        use = np.full(self.count, FREE)
        use[self.slot_of[has_slot]] = RESTING
        use[self.read] = READ
        wanted = np.sort(use)
        wrong = np.flatnonzero(use != wanted)
        place = every.copy()  # of slot s, the slot that comes to s
        place[wrong] = wrong[use[wrong].argsort(kind="stable")]
        to = np.empty_like(place)
        to[place] = every
        self.slot_of[has_slot] = to[self.slot_of[has_slot]]
        self.sequences, self.held = np.searchsorted(wanted, [RESTING, FREE]).tolist()
        source = source[place]
        moved = np.flatnonzero((source != every) & (wanted != FREE))
        return source[moved], moved
