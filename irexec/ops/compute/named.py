"""NumPy's functions, looked up when called: declaring operators and checking files does not import NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def ufunc(name: str) -> Callable[..., Any]:
    """Return a function that looks up NumPy's function of this name when it is called."""

    def function(*arguments: Any, **options: Any) -> Any:
        return getattr(np, name)(*arguments, **options)

    return function


def made_later(function: Callable[..., Any], inputs: int) -> Callable[..., Any]:
    """Return a Python function as a NumPy function of object arrays; `np.frompyfunc` makes it at the first call."""
    made: list[Any] = []

    def on_arrays(*arrays: Any, **options: Any) -> Any:
        if not made:
            made.append(np.frompyfunc(function, inputs, 1))
        return made[0](*arrays, **options)

    return on_arrays
