"""Facts about operators: names, versions, types, attributes; the status page."""

from __future__ import annotations

from pathlib import Path

import pytest

from irexec.core.types import ANY, BOOLEAN, F32, I32, I64, INDICES, NUMERIC, STRING
from irexec.ops.spec import contents
from irexec.tools.catalog.facts import all_facts, element_types, facts_of, module_path
from irexec.tools.render.operators import count_text, list_text, operator_text, opsets_text, page_text

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Gather", "Gather-8"),
        ("gather", "Gather-8"),
        ("Gather-7", "Gather-7"),
        ("Gather-opset7", "Gather-7"),
        ("Gather-opset3", "Gather-1"),
        ("ScatterNDUpdate-3", "ScatterNDUpdate-4"),
        ("Softmax", "SoftMax-8"),
        ("Constant", "Const-1"),
        ("Gathr", None),
        ("Gather-99", None),
        ("Gather-opset99", None),
        ("Gather-²", None),
        ("Gather-x", None),
        ("ScatterNDUpdate-opset1", None),
        ("", None),
        ("-8", None),
        ("Gather-" + "9" * 5000, None),
    ],
)
def test_names(text: str, name: str | None) -> None:
    facts = facts_of(text)
    assert (facts.name if facts is not None else None) == name


def test_an_operator_of_another_opset_is_found() -> None:
    newest, older = facts_of("ScatterND"), facts_of("ScatterND-onnx13")
    assert newest is not None
    assert older is not None
    assert (newest.opset, older.opset) == ("onnx18", "onnx13")
    assert newest.versions == ["onnx11", "onnx13", "onnx16", "onnx18"]


def test_versions_are_the_opsets_that_mean_the_operator() -> None:
    facts = facts_of("AvgPool-1")
    assert facts is not None
    assert facts.opsets == [f"opset{n}" for n in range(1, 14)]
    assert facts.versions == ["opset1", "opset14", "opset16"]
    assert opsets_text(facts) == "1-13"
    rnn = facts_of("RNNCell-1")
    assert rnn is not None
    assert opsets_text(rnn) == "1, 3-16"


def test_ports_and_attributes_come_from_the_signature() -> None:
    facts = facts_of("ScatterNDUpdate-15")
    assert facts is not None
    assert [(p.name, p.group, p.types) for p in facts.inputs] == [
        ("data", "T", "any"), ("indices", "T_IND", "i32, i64"), ("updates", "T", "any"),
    ]  # fmt: skip
    (reduction,) = facts.attributes
    assert (reduction.name, reduction.default, reduction.required) == ("reduction", "none", False)
    assert reduction.values == ["none", "sum", "sub", "prod", "min", "max"]
    convert = facts_of("Convert-1")
    assert convert is not None
    assert convert.outputs[0].types == "given by destination_type"
    assert convert.attributes[0].required


def test_element_types_in_few_words() -> None:
    assert element_types(ANY) == "any"
    assert element_types(NUMERIC | {BOOLEAN}) == "numeric, boolean"
    assert element_types(INDICES) == "i32, i64"
    assert element_types(frozenset({I64, F32, I32})) == "f32, i32, i64"
    assert element_types(ANY - {STRING}) == "any but string"
    assert element_types(frozenset()) == ""


def test_one_operator_in_full() -> None:
    facts = facts_of("MaxPool-14")
    assert facts is not None
    text = operator_text(facts)
    assert text.startswith("MaxPool-14 (opset 14-16)\nother versions: MaxPool-1, MaxPool-8\n")
    assert "one of floor, ceil, ceil_torch" in text
    assert "default explicit" in text
    assert "list of integers, each at least 1" in text
    assert "source: irexec/ops/pooling/max_pool.py\n" in text


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_lists_fit_a_terminal(columns: int) -> None:
    rows = all_facts()
    assert max(map(len, list_text(rows, columns).splitlines())) <= columns
    for facts in rows:
        texts = [line for line in operator_text(facts, columns).splitlines() if line[:1] not in (" ", "p", "s")]
        assert max(map(len, texts)) <= columns, facts.name


def test_the_list_names_each_operator_in_order() -> None:
    rows = all_facts()
    assert len(rows) == sum(len(versions) for _, versions in contents.CONTENTS.values())
    lines = list_text(rows).splitlines()
    assert [line.split()[0] for line in lines[1:-2] if line[0] != " "] == [facts.name for facts in rows]
    assert lines[-1] == count_text(rows)
    missing = facts_of("Gather-8")
    assert missing is not None
    missing = missing.model_copy(update={"implemented": False})
    assert "not implemented" in list_text([missing])
    assert "not implemented" in operator_text(missing)
    assert "not implemented" in page_text([missing])


def test_the_links_of_the_status_page_lead_somewhere() -> None:
    page = ROOT / "docs" / "operators.md"
    for facts in all_facts():
        assert (ROOT / module_path(facts)).is_file() or not facts.implemented
        if facts.implemented and facts.attributes:
            link = f"(../schemas/operators/{facts.type}-{facts.opset}.json)"
            assert link in page.read_text("utf-8")
            assert (ROOT / "schemas" / "operators" / f"{facts.type}-{facts.opset}.json").is_file()
