"""The validator of pydantic-core, imported from its compiled module alone.

The package `pydantic_core` also describes its schemas as Python types, whose import takes longer than that of irexec.
If the package is imported later, for instance by pydantic, it uses the same compiled module.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator, ValidationError
    from pydantic_core.core_schema import ValidationInfo

__all__ = ["Schema", "SchemaValidator", "ValidationError", "ValidationInfo"]

Schema = dict[str, Any]
"""A schema of pydantic-core: `pydantic_core.core_schema` has functions that return such dictionaries."""

_NAME = "pydantic_core._pydantic_core"


def _compiled() -> Any:
    """Return the compiled module."""
    if _NAME in sys.modules:
        return sys.modules[_NAME]
    package = PathFinder.find_spec("pydantic_core")
    found = PathFinder.find_spec(_NAME, None if package is None else package.submodule_search_locations)
    if found is not None and found.loader is not None:
        module = sys.modules[_NAME] = module_from_spec(found)
        try:
            found.loader.exec_module(module)
            return module
        except BaseException as error:
            del sys.modules[_NAME]
            if not isinstance(error, ImportError):
                raise
    # The package is not in a folder, or its compiled module needs the package.
    import pydantic_core

    return pydantic_core


if not TYPE_CHECKING:
    _module = _compiled()
    SchemaValidator, ValidationError, ValidationInfo = _module.SchemaValidator, _module.ValidationError, Any
