"""Guards: the comparisons that a trace recorded (its tape), as conditions on sizes in a readable normal form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import gcd

from irexec.core.types.traced import Operand, Tape
from irexec.tools.shapes.conditions import Guard, OneOf
from irexec.tools.shapes.formulas import (
    Divided,
    Extreme,
    Formula,
    Formulas,
    Size,
    TooLarge,
    add,
    extreme,
    multiply,
    number,
    size,
    without_common_factor,
)


def choices(found: Iterable[Guard]) -> list[OneOf]:
    """Return choices that may replace an equality in one trace and a size of 1 in another."""
    made: dict[OneOf, None] = {}
    partners: dict[int, set[int]] = {}
    for each in found:
        if each.operator != "==" or each.modulus > 1:
            continue
        for side, other in ((each.left, each.right), (each.right, each.left)):
            if isinstance(alone := side.only, Size) and other != number(1):
                if alone.dim not in other.dims:
                    made.setdefault(OneOf(side, (number(1), other)))
                if each.is_plain:
                    partners.setdefault(alone.dim, {alone.dim}).update(other.dims)
    joined: dict[tuple[int, ...], None] = {}
    for own, others in partners.items():
        whole = set(others)
        for partner in others:
            whole |= partners.get(partner, set())
        for group in (whole, *({own, partner} for partner in others if partner != own)):
            joined.setdefault(tuple(sorted(group)))
    for members in joined:
        largest = extreme("max", *map(size, members))
        for dim in members if len(members) > 1 else ():
            made.setdefault(OneOf(size(dim), (number(1), largest)))
    return list(made)


def guards(tape: Tape, groups: Sequence[int] | None = None) -> list[Guard]:
    """Return the conditions under which a tape holds, including conditions on pinned numbers. Conditions that always
    hold are omitted. `groups`: for each dimension the dimension whose size it has.
    """
    formulas = Formulas(tape, groups)
    found: dict[Guard, None] = {}
    for (operator, left, right), result in tape.guards.items():
        found.update(dict.fromkeys(_guard(formulas, operator, left, right, result)))
    for entry in tape.pinned:
        if (formula := formulas.of(entry)) is not None:
            for made in _normal(add(formula, number(tape.values[entry]), -1), "==", True):
                found.setdefault(made)
    return list(dict.fromkeys((*found, *multiplied_out(found))))


def equalities_of(tape: Tape) -> list[Guard]:
    """Return the conditions of a tape that two numbers are equal."""
    formulas = Formulas(tape)
    compared = [guard for guard, result in tape.guards.items() if guard[0] == "==" and result]
    return list(dict.fromkeys(made for guard in compared for made in _guard(formulas, *guard, True)))


def guard_of(tape: Tape, operator: str, left: Operand, right: Operand, result: bool) -> Iterator[Guard]:
    """Yield the condition under which a comparison of two entries has this result, if it is not too long."""
    return _guard(Formulas(tape), operator, left, right, result)


def _guard(formulas: Formulas, operator: str, left: Operand, right: Operand, result: bool) -> Iterator[Guard]:
    one, other = formulas.of(left), formulas.of(right)
    if one is not None and other is not None:
        try:
            yield from _normal(add(one, other, -1), operator, result)
        except TooLarge:
            return


def _normal(difference: Formula, operator: str, result: bool) -> Iterator[Guard]:
    """Yield `difference operator 0` in normal form."""
    if difference.is_constant:
        return
    if (decided := _without_extreme(difference, operator)) is not None:
        for each, how in decided:
            yield from _normal(each, how, result)
        return
    if operator == "==":
        difference = without_common_factor(difference)
        if not difference.is_constant:
            yield _equal(difference, result)
        return
    # difference < 0 is difference <= -1.
    bound, at_most = (-1 if operator == "<" else 0), result
    if not result:
        bound += 1
    bound -= difference.constant
    left = Formula(tuple((term, factor) for term, factor in difference.terms if term))
    if left.terms[0][1] < 0:
        left, bound, at_most = Formula(tuple((term, -factor) for term, factor in left.terms)), -bound, not at_most
    common = gcd(*(factor for _, factor in left.terms))
    left = Formula(tuple((term, factor // common) for term, factor in left.terms))
    bound = bound // common if at_most else -(-bound // common)
    while (inner := _quotient(left)) is not None:
        part, width = inner
        shift = part.constant
        part = add(part, number(shift), -1)
        bound = (bound * width + width - 1 if at_most else bound * width) - shift
        left = part
    if (residue := _residue(left, bound)) is not None:
        yield residue
        return
    yield _sided(left, "<=" if at_most else ">=", bound)


def _without_extreme(difference: Formula, operator: str) -> list[tuple[Formula, str]] | None:
    """Return the conditions that `difference operator 0` implies for the parts of its only min or max, if this min or
    max is compared with one of its parts, or with a number that determines which part it equals. The result is empty
    for conditions that always or never hold, and None for other differences.
    """
    found = [(term[0], factor) for term, factor in difference.terms if len(term) == 1 and isinstance(term[0], Extreme)]
    if len(found) != 1 or abs(found[0][1]) != 1:
        return None
    atom, sign = found[0]
    assert isinstance(atom, Extreme)
    alone = Formula((((atom,), sign),))
    # sign * (atom - against) operator 0
    against = add(alone, difference, -1)
    if sign < 0:
        against = Formula(tuple((term, -factor) for term, factor in against.terms))
    is_min = atom.operator == "min"
    for part in atom.parts:
        rest = extreme(atom.operator, *(each for each in atom.parts if each is not part))
        if against == part:
            # `down` is at most 0 where the min or max is this part.
            down = _scaled(add(part, rest, -1), 1 if is_min else -1)
            if operator == "==":
                return [(down, "<=")]
            # min - part is never above 0, and max - part is never below 0.
            is_below = (sign > 0) is is_min
            if operator == "<=":
                return [] if is_below else [(down, "<=")]
            return [(_scaled(down, -1), "<")] if is_below else []
        if rest.is_constant and against.is_constant:
            decides = against.constant < rest.constant if is_min else against.constant > rest.constant
            if decides:
                return [(_scaled(add(part, against, -1), sign), operator)]
    return None


def _equal(difference: Formula, result: bool) -> Guard:
    operator = "==" if result else "!="
    terms = difference.terms
    alone = terms[0][0][0] if len(terms) == 1 and len(terms[0][0]) == 1 else None
    if isinstance(alone, Divided) and alone.operator == "%" and alone.divisor.is_constant:
        return Guard(alone.part, operator, number(0), alone.divisor.constant)
    if (residue := _residue(difference, 0)) is not None:
        return Guard(residue.left, operator, residue.right, residue.modulus)
    bound = -difference.constant
    left = Formula(tuple((term, factor) for term, factor in terms if term))
    if left.terms[0][1] < 0:
        left, bound = Formula(tuple((term, -factor) for term, factor in left.terms)), -bound
    return _sided(left, operator, bound)


def _residue(difference: Formula, bound: int) -> Guard | None:
    """Return `p % k == r` for `k*(p // k) == p - r` and for `(p + k - 1) // k <= p // k`."""
    for term, factor in difference.terms:
        if len(term) != 1 or not isinstance(atom := term[0], Divided) or atom.operator != "//":
            continue
        if not atom.divisor.is_constant:
            continue
        width = atom.divisor.constant
        if abs(factor) == width:
            # k*(p // k) - p is minus the remainder.
            rest = add(difference, _scaled(Formula((((atom,), width),)), 1 if factor > 0 else -1), -1)
            rest = add(rest, _scaled(atom.part, 1 if factor > 0 else -1))
            if rest.is_constant:
                wanted = (rest.constant - bound) * (1 if factor > 0 else -1)
                if 0 <= wanted < width:
                    shift = atom.part.constant
                    return Guard(add(atom.part, number(shift), -1), "==", number((wanted - shift) % width), width)
        if factor == 1 and len(difference.terms) == 2 and bound == 0:
            other_term, other_factor = next(each for each in difference.terms if each[0] != term)
            other = other_term[0] if len(other_term) == 1 else None
            if other_factor == -1 and isinstance(other, Divided) and other.divisor == atom.divisor:
                gap = add(atom.part, other.part, -1)
                low = other if gap == number(width - 1) else atom if gap == number(1 - width) else None
                if low is not None:
                    return Guard(low.part, "==", number(0), width)
    return None


def multiplied_out(found: Iterable[Guard]) -> list[Guard]:
    """Return equalities without exact quotients: `p == q*r` for `p // q == r` where `p % q == 0`."""
    known = set(found)
    equal = [each for each in known if each.operator == "==" and each.modulus == 1]
    equal += [
        Guard(each.left, "==", each.right)
        for each in known
        if each.operator == "<=" and Guard(each.left, ">=", each.right) in known
    ]
    exact = {
        (rest.part, rest.divisor)
        for each in equal
        if each.right == number(0) and isinstance(rest := each.left.only, Divided) and rest.operator == "%"
    }
    made: list[Guard] = []
    for each in equal:
        for side, other in ((each.left, each.right), (each.right, each.left)):
            quotient = side.only
            if not isinstance(quotient, Divided) or quotient.operator != "//":
                continue
            if (quotient.part, quotient.divisor) in exact:
                made += _normal(add(quotient.part, multiply(other, quotient.divisor), -1), "==", True)
    return made


def _scaled(formula: Formula, factor: int) -> Formula:
    return Formula(tuple((term, scale * factor) for term, scale in formula.terms))


def _quotient(left: Formula) -> tuple[Formula, int] | None:
    """Return the dividend and the divisor of a formula that is a quotient alone."""
    atom = left.only
    if isinstance(atom, Divided) and atom.operator == "//" and atom.divisor.is_constant and atom.divisor.constant > 0:
        return atom.part, atom.divisor.constant
    return None


def _sided(left: Formula, operator: str, bound: int) -> Guard:
    """Return the condition with negative terms on the right side, and a single size on the left side."""
    right = Formula(tuple((term, -factor) for term, factor in left.terms if factor < 0))
    left = Formula(tuple((term, factor) for term, factor in left.terms if factor > 0))
    if isinstance(right.only, Size) and not isinstance(left.only, Size):
        flipped = {"<=": ">=", ">=": "<="}.get(operator, operator)
        return Guard(right, flipped, add(left, number(-bound)))
    return Guard(left, operator, add(right, number(bound)))
