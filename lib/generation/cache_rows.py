"""Rows of a KV cache of transformers, whatever its layers hold: copied, chosen and joined."""

import copy
from collections.abc import Sequence

import torch
from transformers import Cache
from transformers.cache_utils import CacheLayerMixin, LinearAttentionCacheLayerMixin

_PARTS = Cache, CacheLayerMixin, LinearAttentionCacheLayerMixin


def select(cache: Cache, rows: Sequence[int]) -> Cache:
    """A copy of these rows of a cache, in this order; a row may come several times.

    Every tensor with several axes has the rows on its first.
    """
    return _selected(cache, torch.tensor(rows))


def join(first: Cache, second: Cache) -> Cache | None:
    """A cache of the rows of two, which have read equally many tokens.

    None if what they hold besides the rows differs.
    """
    try:
        return _joined(first, second)
    except _UnlikeError:
        return None


class _UnlikeError(Exception):
    """Two caches hold something that differs and has no rows."""


def _selected(value, rows):
    if isinstance(value, _PARTS):
        twin = copy.copy(value)
        twin.__dict__ = _selected(value.__dict__, rows)
        return twin
    if isinstance(value, dict):
        return {name: _selected(held, rows) for name, held in value.items()}
    if isinstance(value, list):
        return [_selected(held, rows) for held in value]
    if isinstance(value, torch.Tensor) and value.ndim > 1:
        return value.index_select(0, rows.to(value.device))
    return value


def _joined(first, second):
    if type(first) is not type(second):
        raise _UnlikeError
    if isinstance(first, _PARTS):
        twin = copy.copy(first)
        twin.__dict__ = _joined(first.__dict__, second.__dict__)
        return twin
    if isinstance(first, dict) and first.keys() == second.keys():
        return {name: _joined(held, second[name]) for name, held in first.items()}
    if isinstance(first, list) and len(first) == len(second):
        return [_joined(*pair) for pair in zip(first, second, strict=True)]
    if isinstance(first, torch.Tensor):
        if first.ndim > 1 and first.shape[1:] == second.shape[1:]:
            return torch.cat([first, second])
        if first.shape == second.shape and torch.equal(first, second):
            return first
    elif first is second or first == second:
        return first
    raise _UnlikeError
