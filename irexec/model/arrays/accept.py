"""Conversion of values from callers and files to plain NumPy arrays; errors explain why a value is not a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.core.types import MAX_RANK, Array

# Kinds of dtypes that have no element type.
_FOREIGN = {"M": "dates", "m": "time spans", "V": "records or raw bytes"}


def as_plain_array(given: Any) -> Array:
    """Return `given` as an array in this machine's byte order: a view if it has this order already, else a copy.

    Arrays of objects may hold strings only. Raises ValueError for anything that is not a tensor: ragged rows, masked
    values, dates, records, other objects, floating-point numbers of more than 64 bits.
    """
    array = given if given.__class__ is np.ndarray else _as_array(given)
    dtype = array.dtype
    if not dtype.isnative:
        array = array.astype(dtype.newbyteorder("="))
    # ml_dtypes' dtypes have kind "V" as well, but they are scalar types of their own.
    if dtype.kind in _FOREIGN and dtype.type in (np.void, np.datetime64, np.timedelta64):
        raise ValueError(f"an array of {dtype} contains {_FOREIGN[dtype.kind]}, which no element type supports")
    if dtype.kind in "fc" and dtype.itemsize > (8 if dtype.kind == "f" else 16):
        raise ValueError(f"no element type has as many bits as {dtype}; convert the array to float64")
    if dtype.kind == "S":
        raise ValueError("an array of bytes is not text; decode it, or convert it to uint8")
    if dtype.kind == "O":
        return _texts(array)
    return array


def _as_array(given: Any) -> Array:
    if isinstance(given, np.ma.MaskedArray):
        if np.ma.getmaskarray(given).any():
            raise ValueError("a masked array has missing values; fill them, for example with .filled(0)")
        return np.asarray(given.data)
    try:
        return np.asarray(given)
    except (ValueError, TypeError, OverflowError) as error:
        if shape_of(given) is None:
            raise ValueError("the rows differ in length, so the value is not a tensor") from None
        raise ValueError(str(error)) from None


def shape_of(given: Any, depth: int = 0) -> tuple[int, ...] | None:
    """Return the shape of nested lists and arrays; None if rows differ in length or depth."""
    if not isinstance(given, (list, tuple)) or depth == MAX_RANK:
        return given.shape if isinstance(given, np.ndarray) else ()
    inner = {shape_of(item, depth + 1) for item in given} or {()}
    first = inner.pop()
    return None if inner or first is None else (len(given), *first)


def _texts(array: Array) -> Array:
    for item in array.flat:
        if isinstance(item, int) and not -(1 << 63) <= item < 1 << 64:
            raise ValueError("an integer has more than 64 bits")
        if not isinstance(item, str):
            raise ValueError(
                f"an array of objects contains a value of type {type(item).__name__}; only strings are allowed"
            )
    return array.astype(np.dtypes.StringDType())
