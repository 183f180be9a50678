"""NumPy's functions by their names, for declarations: operators are declared, and files checked, without importing
NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def ufunc(name: str) -> Callable[..., Any]:
    """Return NumPy's function of this name; it is looked up when it is called."""

    def function(*arguments: Any, **options: Any) -> Any:
        return getattr(np, name)(*arguments, **options)

    return function


def made_later(function: Callable[..., Any], inputs: int) -> Callable[..., Any]:
    """Return NumPy's frompyfunc of a Python function, for arrays of objects; it is made when it is first called."""
    made: list[Any] = []

    def on_arrays(*arrays: Any, **options: Any) -> Any:
        if not made:
            made.append(np.frompyfunc(function, inputs, 1))
        return made[0](*arrays, **options)

    return on_arrays
