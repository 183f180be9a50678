"""Traits: declared by class or object, found by class and base class, and what follows from effects."""

from __future__ import annotations

import numpy as np
import pytest

from irexec.core.types import Array
from irexec.model.graph.model import Node
from irexec.ops.rules.shapes import same_as
from irexec.ops.spec.contents import everything
from irexec.ops.spec.operator import Operator, random, rounded
from irexec.ops.spec.tensors import FloatTensor
from irexec.ops.spec.traits import (
    Arithmetic,
    Commutative,
    CommutativeInPatterns,
    Convolution,
    DeclaredTrait,
    Effect,
    HasBodies,
    Product,
    Pure,
    Random,
    Stateful,
)


def declared(*traits: DeclaredTrait, **options: object) -> Operator:
    def kernel(x: FloatTensor, /) -> FloatTensor:
        """Return x."""
        return np.asarray(x)

    return Operator("Some", "mine", kernel, *traits, shapes=same_as(), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("traits", "present", "absent", "is_run_by_engine"),
    [
        ((), {Pure}, {Effect}, False),
        ((CommutativeInPatterns,), {Pure, Commutative, CommutativeInPatterns}, {Effect}, False),
        ((Product(), Commutative), {Pure, Arithmetic, Product, Commutative}, {CommutativeInPatterns}, False),
        ((Random,), {Random, Effect}, {Pure}, False),
        ((Stateful,), {Stateful, Effect}, {Pure, HasBodies}, True),
        ((HasBodies,), {HasBodies, Effect}, {Pure, Stateful}, True),
    ],
)
def test_traits_are_found_by_class_and_base_class(
    traits: tuple[DeclaredTrait, ...],
    present: set[type[DeclaredTrait]],
    absent: set[type[DeclaredTrait]],
    is_run_by_engine: bool,
) -> None:
    operator = declared(*traits)
    assert present <= operator.traits.keys()
    assert absent.isdisjoint(operator.traits)
    assert operator.is_run_by_engine == is_run_by_engine


def test_a_trait_with_details_is_an_object() -> None:
    assert declared(Commutative).traits.find(Convolution) is None
    for grouped in (False, True):
        found = declared(Convolution(grouped=grouped)).traits.find(Convolution)
        assert found is not None
        assert found.grouped == grouped


def test_random_results_are_declared_by_the_trait_or_by_the_tolerance() -> None:
    assert declared(Random).oracle.tolerance is random
    assert Random in declared(tolerance=random).traits
    assert Random not in declared(tolerance=rounded(4)).traits


def test_a_node_without_an_operator_has_no_trait() -> None:
    assert not Node(None, type="Unknown").traits
    assert Pure in Node(declared()).traits


def test_the_operators_that_are_not_pure() -> None:
    found = {operator.type for _, _, operator in everything() if operator is not None and Pure not in operator.traits}
    assert found == {"Assign", "If", "Loop", "Multinomial", "RandomUniform", "ReadValue", "TensorIterator"}


def test_an_operator_is_called_as_before_with_traits() -> None:
    x: Array = np.ones(3, np.float32)
    assert declared(Random, Commutative)(x).tolist() == [1, 1, 1]
