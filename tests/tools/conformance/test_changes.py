"""Changes of drafts: optional inputs, words, and values that 32 bits cannot hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import irexec
from irexec.tools.conformance import changes
from irexec.tools.conformance.case import operator_case, operator_named
from irexec.tools.conformance.draft import Draft, draft_of
from irexec.tools.conformance.drawing import revealing
from irexec.tools.conformance.names import CaseName
from irexec.tools.conformance.seeds import calls_of

pytestmark = pytest.mark.any_python


def changed(name: str, number: int, change: Callable[[np.random.Generator, Draft], None]) -> list[Draft]:
    """Return twenty changes of one call of an operator."""
    operator = operator_named(name)
    found = [draft_of(operator, calls_of()[name][number]) for _ in range(20)]
    for seed, draft in enumerate(found):
        change(np.random.default_rng(seed), draft)
    return found


def test_an_optional_input_is_added() -> None:
    drafts = changed("ScaledDotProductAttention-13", 0, changes.add_input)
    assert {tuple(port.name for port in draft.given)[3:] for draft in drafts} == {("attention_mask",)}
    assert any(draft.is_legal() for draft in changed("RandomUniform-8", 0, changes.add_input))


def test_the_words_of_a_list_change() -> None:
    drafts = changed("GRUCell-3", 0, changes.change_attribute)
    words = {word.strip() for draft in drafts for word in draft.attributes["activations"].split(",")}
    assert words >= {"relu", "sigmoid", "tanh"} and all(draft.attributes for draft in drafts)


def test_stated_lists_of_the_same_length_change_together() -> None:
    lengths = set()
    for draft in changed("Slice-8", 0, changes.change_length):
        of_lists = {port.shape[0] for port in draft.given[1:]}
        assert len(of_lists) == 1 and all(len(port.values or ()) == port.shape[0] for port in draft.given[1:])
        lengths |= of_lists
    assert 0 in lengths and len(lengths) > 1


@pytest.mark.parametrize("name", ["Equal-1/f32/a=[2,8]/b=[2,8]", "ReLU-1/i8/x=[3]/data-ties", "Exp-1/f32/x=[0]"])
def test_a_case_with_the_same_number_everywhere_gets_other_data(name: str) -> None:
    """A result without elements, or with one, is not changed."""
    for seed in range(20):
        given = CaseName.parse(f"{name}/seed{seed}")
        found = revealing(np.random.default_rng(seed), given, operator_named(given.operator))
        case = operator_case(found)
        result = irexec.compile_model(case.model)(case.inputs[0])[0]
        assert len(np.unique(result)) > 1 or (found == given and not result.size)


def test_results_that_are_too_large_for_a_case_are_not_computed() -> None:
    given = CaseName.parse("Broadcast-3/f32/data=[2]/target_shape=const:i64[2]{150000,2}/data-ties/seed1")
    assert revealing(np.random.default_rng(0), given, operator_named(given.operator)) == given


def test_scaled_values_keep_their_number_and_their_type() -> None:
    for draft in changed("Slice-8", 0, changes.scale_values):
        values = [value for port in draft.given for value in port.values or () if port.kind.name == "i64"]
        assert all(value % 2**29 == 0 or value == 2**63 - 1 for value in values)
        assert all(abs(value) < 2**63 for value in values)
