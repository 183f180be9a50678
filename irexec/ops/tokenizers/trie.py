"""Search for the longest entry of a vocabulary at a position of a text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_NUMBER = -1
"""The key of the number of an entry, in the node where the entry ends; all other keys are bytes."""


class Trie:
    """Entries and their numbers; equal entries have the number of the last."""

    def __init__(self, entries: Iterable[tuple[bytes, int]]) -> None:
        self._root: dict[int, Any] = {}
        for entry, number in entries:
            node = self._root
            for byte in entry:
                node = node.setdefault(byte, {})
            node[_NUMBER] = number

    def longest(self, text: bytes, start: int) -> tuple[int, int]:
        """Return the number of the longest entry that begins at `start`, or -1, and the position after it."""
        node, number, end = self._root, -1, start
        for at in range(start, len(text)):
            following = node.get(text[at])
            if following is None:
                break
            node = following
            if _NUMBER in node:
                number, end = node[_NUMBER], at + 1
        return number, end

    def prefixes(self, text: bytes, start: int) -> Iterable[tuple[int, int]]:
        """Return the number of each entry that begins at `start`, and the position after it, shortest first."""
        node = self._root
        for at in range(start, len(text)):
            following = node.get(text[at])
            if following is None:
                return
            node = following
            if _NUMBER in node:
                yield node[_NUMBER], at + 1
