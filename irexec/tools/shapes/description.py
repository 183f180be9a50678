"""The description of one case: the sizes that inference accepts around one accepted combination."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from random import Random

from irexec.tools.shapes.broadcasting import broadcast_units, with_ones
from irexec.tools.shapes.case import Case, Exchanged, Reason
from irexec.tools.shapes.conditions import Accepted, Compare, Condition, Span
from irexec.tools.shapes.expressions import Combined, Expression, Linear, size_of
from irexec.tools.shapes.joint import joint_condition
from irexec.tools.shapes.lines import Line
from irexec.tools.shapes.probe import Prober, Sizes
from irexec.tools.shapes.relations import Direction, directions

# Random combinations that a description is tested with.
_VERIFIED = 40
_BROADCASTS = 16
_MOST_PAIRS = 150
# The numbers by which one size is divided and another is multiplied, and the proportions of these sizes that are tried.
_RATIOS = (2, 3, 5, 7, 11, 13)
_PROPORTIONS = ((1, 1), (2, 1), (4, 1), (3, 1), (1, 2), (1, 4), (1, 3), (3, 2), (2, 3))


class Description:
    """Builds the description of one case, starting from its base."""

    def __init__(self, prober: Prober, base: Sizes) -> None:
        self._prober = prober
        self._case = Case(base)
        self._chance = Random(1)

    def case(self) -> Case:
        """Return the case with all conditions that hold around its base."""
        found = directions(self._prober, self._case.base)
        self._along(found)
        self._alone()
        self._choosing_broadcast(found)
        self._growing()
        self._exchanging()
        self._jointly()
        return self._case

    def _along(self, found: Sequence[Direction]) -> None:
        case, prober = self._case, self._prober
        base = case.base
        for direction in found:
            lead = direction.lead
            bounds = prober.dims[lead]
            accepted = Line(
                lambda size, direction=direction: self._accepts(direction.moved(base, size)),  # type: ignore[misc]
                base[lead],
                bounds.low,
                bounds.high,
            ).describe()
            case.choices[lead] = accepted
            self._explain(lead, accepted, lambda size, direction=direction: direction.moved(base, size))  # type: ignore[misc]
        for dim in range(len(base)):
            terms = [(direction.factors[dim], direction.lead) for direction in found if direction.factors[dim]]
            if not terms or dim in case.choices:
                continue
            rest = base[dim] - sum(factor * base[lead] for factor, lead in terms)
            case.following[dim] = Linear(tuple(terms), rest)
            self._explain_following(dim)

    def _alone(self) -> None:
        """Describe each remaining dimension by the sizes that are accepted while all other sizes are those of the
        base.
        """
        case = self._case
        for dim, own in enumerate(case.base):
            if dim in case.choices or dim in case.following:
                continue
            bounds = self._prober.dims[dim]

            def moved(size: int, dim: int = dim) -> Sizes:
                return tuple(size if number == dim else other for number, other in enumerate(case.base))

            accepted = Line(lambda size, moved=moved: self._accepts(moved(size)), own, bounds.low, bounds.high)  # type: ignore[misc]
            described = accepted.describe()
            # If several single sizes are accepted, each is a separate case, unless they are independent of the rest.
            case.choices[dim] = described if self._is_independent(dim, described) else Accepted(None, (own,))
            self._explain(dim, case.choices[dim], moved)

    def _is_independent(self, dim: int, accepted: Accepted) -> bool:
        """Return whether single sizes of a dimension can be combined with every other choice described so far."""
        if len(accepted.singles) < 2:
            return True
        case = self._case
        for _ in range(6):
            sizes = case.draw(self._chance)
            for size in accepted.singles if sizes is not None else ():
                moved = tuple(size if number == dim else other for number, other in enumerate(sizes or ()))
                if not self._accepts(moved):
                    return False
        return True

    def _choosing_broadcast(self, found: Sequence[Direction]) -> None:
        """Describe equal dimensions that may be 1 instead, because they broadcast."""
        case = self._case
        for direction in found:
            members = direction.members
            base = case.base
            if len(members) < 2 or any(direction.factors[dim] != 1 or base[dim] != base[members[0]] for dim in members):
                continue
            if base[members[0]] == 1 or any(
                len(case.following[dim].terms) > 1 for dim in members if dim in case.following
            ):
                continue
            units = broadcast_units(self._prober, base, members)
            alone = [unit for unit in units if self._accepts(with_ones(base, unit))]
            rest = [unit for unit in units if unit not in alone]
            if not alone or len(units) < 2:
                continue
            accepted, bounds = case.choices[direction.lead], self._prober.dims[direction.lead]
            is_any = all(not conditions for conditions in accepted.alternatives(direction.lead, bounds))
            if is_any and not rest and not self._exclusive(alone[:-1]):
                largest = Combined("max", tuple(size_of(unit[0]) for unit in units))
                if self._broadcast(units, units, largest, direction.lead, []):
                    continue
            # A unit that may be 1 only with certain sizes of other dimensions is not described as broadcasting.
            for some in (alone, *([other for other in alone if other is not unit] for unit in alone)):
                whole = [dim for unit in units if unit not in some for dim in unit]
                if some and whole:
                    exclusive = self._exclusive(some)
                    if self._broadcast([whole, *some], some, size_of(whole[0]), direction.lead, exclusive):
                        break

    def _exclusive(self, units: list[list[int]]) -> list[list[int]]:
        """Return the smallest selection of units that cannot be 1 together; an empty list if all units can."""
        base = self._case.base

        def fits(some: list[list[int]]) -> bool:
            return self._accepts(with_ones(base, [dim for unit in some for dim in unit]))

        if fits(units):
            return []
        for unit in list(units):
            fewer = [other for other in units if other is not unit]
            if not fits(fewer):
                units = fewer
        return units

    def _broadcast(
        self,
        units: list[list[int]],
        ones: list[list[int]],
        expression: Expression,
        lead: int,
        exclusive: list[list[int]],
    ) -> bool:
        """Describe each unit of equal dimensions in `ones` as 1 or `expression`, but not all units in `exclusive` as 1.
        The first dimension in `units` takes over the choices of `lead`. Returns True if random combinations confirm the
        description; otherwise it remains unchanged.
        """
        case = self._case
        before = case.choices.copy(), case.following.copy()
        accepted = case.choices.pop(lead)
        first = units[0][0]
        case.choices[first] = accepted
        for unit in units:
            for dim in unit:
                case.following.pop(dim, None)
            for dim in unit[1:]:
                case.following[dim] = size_of(unit[0])
        for dim, linear in case.following.items():
            if linear == before[1].get(dim):
                terms = tuple((factor, first if own == lead else own) for factor, own in linear.terms)
                case.following[dim] = Linear(terms, linear.constant, linear.divisor)
        if exclusive:
            together = Combined("max", tuple(size_of(unit[0]) for unit in exclusive))
            case.joint = (*case.joint, Compare(together, "==", expression))
        for unit in ones:
            case.broadcast[unit[0]] = expression
        for _ in range(_BROADCASTS):
            sizes = case.draw(self._chance)
            if sizes is not None and not self._accepts(sizes):
                case.choices, case.following = before
                case.joint = case.joint[:-1] if exclusive else case.joint
                for unit in ones:
                    del case.broadcast[unit[0]]
                return False
        return True

    def _growing(self) -> None:
        """Replace the upper bound of a size that grows in proportion to another size by a joint condition."""
        case = self._case
        leads = [lead for lead, accepted in case.choices.items() if accepted.span is not None and accepted.span.high]
        for lead, other in ((lead, other) for lead in leads for other in case.choices if other != lead):
            accepted, bounds, base = case.choices[lead], self._prober.dims[lead], case.base[other]
            span, steps = accepted.span, [base, 2 * base, 3 * base]
            if span is None or span.high is None or span.high == bounds.high:
                continue

            def fits(size: int, own: int, lead: int = lead, other: int = other) -> bool:
                return self._accepts(case.fill({lead: size, other: own}))

            if not all(case.choices[other].contains(own) for own in steps) or not fits(
                span.high + span.modulus, 2 * base
            ):
                continue
            lines = [Line(lambda size, own=own: fits(size, own), span.high, bounds.low, bounds.high) for own in steps]  # type: ignore[misc]
            tops = [line.top(span.high, span.modulus) for line in lines]
            first, second, third = (top or 0 for top in tops)
            if None in tops or second - first != third - second or (second - first) % base:
                continue
            rate = (second - first) // base
            bound = Linear(((rate, other),), first - rate * base)
            case.choices[lead] = Accepted(Span(span.low, bounds.high, span.modulus, span.residues), accepted.singles)
            case.joint = (*case.joint, Compare(size_of(lead), "<=", bound))
            self._lower(other, lead, bound)

    def _lower(self, dim: int, lead: int, bound: Linear) -> None:
        """Reduce the minimum of a dimension to the size that is accepted with a smaller size of `lead`."""
        accepted = self._case.choices[dim]
        span, lowest = accepted.span, self._prober.dims[dim].low
        for size in range(lowest, span.low) if span is not None else ():
            sizes = self._case.fill({dim: size, lead: bound.value(self._case.fill({dim: size}))})
            if span is not None and size % span.modulus in span.residues and self._accepts(sizes):
                whole = Span(size, span.high, span.modulus, span.residues)
                singles = tuple(single for single in accepted.singles if not whole.contains(single))
                self._case.choices[dim] = Accepted(whole, singles)
                return

    def _exchanging(self) -> None:
        """Widen the choices of two bounded sizes if one can be divided while the second is multiplied: a joint
        condition then describes both.
        """
        case = self._case
        leads = [lead for lead, accepted in case.choices.items() if _is_bounded(accepted, self._prober.dims[lead].high)]
        for position, first in enumerate(leads):
            for second in leads[position + 1 :]:
                ratio = next((ratio for ratio in _RATIOS if self._can_exchange(first, second, ratio)), None)
                if ratio is not None:
                    one, other = (_count(lead, case.choices[lead]) for lead in (first, second))
                    for lead in (first, second):
                        bounds = self._prober.dims[lead]
                        case.choices[lead] = Accepted(Span(bounds.low, bounds.high))
                    case.exchanged.append(Exchanged(first, second, one, other, ratio))

    def _can_exchange(self, first: int, second: int, ratio: int) -> bool:
        """Return whether combinations are accepted in which one size is divided and the second multiplied."""
        case, base = self._case, self._case.base
        counts = [_count(lead, case.choices[lead]) for lead in (first, second)]
        steps, others = (count.value(base) for count in counts)
        if steps % ratio:
            return False
        fewer, more = steps // ratio, others * ratio
        part, multiple = (n * count.divisor - count.constant for n, count in zip((fewer, more), counts, strict=True))
        alone = case.choices[first].contains(part) or case.choices[second].contains(multiple)
        return part > 0 and not alone and self._accepts(case.fill({first: part, second: multiple}))

    def _jointly(self) -> None:
        """Test the description with random combinations; if some are refused, search for joint conditions."""
        case, prober = self._case, self._prober
        leads = [dim for dim, accepted in case.choices.items() if not accepted.is_single and dim not in case.broadcast]
        if not leads:
            return
        tried: dict[Sizes, bool] = {case.base: True}
        for sizes in self._combinations(leads):
            if all(condition.holds(sizes) for condition in case.joint):
                tried[sizes] = self._accepts(sizes)
        if all(tried.values()):
            return

        def confirm(condition: Condition) -> bool:
            agreeing = 0
            for sizes in self._combinations(leads):
                if self._accepts(sizes) and not condition.holds(sizes):
                    return False
                agreeing += 1
            return agreeing > 0

        products = [Combined("*", (pair.count, pair.other_count)) for pair in case.exchanged]
        found = joint_condition(list(tried.items()), leads, confirm, products)
        refused = next(sizes for sizes, yes in tried.items() if not yes)
        if found is not None:
            case.joint = (*case.joint, *found)
            case.reasons += [
                Reason(max(condition.dims), first, refusal)
                for condition in found
                if (first := next((s for s, yes in tried.items() if not yes and not condition.holds(s)), None))
                and (refusal := prober.at(first).refusal) is not None
            ]
            tried = {sizes: self._accepts(sizes) for sizes in self._combinations(leads)}
            refused = next((s for s, yes in tried.items() if not yes and case.contains(s)), ())
        if refused and (refusal := prober.at(refused).refusal) is not None:
            case.unexplained.append(Reason(leads[0], refused, refusal))

    def _combinations(self, leads: Sequence[int]) -> Iterator[Sizes]:
        """Yield combinations of accepted sizes: small sizes of each pair of dimensions, and random combinations."""
        case = self._case
        pairs = list(combinations(leads, 2))
        for first, second in pairs[:: len(pairs) // _MOST_PAIRS + 1]:
            for one, other in product(case.choices[first].some(5), case.choices[second].some(5)):
                yield self._within(case.fill({first: one, second: other}))
        for pair in case.exchanged:
            one, other = case.base[pair.first], case.base[pair.second]
            own = ((pair.ratio, 1), (1, pair.ratio))
            for numerator, denominator in dict.fromkeys((*_PROPORTIONS, *own)):
                width, other_width = pair.count.divisor, pair.other_count.divisor
                for extra in {0, 1, width // 2, width - 1, width}:
                    for more in {0, other_width - 1, other_width}:
                        first = one * numerator // denominator + extra
                        second = other * denominator // numerator + more
                        yield case.fill({pair.first: first, pair.second: second})
        for _ in range(_VERIFIED):
            chosen = {dim: self._chance.choice(case.choices[dim].some(12)) for dim in leads}
            yield self._within(case.fill(chosen))

    def _within(self, sizes: Sizes) -> Sizes:
        return sizes if min(sizes) > 0 else self._case.base

    def _accepts(self, sizes: Sizes) -> bool:
        return min(sizes) >= 0 and self._prober.accepts(sizes)

    def _explain(self, dim: int, accepted: Accepted, moved: Callable[[int], Sizes]) -> None:
        """Add the refusals of the sizes nearest to the accepted sizes: above, between and below."""
        span, base = accepted.span, self._case.base[dim]
        bounds = self._prober.dims[dim]
        wrong = [base + 1, base - 1]
        if span is not None:
            wrong = [span.high + 1] if span.high is not None else []
            wrong += [] if span.modulus == 1 else [span.low + step for step in range(1, span.modulus)]
            wrong += [span.low - span.modulus] if span.low > span.modulus or not wrong else []
        for size in wrong:
            sizes = moved(size)
            if size >= max(bounds.low, 0) and min(sizes) >= 0 and bounds.allows(size) and not accepted.contains(size):
                found = self._add_reason(dim, sizes)
                if found and span is not None and span.modulus > 1 and size > span.low:
                    break

    def _explain_following(self, dim: int) -> None:
        base = self._case.base
        for step in (1, -1, 2, 16):
            sizes = tuple(own + step * (number == dim) for number, own in enumerate(base))
            if min(sizes) > 0 and self._add_reason(dim, sizes):
                return

    def _add_reason(self, dim: int, sizes: Sizes) -> bool:
        if not all(each.allows(size) for each, size in zip(self._prober.dims, sizes, strict=True)):
            return False
        if self._prober.position(sizes) is None:
            return False
        refusal = self._prober.at(sizes).refusal
        if refusal is not None:
            self._case.reasons.append(Reason(dim, sizes, refusal))
        return refusal is not None


def _is_bounded(accepted: Accepted, high: int | None) -> bool:
    """Return whether the model, not a declared bound, limits the accepted sizes."""
    return accepted.span is None or (accepted.span.high is not None and accepted.span.high != high)


def _count(dim: int, accepted: Accepted) -> Linear:
    """Return the expression that counts spans of the accepted length: it has one value at all accepted sizes."""
    span = accepted.span
    if span is None or span.high is None or span.modulus > 1:
        return size_of(dim)
    width = span.high - span.low + 1
    return Linear(((1, dim),), -span.low % width, width)
