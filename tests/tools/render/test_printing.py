"""Tables fit a line: names are shortened so that they stay different, and texts continue on the next line."""

from __future__ import annotations

import pytest
from support.work import MOST

from irexec.core.diagnostics.render.characters import width
from irexec.tools.render import printing
from irexec.tools.render.printing import Printout, shortened

EXPORTED = [
    f"__module.m.bert.encoder.layer.{layer}.attention.self.{part}/aten::linear/MatMul"
    for layer in range(12)
    for part in ("key", "query", "value")
]


@pytest.mark.parametrize("limit", [36, 48, 60])
def test_names_that_differ_in_the_middle_can_be_distinguished(limit: int) -> None:
    short = shortened(EXPORTED, limit)
    assert len({*short}) == len(EXPORTED)
    assert all(width(name) <= limit for name in short)
    assert not any("..m." in name for name in short)


def test_a_name_that_fits_stays() -> None:
    assert shortened(["a/b", *EXPORTED], 40)[0] == "a/b"
    assert shortened(EXPORTED, 100) == EXPORTED


def test_of_one_name_the_end_is_kept() -> None:
    (short,) = shortened([EXPORTED[0]], 40)
    assert short.endswith("key/aten::linear/MatMul") and short.startswith("...")


def test_a_name_without_parts_is_cut_at_the_front() -> None:
    assert shortened(["x" * 50], 10) == ["..." + "x" * 7]


@pytest.mark.parametrize("part", ["x", "x/", "."])
def test_long_names_are_cut_in_linear_time(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def characters(size: int) -> int:
        looked_at = 0

        def counted(text: str) -> int:
            nonlocal looked_at
            looked_at += len(text)
            return width(text)

        monkeypatch.setattr(printing, "width", counted)
        assert len(shortened([part * size], 10)[0]) <= 10
        return looked_at

    assert characters(40_000) < MOST * characters(10_000)


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_a_table_fits_the_line(columns: int) -> None:
    page = Printout(columns=columns)
    rows = [("x", name, "Convolution", "3.66e+03 ulp", "64 ulp of f32") for name in EXPORTED]
    page.table(rows, names=1)
    assert len(page.lines) == len(rows)
    assert max(map(len, page.lines)) <= columns
    if columns == 200:
        assert all(name in line for name, line in zip(EXPORTED, page.lines, strict=True))


def test_two_columns_of_names_are_narrowed() -> None:
    page = Printout(columns=80)
    page.table([("x", name, f"{name} and more", "3.66e+03", "4.0e-01", "64 ulp") for name in EXPORTED], names=(1, 2))
    assert max(map(len, page.lines)) <= 80


@pytest.mark.parametrize("columns", [80, 100])
def test_a_long_text_continues_below_itself(columns: int) -> None:
    page = Printout(columns=columns)
    names = [f"layer.{number}.attention" for number in range(36)]
    text = f"{len(names)} layers: MatMul ({', '.join(names)})"
    page.table([("+", "added", "", text), ("~", "type", EXPORTED[0], "output 0: f32 became f16")], names=2)
    assert max(map(len, page.lines)) <= columns
    first, second = page.lines[0], page.lines[1]
    assert second[: first.index("36 layers")].strip() == ""
    assert all(name in " ".join(page.lines) for name in names)


def test_a_text_may_be_empty_where_no_room_is_left_for_one() -> None:
    page = Printout(columns=80)
    page.table([("condition " * 9, "text"), ("x", "")])
    assert [line.split() for line in page.lines] == [["condition"] * 9 + ["text"], ["x"]]


@pytest.mark.parametrize("limit", [24, 30, 34])
@pytest.mark.parametrize(
    "names",
    [
        [f"/encoder/layers.{i}/layer_norm{j}/LayerNormalization_{c}" for i in (0, 1) for j in (1, 2) for c in "ab"],
        [f"Convolution_{i}_with_a_very_long_name_that_ends_alike_for_all_of_them" for i in range(4)],
        [f"model/conv2d_{i}/BiasAdd/ReadVariableOp_that_is_long_enough" for i in (1, 2, 13)],
    ],
)
def test_names_that_differ_within_a_part_are_told_apart(names: list[str], limit: int) -> None:
    short = shortened(names, limit)
    assert len({*short}) == len(names) and all(len(name) <= limit for name in short)
