"""The tools, each a package: what a command does, without its command line."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Return the module `ovc`, which OpenVINO's API has under this name."""
    if name != "ovc":
        raise AttributeError(f"module 'irexec.tools' has no attribute {name!r}")
    from importlib import import_module

    return import_module("irexec.tools.ovc")
