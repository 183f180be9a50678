"""Arrays of every element type keep their values through pickle, .npy and .npz, whatever the origin of their dtype."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from ml_dtypes import finfo, iinfo

from irexec.core.types import STRING, Array, ElementType, is_numpys
from irexec.model.arrays.given import convert
from irexec.model.arrays.loading import load
from irexec.model.arrays.plain import exact_array
from irexec.model.arrays.saving import save_array, save_arrays

KINDS = [kind for kind in ElementType.by_name.values() if kind.dtype is not None]
NUMPYS = {"bool", "float16", "float32", "float64", "complex64", "complex128"}
NUMPYS |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def extremes(kind: ElementType) -> Array:
    """Return the smallest and the largest value of a type, and some between them."""
    if kind is STRING:
        return np.array(["", "a text", "é"], np.dtypes.StringDType())
    if kind.kind in "bc" or kind.is_carried:
        return np.array([0, 1, 1, 0]).astype(kind.dtype)
    limits = finfo(kind.dtype) if kind.is_real else iinfo(kind.dtype)  # type: ignore[no-untyped-call]
    return np.array([limits.min, limits.max, 1], kind.dtype)


def unpickled(array: Array) -> Array:
    found: Array = pickle.loads(pickle.dumps(array))
    return found


def assert_kept(found: object, array: Array, kind: ElementType) -> None:
    restored = convert(found, kind)
    assert restored is not None and restored.dtype == array.dtype
    assert restored.shape == array.shape
    assert restored.tolist() == array.tolist()


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("copies", [0, 1, 2])
def test_a_file_holds_the_values_of_an_unpickled_array(kind: ElementType, copies: int, tmp_path: Path) -> None:
    array = given = extremes(kind)
    for _ in range(copies):
        given = unpickled(given)
    exact = exact_array(given, kind)
    assert_kept(exact, array, kind)
    save_array(tmp_path / "one.npy", exact)
    save_arrays(tmp_path / "some.npz", {"a": exact, "b": exact[:0]})
    assert_kept(load(tmp_path / "one.npy"), array, kind)
    archive = load(tmp_path / "some.npz")
    assert isinstance(archive, dict)
    assert_kept(archive["a"], array, kind)
    assert_kept(archive["b"], array[:0], kind)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_owner_of_a_dtype_does_not_depend_on_where_it_was_made(kind: ElementType) -> None:
    array = extremes(kind)
    assert is_numpys(array.dtype) == is_numpys(unpickled(array).dtype) == (str(array.dtype) in NUMPYS)


@pytest.mark.parametrize("kind", [k for k in KINDS if k is not STRING], ids=str)
def test_arrays_in_the_other_byte_order_are_numpys_as_well(kind: ElementType) -> None:
    array = extremes(kind)
    swapped = array.astype(array.dtype.newbyteorder(">")) if is_numpys(array.dtype) else array
    assert_kept(exact_array(swapped, kind), array, kind)


def test_large_numbers_of_f64_and_i64_stay_what_they_are() -> None:
    wide = unpickled(np.array([1e300, -1e-300]))
    assert exact_array(wide, ElementType.by_name["f64"]).tolist() == [1e300, -1e-300]
    whole = unpickled(np.array([2**62 + 1, -129]))
    assert exact_array(whole, ElementType.by_name["i64"]).tolist() == [2**62 + 1, -129]
