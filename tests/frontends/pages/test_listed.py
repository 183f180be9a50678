"""Values in comments: every notation of the operation pages, and remarks that resemble values."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irexec.frontends.pages.listed import MAX_DEPTH, Listed, ListedValue, Unfinished, read_values, role_of
from irexec.model.arrays.accept import shape_of

NOTATIONS: list[tuple[str, ListedValue, str | None]] = [
    (" values: [1, 2, 3, 4] ", [1, 2, 3, 4], None),
    (" values: [[1, 2],\n          [3, 4]] ", [[1, 2], [3, 4]], None),
    (" values: [-25], silently clamped to 0 ", [-25], None),
    (" values are: [1, 3] ", [1, 3], None),
    (" value [0] ", [0], None),
    (" value is [0] ", [0], None),
    (" value is [2, 3] that means independent reduction in each channel ", [2, 3], None),
    (" value of [0,2,3] means independent normalization per channels ", [0, 2, 3], None),
    (" axes list [1] means normalization over channel dimension ", [1], "axes"),
    (" value: 11 ", 11, None),
    (" input value is: [1., 2.] ", [1.0, 2.0], "input"),
    (" input value is: [[false, false], [True, False]] ", [[False, False], [True, False]], "input"),
    (" output value is: [2,3,224,224]", [2, 3, 224, 224], "output"),
    (' offsets value is: [0, 2, 2] - 3 "bags" containing [2,0,4-2] elements ', [0, 2, 2], "offsets"),
    (" axis value is: 0 ", 0, "axis"),
    (" default_index value is: -1 - fill empty bag with 0", -1, "default_index"),
    (" block_shape value: [1, 5] ", [1, 5], "block_shape"),
    (" beta value: 2.0 ", 2.0, "beta"),
    (" output value # [[1, 2], [2, 2]] ", [[1, 2], [2, 2]], "output"),
    (" on_value 1 ", 1, "on_value"),
    (" start: [1] ", [1], "start"),
    (" batch_shape : [2, 3] ", [2, 3], "batch_shape"),
    (" offsets: [4, 12, 16] for 3 groups ", [4, 12, 16], "offsets"),
    (" data: data: [[0, 1], [5, 6]] ", [[0, 1], [5, 6]], "data"),
    (" num rows: 5 ", 5, "num rows"),
    (" pads_begin = [0, 5, 2, 1]  ", [0, 5, 2, 1], "pads_begin"),
    (' output = ["OMZ", "", " ", "2024"] ', ["OMZ", "", " ", "2024"], "output"),
    ("  axis = 1  ", 1, "axis"),
    (' symbols = "Intel" encoded in an utf-8 array ', "Intel", "symbols"),
    (" [ 2,  5,  8] ", [2, 5, 8], None),
    (" [1, 2, 3] will be promoted to [1, 1, 2, 3] ", [1, 2, 3], None),
    (" 10 ", 10, None),
    ("The tensor contains 4 elements: [1, 16, 50, 50] ", [1, 16, 50, 50], None),
    ("The tensor contains 3 elements: 0, -1, 4 ", [0, -1, 4], None),
    ("The values in this input are [2, 3] (axes). ", [2, 3], None),
    (" axes input contains  [3, 1, 2] ", [3, 1, 2], "axes"),
    (" segment_ids with 4 segments: [0, 0, 2, 3, 3] ", [0, 0, 2, 3, 3], "segment_ids"),
    (" {{-1.0f, 1.0f}, {2.0f, 3e-1f}} ", [[-1.0, 1.0], [2.0, 0.3]], None),
    (" input_order is an empty 1D tensor ", [], "input_order"),
    (" values: [1, 2], [3, 4] ", [[1, 2], [3, 4]], None),
    (" values: [[1 2] [3 4]] ", [[1, 2], [3, 4]], None),
    (" value is 3 ", 3, None),
    (" values: [] ", [], None),
    (" values: [1, 2]. ", [1, 2], None),
]

REMARKS = [
    "2 = 0 + 1 + 1 = pads_begin[0] + pads_end[0]",
    "min(100, 10) * 3 * 5",
    "data.shape[1] * block_size",
    "data.shape[1] * block_shape.shape[1] - crops_begin[1]",
    "itv: [K, 3] interval table",
    "value: B=1, Hk=1, S=16, Ev=64",
    "will be promoted to shape (1, 2, 3, 4)",
    "12 scale values, 1 for each channel",
    "the sum over the last dimension [-1]",
    "type: i32",
    "result type: float32",
    "batch size of 2",
    "min value",
    "output_size[0]",
    "spatial dimension 1",
    "4 = 6 - 2",
    "512 of the 2500 blocks (2048 tokens) + 1 token",
    "assumes: actual value of <dim>-1</dim> is 3",
    '"-1" means a undefined dimension',
    'the 3rd input shouldn\'t be provided with mode="numpy"',
    "B = floor(10001 / 4)",
    "N = 2 * 3",
    "attention heads: 8 / 2",
    "values in range [0, 5]",
    "value in range: [0, 5]",
    "data shape: [2, 3]",
    "one of [1, 2]",
    "[0, 1, ..., 9]",
    "[1] + [2]",
    "value: 3x",
    "1D tensor",
    "...",
    "",
]


@pytest.mark.parametrize(("comment", "value", "name"), NOTATIONS)
def test_every_notation_is_read(comment: str, value: ListedValue, name: str | None) -> None:
    listed = read_values(comment)
    assert isinstance(listed, Listed)
    assert (listed.value, listed.name, listed.balanced) == (value, name, True)
    assert [type(item) for item in _leaves(listed.value)] == [type(item) for item in _leaves(value)]


@pytest.mark.parametrize("comment", REMARKS)
def test_what_only_looks_like_values_is_a_remark(comment: str) -> None:
    assert read_values(f" {comment} ") is None


@pytest.mark.parametrize(
    ("comment", "kind"),
    [
        ("int input values: [4, 7]", "int"),
        ("float output values: [2, 2]", "float"),
        ("i64 values: [4]", "i64"),
        ("{1.0f, 2.0f}", "float"),
        ('symbols = "abc" encoded in an utf-8 array', "utf-8"),
        ("values: [4, 7]", None),
    ],
)
def test_a_comment_may_say_what_type_its_values_have(comment: str, kind: str | None) -> None:
    listed = read_values(comment)
    assert isinstance(listed, Listed)
    assert listed.kind == kind


def test_numbers_that_are_not_finite() -> None:
    listed = read_values("input value is: [NaN, 2.1, -Inf, inf]")
    assert isinstance(listed, Listed)
    assert isinstance(listed.value, list)
    nan, *rest = listed.value
    assert isinstance(nan, float) and math.isnan(nan)
    assert rest == [2.1, -math.inf, math.inf]


def test_the_remark_after_values_is_kept() -> None:
    listed = read_values("values: [25], silently clamped to 5")
    assert isinstance(listed, Listed)
    assert listed.note == "silently clamped to 5"


def test_open_brackets_wait_for_the_next_comment() -> None:
    assert read_values(" output value: [[1, 0], ") is Unfinished.LIST
    whole = read_values(" output value: [[1, 0],  [0, 1]] ")
    closed = read_values(" output value: [[1, 0], ", closing=True)
    assert isinstance(whole, Listed) and whole.value == [[1, 0], [0, 1]]
    assert isinstance(closed, Listed) and (closed.value, closed.balanced) == ([[1, 0]], False)


@pytest.mark.parametrize("comment", ["values: [[13, 14]])", "values: [[13, 14]]]"])
def test_a_bracket_too_many_is_noticed(comment: str) -> None:
    listed = read_values(comment)
    assert isinstance(listed, Listed)
    assert (listed.value, listed.balanced) == ([[13, 14]], False)


@pytest.mark.parametrize(
    ("comment", "value"),
    [
        ("values: [1, 0, three]", [1, 0, "three"]),
        ("indices value is: [1, 3.O]", [1, "3.O"]),
        ("values: [N, C]", None),
        ("values: [1, 0, ..., 3]", None),
        ("value of [0, x] means", None),
    ],
)
def test_words_among_values_are_kept_for_a_finding(comment: str, value: ListedValue | None) -> None:
    found = read_values(comment)
    assert (found.value if isinstance(found, Listed) else None) == value


def test_absurd_nesting_is_not_a_value() -> None:
    assert read_values("[" * (MAX_DEPTH + 10)) is None
    assert read_values("[" * 100_000) is None


@pytest.mark.parametrize(
    ("comment", "role"),
    [
        (" data ", "data"),
        (" num rows ", "num rows"),
        (" `X` input data ", "X"),
        (" query: B=1, H=2, L=4 (2 query blocks), E=8 ", "query"),
        (" type: i32 ", None),
        (" the 3rd input is left out ", None),
        (" data.shape[0] ", None),
    ],
)
def test_a_remark_may_name_its_port(comment: str, role: str | None) -> None:
    assert role_of(comment) == role


def test_shape_of_nested_lists() -> None:
    assert shape_of(3) == ()
    assert shape_of([]) == (0,)
    assert shape_of([[1, 2, 3], [4, 5, 6]]) == (2, 3)
    assert shape_of([[1], [2, 3]]) is None


def _leaves(value: ListedValue) -> list[ListedValue]:
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, list) else [value]


# Printed values are read back

_LEAVES = {
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False, width=32),
    "bool": st.booleans(),
    "text": st.text(st.characters(codec="utf-8", exclude_characters='"'), max_size=5),
}
_LISTS = st.sampled_from(sorted(_LEAVES)).flatmap(
    lambda kind: st.recursive(
        st.lists(_LEAVES[kind], max_size=4), lambda rows: st.lists(rows, min_size=1, max_size=3), max_leaves=8
    )
)


def _printed(value: ListedValue, brackets: str, separator: str) -> str:
    if isinstance(value, list):
        items = separator.join(_printed(item, brackets, separator) for item in value)
        return f"{brackets[0]}{items}{brackets[1]}"
    return f'"{value}"' if isinstance(value, str) else str(value)


@pytest.mark.by_hand(0)
@given(
    value=_LISTS,
    lead=st.sampled_from(
        ["", "values: ", "value is ", "value ", "axes = ", "data: data: ", "x value # ", "axes input contains  "]
    ),
    brackets=st.sampled_from(["[]", "{}"]),
    separator=st.sampled_from([",", ", ", " ,  ", ",\n     "]),
    tail=st.sampled_from(["", " ", ", clamped", " - all of it", " (axes)."]),
)
def test_any_printed_list_is_read_back(value: ListedValue, lead: str, brackets: str, separator: str, tail: str) -> None:
    listed = read_values(f" {lead}{_printed(value, brackets, separator)}{tail} ")
    assert isinstance(listed, Listed)
    assert listed.value == value
    assert listed.balanced


@given(
    value=_LEAVES["int"] | _LEAVES["float"] | _LEAVES["bool"],
    lead=st.sampled_from(["", "value: ", "axis = ", "k value "]),
)
def test_any_printed_scalar_is_read_back(value: ListedValue, lead: str) -> None:
    listed = read_values(f"{lead}{value}")
    assert isinstance(listed, Listed)
    assert listed.value == value and listed.is_scalar


@given(st.text(max_size=80))
def test_no_comment_raises(comment: str) -> None:
    result = read_values(comment, closing=True)
    assert result is None or isinstance(result, Listed)
