"""Slots of the KV cache: which cached sequence each rollout reads. Equal contexts share one."""

import numpy as np

READ, RESTING, FREE = range(3)
"""Uses of a slot, in the order of the slots."""

Copies = tuple[np.ndarray, np.ndarray]
"""Slots to copy from and slots to copy to, all at once."""
_NONE: Copies = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)


class SlotAllocator:
    """Assigns a slot to each row; rows with the same context have the same slot.

    The active ``rows`` read the first ``sequences`` slots. The slots from there to ``held`` belong
    to resting rows alone, and the slots from ``held`` to ``count`` are free. A slot begins with the
    context of each of its rows, and may continue with tokens that only some of them have read.

    Each method returns the copies between slots that the cache has to make.
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
        """Make these rows active, ``rows[i]`` with the same context as ``rows[first[i]]``."""
        self.rows = rows
        first, group = np.unique(first, return_inverse=True)
        resting = np.delete(self.slot_of, rows)
        begun = self.read[first]
        return self._assign(begun, group, np.isin(begun, resting))

    def split(self, tokens: np.ndarray) -> Copies:
        """Give rows that read one slot a slot each where their next tokens, [n], differ."""
        token_of = np.empty(self.sequences, dtype=np.int64)
        token_of[self.read] = tokens
        if (token_of[self.read] == tokens).all():
            return _NONE
        pairs = self.read * (int(tokens.max()) + 1) + tokens
        _, first, group = np.unique(pairs, return_index=True, return_inverse=True)
        return self._assign(self.read[first], group, np.zeros(len(first), dtype=bool))

    def keep(self, alive: np.ndarray) -> Copies:
        """Keep the rows where ``alive``, bool [n], active; the others rest."""
        self.rows = self.rows[alive]
        return self._arrange(np.arange(self.count))

    def _assign(self, begun, group, taken) -> Copies:
        """Give each group of active rows a slot.

        begun: for each group, the slot whose beginning it has read, or -1. The first group of a
        slot takes it over, unless it is taken; the others get a copy.
        group: of each active row.
        taken: for each group, whether a resting row has its slot.
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
        """Sort the slots by use, without moving a slot that is among those of its use already.

        source: for each slot, the slot that its contents are in now.
        """
        every, has_slot = np.arange(self.count), self.slot_of >= 0
        use = np.full(self.count, FREE)
        use[self.slot_of[has_slot]] = RESTING
        use[self.read] = READ
        wanted = np.sort(use)
        wrong = np.flatnonzero(use != wanted)
        place = every.copy()  # place[s]: the slot that moves to s
        place[wrong] = wrong[use[wrong].argsort(kind="stable")]
        to = np.empty_like(place)
        to[place] = every
        self.slot_of[has_slot] = to[self.slot_of[has_slot]]
        self.sequences, self.held = np.searchsorted(wanted, [RESTING, FREE]).tolist()
        source = source[place]
        moved = np.flatnonzero((source != every) & (wanted != FREE))
        return source[moved], moved
