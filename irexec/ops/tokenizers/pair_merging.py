"""Byte pair encoding: parts of a string are merged by pairs, in the order of a list of merges."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from irexec.ops.spec.operator import ConstraintError
from irexec.ops.tokenizers.trie import Trie


class Merging:
    """A vocabulary with its merges. Raises ConstraintError for a merge of entries that are not in the vocabulary."""

    def __init__(
        self,
        vocabulary: dict[bytes, int],
        merges: Sequence[tuple[bytes, bytes]],
        constraint: str,
        *,
        unknown: bytes,
        suffix: bytes,
        by_bytes: bool,
    ) -> None:
        self._unknown = vocabulary.get(unknown)
        self._suffix = suffix
        self._merged: dict[tuple[int, int], tuple[int, int]] = {}
        made = set()
        for rank, (left, right) in enumerate(merges):
            try:
                pair = vocabulary[left], vocabulary[right]
                self._merged[pair] = rank, vocabulary[left + right]
            except KeyError as error:
                message = f"the merge of {left!r} and {right!r} needs {error.args[0]!r}, which is not in the vocabulary"
                raise ConstraintError(constraint, message) from None
            made.add(left + right)
        single = {text: number for text, number in vocabulary.items() if text not in made}
        self._bytes = [single.get(b"<0x%02X>" % byte) if by_bytes else None for byte in range(256)]
        self._trie = Trie(single.items())

    def encode(self, text: bytes) -> list[int]:
        """Return the tokens of a string."""
        return self._merge(self._parts(text + self._suffix))

    def _parts(self, text: bytes) -> list[int]:
        found: list[int] = []
        at = 0
        while at < len(text):
            number: int | None
            number, end = self._trie.longest(text, at)
            if number < 0 or end == at:
                number = self._bytes[text[at]]
                number = self._unknown if number is None else number
                end = at + 1
            if number is not None:
                found.append(number)
            at = end
        return found

    def _merge(self, tokens: list[int]) -> list[int]:
        """Repeatedly merge the pair of the lowest rank (the first, if there are several); return the tokens."""
        merged = self._merged
        count = len(tokens)
        before = list(range(-1, count - 1))
        after = [*range(1, count), -1] if count else []
        alive = [True] * count
        waiting: list[tuple[int, int, int, int, int, int]] = []
        order = 0

        def push(left: int, right: int, since: int) -> None:
            nonlocal order
            found = merged.get((tokens[left], tokens[right]))
            if found is not None:
                heapq.heappush(waiting, (found[0], since, order, found[1], left, right))
                order += 1

        for left in range(count - 1):
            push(left, left + 1, left)
        since, head = max(0, count - 1), 0
        while waiting:
            _, _, _, number, left, right = heapq.heappop(waiting)
            if not (alive[left] and alive[right]):
                continue
            # The new token gets a new place, so that queued pairs of the merged tokens are recognized as outdated.
            new = len(tokens)
            tokens.append(number)
            before.append(before[left])
            after.append(after[right])
            alive += [True]
            alive[left] = alive[right] = False
            since += 1
            if before[new] >= 0:
                after[before[new]] = new
                push(before[new], new, since)
            else:
                head = new
            if after[new] >= 0:
                before[after[new]] = new
                push(new, after[new], since)
        result: list[int] = []
        at = head if count else -1
        while at >= 0:
            result.append(tokens[at])
            at = after[at]
        return result
