"""Checks of attributes that callers pass."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from irexec.api.openvino.exceptions import UserInputError

log = logging.getLogger(__name__)
Condition = Callable[[Any], bool] | None
Requirement = tuple[str, bool, Any, Condition]


def assert_list_of_ints(value_list: Iterable[int], message: str) -> None:
    """Raise TypeError unless all values are integers."""
    for value in value_list:
        if not isinstance(value, (int, np.integer)):
            raise TypeError(message, value)


def _check_value(op_name: str, attr_key: str, value: Any, val_type: Any, cond: Condition = None) -> bool:
    """Return True if a value, or every item of a list, has the type and meets the condition. Raises UserInputError
    otherwise."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return all(_check_value(op_name, attr_key, item, val_type, cond) for item in value)
    if not np.issubdtype(type(value), val_type):
        raise UserInputError(f'{op_name} operator attribute "{attr_key}" value must be of type {val_type}: {value!r}')
    if cond is not None and not cond(value):
        raise UserInputError(f'{op_name} operator attribute "{attr_key}" has a value that is not allowed: {value!r}')
    return True


def check_valid_attribute(
    op_name: str,
    attr_dict: dict[str, Any],
    attr_key: str,
    val_type: Any,
    cond: Condition = None,
    required: bool = False,
) -> bool:
    """Return True if an attribute is valid, or absent and not required. Raises UserInputError otherwise."""
    if attr_dict.get(attr_key) is None:
        if required:
            raise UserInputError(f'Provided dictionary is missing {op_name} operator required attribute "{attr_key}"')
        return True
    return _check_value(op_name, attr_key, attr_dict[attr_key], val_type, cond)


def check_valid_attributes(op_name: str, attributes: dict[str, Any], requirements: Iterable[Requirement]) -> bool:
    """Return True if all attributes are valid: (name, required, type, condition). Raises UserInputError otherwise."""
    for name, required, val_type, condition in requirements:
        check_valid_attribute(op_name, attributes, name, val_type, condition, required)
    return True


def is_positive_value(x: Any) -> bool:
    return bool(x > 0)


def is_non_negative_value(x: Any) -> bool:
    return bool(x >= 0)
