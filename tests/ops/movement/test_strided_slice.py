"""StridedSlice-1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.amounts import amount
from support.cases import KINDS, broken, data, ints, refuses, scalar, the
from support.oracle import infer, openvino, run, tensor

import irexec
from irexec.core.types import F32, I64
from irexec.tools.fixes.applying import apply_fixes

HOME = Path(__file__).parents[3]
op = the("StridedSlice", 1)
N = np.newaxis


def text(mask: list[int] | str) -> str:
    return mask if isinstance(mask, str) else ",".join(map(str, mask))


def cut(
    table: np.ndarray, begin: list[int], end: list[int], stride: list[int] | None = None, **masks: list[int]
) -> np.ndarray:
    arrays = [table, ints(*begin), ints(*end), *([] if stride is None else [ints(*stride)])]
    return run(op, *arrays, **{name: text(mask) for name, mask in masks.items()})[0]


def test_page_negative_bounds() -> None:
    table = np.arange(24).reshape(2, 3, 4)
    np.testing.assert_array_equal(cut(table, [0, 0, 0], [2, 2, -1], [1, 1, 1]), table[0:2, 0:2, 0:-1])


def test_page_begin_and_end_mask() -> None:
    table = np.arange(24).reshape(2, 3, 4)
    result = cut(
        table,
        [1, 1, 123],
        [0, 0, 2],
        [1, 1, -1],
        begin_mask=[0, 1, 1],
        end_mask=[1, 1, 1],
        new_axis_mask=[0, 0, 0, 0, 0],
        shrink_axis_mask=[0, 0],
        ellipsis_mask=[0],
    )
    np.testing.assert_array_equal(result, table[1:, :, ::-1])


def test_page_new_axis() -> None:
    table = np.arange(8).reshape(2, 4)
    masks = {"begin_mask": [0] * 4, "end_mask": [0] * 4, "new_axis_mask": [1, 0, 1, 0]}
    result = cut(table, [1234, 0, -1, 0], [1234, 2, 9876, 4], [132, 1, 241, 1], **masks)
    np.testing.assert_array_equal(result, table[N, 0:2, N, 0:4])


def test_page_shrink_axis() -> None:
    table = np.arange(48).reshape(1, 2, 3, 4, 2)
    result = cut(table, [0] * 5, [1, 0, 384, 640, 8], [1] * 5, shrink_axis_mask=[0, 1, 0, 0, 0])
    np.testing.assert_array_equal(result, table[0:1, 0, 0:384, 0:640, 0:8])


def test_page_ellipsis() -> None:
    table = np.arange(10 * 2 * 3 * 10).reshape(10, 2, 3, 10)
    np.testing.assert_array_equal(
        cut(table, [0, 0, 0], [4, 0, 5], [1, -1, 1], ellipsis_mask=[0, 1, 0]), table[0:4, ..., 0:5]
    )
    masks = {"begin_mask": [0, 0, 1, 1], "end_mask": [1, 1, 0, 0], "new_axis_mask": [0, 0, 1], "ellipsis_mask": [0, 1]}
    result = cut(table, [2, 1, 10, 10], [123, 1, 10, 5], [1, -1, 1, 1], shrink_axis_mask=[0], **masks)
    np.testing.assert_array_equal(result, table[2:, ..., N, :5])


@pytest.mark.parametrize("kind", KINDS)
def test_every_element_type(kind: str) -> None:
    table = data(np.random.default_rng(0), kind, 4, 5)
    assert cut(table, [1, 4], [3, 0], [1, -2]).tolist() == table[1:3, 4:0:-2].tolist()
    assert cut(table, [1, 4], [2, 5], shrink_axis_mask=[1, 1]).tolist() == table[1].tolist()[4]


def test_equal_bounds_take_nothing() -> None:
    """The page's text selects one element, its Python equivalent and OpenVINO no element."""
    assert cut(np.arange(4), [2], [2]).size == 0


def test_a_backward_slice_from_before_the_first_element_takes_it() -> None:
    assert cut(np.arange(5), [-10], [-20], [-1]).tolist() == [0]


def test_precedence_of_the_masks() -> None:
    """An ellipsis first, then a new axis, then a dropped axis."""
    table = np.arange(6).reshape(2, 3)
    assert cut(table, [0] * 3, [1] * 3, new_axis_mask=[1, 0, 0], ellipsis_mask=[1, 0, 0]).tolist() == [[0]]
    assert cut(table, [0] * 3, [1] * 3, new_axis_mask=[1, 0, 0], shrink_axis_mask=[1, 0, 0]).tolist() == [[[0]]]


def test_begin_mask_makes_a_dropped_axis_start_at_its_first_element() -> None:
    """On the page begin is then 0, as in OpenVINO's CPU plugin; OpenVINO's core uses begin."""
    assert cut(np.arange(5), [3], [4], begin_mask=[1], shrink_axis_mask=[1]).tolist() == 0


def test_agrees_with_openvino() -> None:
    """OpenVINO's core is used, because the CPU plugin reads beyond its memory for some of these masks."""
    rng = np.random.default_rng(2)
    for _ in range(amount(20, 5)):
        shape = rng.integers(1, 6, rng.integers(1, 5))
        count = int(rng.integers(1, len(shape) + 1))
        masks = {n: rng.integers(0, 2, count) for n in ("begin_mask", "end_mask", "shrink_axis_mask")}
        masks["new_axis_mask"] = rng.integers(0, 4, count) == 0
        masks["ellipsis_mask"] = np.arange(count) == rng.integers(0, 2 * count)
        begin = rng.integers(-shape[:count].min(), shape[:count].min(), count)
        if masks["ellipsis_mask"].any():
            masks["shrink_axis_mask"] *= 0
        # Without positions that two masks mark, for which OpenVINO's core and its plugin differ.
        for name in ("new_axis_mask", "shrink_axis_mask"):
            masks[name] = masks[name] * ~masks["ellipsis_mask"]
        masks["begin_mask"] = masks["begin_mask"] * (masks["shrink_axis_mask"] == 0)
        end, stride = rng.integers(-7, 8, count), rng.choice([-2, -1, 1, 2], count)
        stride[masks["shrink_axis_mask"] == 1] = 1
        attributes = {name: text([int(v) for v in mask]) for name, mask in masks.items()}
        arrays = (data(rng, "f32", *shape), begin, end, stride)
        ours, theirs = run(op, *arrays, **attributes)[0], openvino(op, *arrays, constants=True, **attributes)[0]
        np.testing.assert_array_equal(ours, theirs, err_msg=f"{shape} {arrays[1:]} {attributes}")


def test_constraints() -> None:
    table = np.zeros((4, 4))
    refuses(op, "C1", table, ints(0, 0), ints(1), ints(1))
    assert broken(op, table, scalar(0), ints(1)) == {"C1"}
    refuses(op, "C2", table, ints(0), ints(1), ints(0))
    assert "C3" in broken(op, table, ints(0, 0), ints(1, 1), ellipsis_mask="1,1")
    assert "C4" in broken(op, table, ints(0), ints(1), begin_mask="2")
    refuses(op, "C5", table, ints(0, 0, 0), ints(1, 1, 1))
    refuses(op, "C6", table, ints(4), ints(5), shrink_axis_mask="1")
    refuses(op, "C6", table, ints(-5), ints(5), shrink_axis_mask="1")


@pytest.mark.parametrize(
    ("shape", "begin", "end", "masks", "expected"),
    [
        ("?,5", [0, 1], [2, 3], {}, "[..2,2]"),
        ("?,5", [0, 1], [0, 3], {"end_mask": "1"}, "[?,2]"),
        ("2..8,?", [1], [9], {"shrink_axis_mask": "1"}, "[?]"),
        ("?,?,7", [0, 1], [0, 3], {"ellipsis_mask": "1"}, "[?,?,2]"),
        ("?", [0, 1], [0, 3], {"new_axis_mask": "0,1", "begin_mask": "1", "end_mask": "1"}, "[?,1]"),
        ("...", [0], [1], {}, "[...]"),
    ],
)
def test_shapes_with_dynamic_dimensions(shape: str, begin: list, end: list, masks: dict, expected: str) -> None:
    size = str(len(begin))
    (out,), breaches = infer(op, [tensor(F32, shape), tensor(I64, size, begin), tensor(I64, size, end)], **masks)
    assert (str(out.shape), breaches) == (expected, [])


def test_shapes_with_unknown_bounds() -> None:
    unknown = tensor(I64, "2")
    (out,), _ = infer(op, [tensor(F32, "4,?,6"), unknown, unknown], begin_mask="1,0", end_mask="1,0")
    assert str(out.shape) == "[4,?,6]"
    (out,), _ = infer(op, [tensor(F32, "4,5"), unknown, unknown], shrink_axis_mask="0,1")
    assert str(out.shape) == "[..4]"
    (out,), _ = infer(op, [tensor(F32, "4,5"), tensor(I64, "?"), tensor(I64, "?")])
    assert str(out.shape) == "[?,?]"


def with_masks(**masks: str) -> str:
    """Return a model of one StridedSlice with these masks, as text."""
    page = (HOME / "docs" / "codes" / "D012.md").read_text()
    model = page.split("```xml\n")[1].split("```")[0]
    return model.replace('begin_mask="1,1" end_mask="1"', " ".join(f'{name}="{mask}"' for name, mask in masks.items()))


@pytest.mark.parametrize(
    ("masks", "found"),
    [
        ({"begin_mask": "0,1", "end_mask": "0,0"}, []),
        ({"begin_mask": "0,1", "end_mask": "0,0", "ellipsis_mask": ""}, []),
        ({"begin_mask": "0,1", "end_mask": "0,0", "new_axis_mask": "0"}, ["new_axis_mask"]),
        ({"begin_mask": "0,1,0", "end_mask": "0,0", "new_axis_mask": "0"}, ["end_mask", "new_axis_mask"]),
    ],
)
def test_masks_of_several_lengths_are_found_where_openvino_refuses_them(masks: dict, found: list, tmp_path) -> None:
    """The page allows each mask its own length, and defines missing items: the model runs, and the fix is safe."""
    ov = pytest.importorskip("openvino")
    path = tmp_path / "m.xml"
    path.write_text(with_masks(**masks))
    report = irexec.validate(path)
    assert [(finding.code, finding.attribute) for finding in report] == [("D012", name) for name in found]
    if found:
        with pytest.raises(RuntimeError, match="are_attr_sizes_eq"):
            ov.Core().read_model(path)
        with pytest.warns(UserWarning, match="irexec.validate reports"):
            model = irexec.read_model(path)
        compiled = irexec.compile_model(model)
        before = compiled([np.arange(6, dtype=np.float32).reshape(2, 3), np.int64([0, 1])])[0]
        fixed = apply_fixes(path.read_bytes(), path)
        assert fixed.report.ok
        path.write_bytes(fixed.data)
        after = ov.Core().compile_model(path, "CPU")
        np.testing.assert_array_equal(
            after([np.arange(6, dtype=np.float32).reshape(2, 3), np.int64([0, 1])])[0], before
        )
    else:
        ov.Core().read_model(path)
