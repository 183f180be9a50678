"""Lines: the accepted sizes along one line through accepted sizes."""

from __future__ import annotations

from collections.abc import Callable

from irexec.tools.shapes.conditions import Accepted, Span

# The number of sizes above the base that are always tried, and the number of sizes among which a period is sought.
_FIRST, _WINDOW = 10, 72
# Distances to the next accepted size that are tried if the window contains none: strides and windows of large networks.
_FAR_STEPS = (80, 84, 96, 98, 112, 128, 160, 192, 196, 224, 256, 320, 384, 392, 448, 512, 768, 1024)
# All sizes up to this size are tried, as small sizes broadcast or are too small for a kernel.
_SMALL = 18
# The number of accepted sizes after the base at which a period may begin.
_IRREGULAR = 16
# Spans of no more periods than this are written as single sizes.
_FEW = 3
# The largest size that is tried. Larger sizes are taken to be accepted if this one is.
LARGEST = 1 << 17


class Line:
    """Describes the sizes that a predicate accepts. `low` and `high` are the declared bounds."""

    def __init__(self, accepts: Callable[[int], bool], base: int, low: int, high: int | None) -> None:
        self._known: dict[int, bool] = {base: True}
        self._ask = accepts
        self._base, self._low, self._high = base, low, high

    def _accepts(self, size: int) -> bool:
        if size < self._low or (self._high is not None and size > self._high):
            return False
        found = self._known.get(size)
        if found is None:
            found = self._known[size] = self._ask(size)
        return found

    def describe(self) -> Accepted:
        """Return the accepted sizes: a span with a period, and single sizes outside it."""
        last = self._try_upwards()
        span = self._span(last)
        below = range(self._low, min(_SMALL, self._base) + 1)
        accepted = [size for size in below if self._accepts(size)]
        if span is None:
            return Accepted(None, tuple(sorted({*accepted, *(s for s, yes in self._known.items() if yes)})))
        span = Span(self._lowest(span), self._high if span.high is None else span.high, span.modulus, span.residues)
        if span.modulus > 1:
            if span.high is not None and (span.high - span.low) // span.modulus < _FEW:
                return Accepted(None, tuple(sorted(size for size, yes in self._known.items() if yes)))
            span = self._simplest(span)
        singles = sorted(size for size, yes in self._known.items() if yes and not span.contains(size))
        return Accepted(span, tuple(singles))

    def _simplest(self, span: Span) -> Span:
        """Return the span with the lowest bound that its period allows: such a bound is not stated as a condition."""
        low = span.low
        while low - 1 >= max(self._low, 0) and (low - 1) % span.modulus not in span.residues:
            low -= 1
        return Span(low if low <= self._low else span.low, span.high, span.modulus, span.residues)

    def _try_upwards(self) -> int:
        """Try sizes above the base until a period is found; return the last size tried."""
        end = self._base + _FIRST
        first = [self._accepts(self._base + step) for step in range(1, _FIRST + 1)]
        if all(first):
            return end
        end = self._base + _WINDOW
        for size in range(self._base + _FIRST + 1, end + 1):
            self._accepts(size)
        if not any(self._accepts(size) for size in range(self._base + 1, end + 1)):
            for step in _FAR_STEPS:
                if self._accepts(self._base + step):
                    return self._base + step
        return end

    def _span(self, last: int) -> Span | None:
        base = self._base
        accepted = [size for size in range(base, last + 1) if self._known.get(size)]
        if len(accepted) == 1:
            return self._span_below()
        if accepted[-1] - base > _WINDOW:
            start, modulus = base, accepted[-1] - base
            residues: tuple[int, ...] = (base % modulus,)
        else:
            found = self._repeated(accepted)
            if found is None:
                return None
            start, modulus, residues = found
        is_bounded = last - accepted[-1] > modulus and (self._high is None or accepted[-1] + modulus <= self._high)
        return Span(start, accepted[-1] if is_bounded else self.top(accepted[-1], modulus), modulus, residues)

    def _repeated(self, accepted: list[int]) -> tuple[int, int, tuple[int, ...]] | None:
        """Return the start of a period, the period, and its residues. Small sizes before it may be irregular."""
        first: tuple[int, int, tuple[int, ...]] | None = None
        for start in accepted[:_IRREGULAR]:
            length = accepted[-1] + 1 - start
            found = _period([bool(self._known.get(start + offset)) for offset in range(length)])
            if found is None:
                continue
            modulus, offsets = found
            made = start, modulus, tuple(sorted({(start + offset) % modulus for offset in offsets}))
            if length >= 2 * modulus and start - self._base <= _WINDOW // 2:
                return made
            first = first or made
        return first

    def _span_below(self) -> Span | None:
        """Return the span whose highest size is the base; None if it contains only the base."""
        below = [size for size in range(max(self._low, self._base - _WINDOW), self._base + 1) if self._accepts(size)]
        pattern = [self._known[size] for size in range(below[0], self._base + 1)]
        found = _period(pattern)
        if len(below) < 3 or found is None or found[0] * 2 > len(pattern):
            return None
        modulus, offsets = found
        return Span(below[0], self._base, modulus, tuple(sorted({(below[0] + each) % modulus for each in offsets})))

    def top(self, start: int, modulus: int) -> int | None:
        """Return the highest accepted size of a period; None if the largest size that is tried is also accepted."""
        good, step = start, modulus
        while good + step <= LARGEST and (self._high is None or good + step <= self._high):
            if not self._accepts(good + step):
                break
            good, step = good + step, step * 4
        else:
            return None if self._high is None or good + modulus > self._high else self._bisected(good, modulus, step)
        return self._bisected(good, modulus, step)

    def _bisected(self, good: int, modulus: int, step: int) -> int | None:
        low, high = 0, step // modulus
        if self._high is not None:
            high = min(high, (self._high - good) // modulus + 1)
        while high - low > 1:
            middle = (low + high) // 2
            if self._accepts(good + middle * modulus):
                low = middle
            else:
                high = middle
        highest = good + low * modulus
        if self._high is not None and highest + modulus > self._high:
            return None
        # Sizes with other residues may be accepted up to one period further.
        return max(size for size in range(highest, highest + modulus) if size == highest or self._accepts(size))

    def _lowest(self, span: Span) -> int:
        """Return the size above which all sizes of the period are accepted."""
        lowest = span.low
        size = span.low - 1
        tried = 0
        while size >= self._low:
            if size % span.modulus in span.residues if span.modulus > 1 else True:
                # Above the small sizes, a range between two accepted sizes is assumed to be accepted.
                tried += 1
                if not self._accepts(size):
                    break
                lowest = size
                if tried > _WINDOW and size > 4 * _SMALL:
                    step = (size - 2 * _SMALL) // span.modulus * span.modulus
                    if self._accepts(size - step):
                        size -= step
                        lowest = size
            size -= 1
        return lowest


def _period(pattern: list[bool]) -> tuple[int, list[int]] | None:
    """Return the smallest period of a pattern that begins and ends with an accepted size, with its accepted offsets."""
    for modulus in range(1, len(pattern)):
        if all(pattern[index] == pattern[index + modulus] for index in range(len(pattern) - modulus)):
            return modulus, [offset for offset in range(modulus) if pattern[offset]]
    return (1, [0]) if len(pattern) == 1 else None
