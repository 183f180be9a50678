"""The module that contains a layer, from the name that the exporter gave the layer."""

from __future__ import annotations

from collections.abc import Iterable

_ROOT = "__module"


def module_of(layer: str) -> str:
    """Return the path of a module as written in a layer's name; empty if the name contains none.

    TorchScript: `__module.layer1.0.conv1/aten::_convolution/Convolution`; ONNX: `/layer1/layer1.0/conv1/Conv`, where
    the child of a Sequential repeats the name of its parent.
    """
    scopes = [part for part in layer.split("/")[:-1] if part]
    if scopes and scopes[0].startswith(f"{_ROOT}."):
        return scopes[0][len(_ROOT) + 1 :]
    if not layer.startswith("/"):
        return ""
    parts: list[str] = []
    for scope in scopes:
        if parts and scope.startswith(f"{parts[-1]}."):
            parts[-1] = scope
        else:
            parts.append(scope)
    return ".".join(parts)


def matches(layer: str, paths: Iterable[str]) -> str | None:
    """Return the path, among those of a network, of the module that a layer's name contains: the same one, or the only
    one that ends like it, because exporters leave out containers that are not called.
    """
    found = module_of(layer)
    if not found:
        return None
    paths = list(paths)
    if found in paths:
        return found
    alike = [path for path in paths if path.endswith(f".{found}")]
    return alike[0] if len(alike) == 1 else None
