"""Helpers that programs import from OpenVINO's compiled module."""

from __future__ import annotations

import warnings

from irexec.api.openvino.utils import numpy_to_c, replace_node, replace_output_update_name

__all__ = ["deprecation_warning", "numpy_to_c", "replace_node", "replace_output_update_name"]


def deprecation_warning(function_name: str, version: str = "", message: str = "", stacklevel: int = 2) -> None:
    """Issue a DeprecationWarning for a function. `version`: the version that will no longer contain it, if known."""
    until = f" and will be removed in version {version}" if version else ""
    warnings.warn(f"{function_name} is deprecated{until}. {message}".rstrip(), DeprecationWarning, stacklevel)
