"""Traits: facts about an operator that other packages ask, such as whether it is random.

A trait is a class, declared with the operator: `@operator("Loop", "opset5", HasBodies)`. Of a trait with details, an
object is declared, and `operator.traits[Class]` returns it. A package that needs another fact adds a class.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias


class Trait:
    """A fact about an operator."""


class Pure(Trait):
    """Equal inputs give equal results, and a call has no other effect. Every operator without an `Effect` is pure."""


class Effect(Trait):
    """A reason why a call cannot be replaced by its earlier results."""


class Random(Effect):
    """The results are random numbers."""


class Stateful(Effect):
    """The operator reads or assigns a variable, which the engine keeps."""


class HasBodies(Effect):
    """A layer contains models, which the engine runs, and which may have any effect."""


DeclaredTrait: TypeAlias = Trait | type[Trait]
Traits: TypeAlias = dict[type[Trait], DeclaredTrait]
"""The traits of an operator by class."""


def traits_of(declared: Iterable[DeclaredTrait]) -> Traits:
    """Return the declared traits by class; an operator without an effect is pure."""
    found = {trait if isinstance(trait, type) else type(trait): trait for trait in declared}
    return found if any(issubclass(trait, Effect) for trait in found) else {Pure: Pure, **found}
