"""The unigram model: a string is cut into the entries whose scores have the largest sum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irexec.core.types import Array
from irexec.ops.tokenizers.trie import Trie

_PENALTY = 10.0
# The length of a UTF-8 character, indexed by the upper four bits of its first byte.
_LENGTHS = (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4)


class BestPath:
    """A vocabulary with scores. Sums are computed in f32, because their rounding breaks ties."""

    def __init__(self, entries: Sequence[bytes], scores: Array, unknown: int) -> None:
        self._trie = Trie((entry, number) for number, entry in enumerate(entries) if entry)
        self._scores = list(scores.astype(np.float32))
        self._unknown = unknown
        self._lowest = np.float32(float(scores.min(initial=np.finfo(np.float32).max)) - _PENALTY)

    def encode(self, text: bytes) -> list[int]:
        """Return the tokens of a string."""
        size = len(text)
        best = [np.float32(0)] * (size + 1)
        begins = [-1] * (size + 1)
        tokens = [self._unknown] * (size + 1)

        def offer(end: int, begin: int, token: int, score: np.float32) -> None:
            if begins[end] == -1 or score > best[end]:
                best[end], begins[end], tokens[end] = score, begin, token

        start = 0
        while start < size:
            length = min(_LENGTHS[text[start] >> 4], size - start)
            single = False
            for token, end in self._trie.prefixes(text, start):
                offer(end, start, token, self._scores[token] + best[start])
                single = single or end - start == length
            if not single:
                offer(start + length, start, self._unknown, self._lowest + best[start])
            start += length
        found: list[int] = []
        at = size
        while at > 0:
            token = tokens[at]
            at = begins[at]
            if not (found and token == found[-1] == self._unknown):
                found.append(token)
        return found[::-1]
