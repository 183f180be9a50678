"""Writing rt_info: of models as nested elements, of layers and ports as `<attribute>` and `<user_data>`."""

from __future__ import annotations

from typing import Any

from irexec.graph.runtime_info import RuntimeAttribute
from irexec.ir.xml.markup import Markup, is_tag


def write_model_info(out: Markup, info: dict[str, Any]) -> None:
    """Write the `<rt_info>` of a net or body, even if it is empty: without it readers look for legacy sections."""
    if not info:
        out.empty("rt_info")
        return
    out.open("rt_info")
    for key, value in info.items():
        _write_entry(out, key, value)
    out.close("rt_info")


def _write_entry(out: Markup, key: str, value: Any) -> None:
    tag, attributes = (key, {}) if is_tag(key) else ("info", {"name": key})
    _write_value(out, tag, attributes, value, _write_entry)


def write_item_info(out: Markup, info: dict[str, Any]) -> None:
    """Write the `<rt_info>` of a layer or port, unless it is empty."""
    if not info:
        return
    out.open("rt_info")
    for key, value in info.items():
        if isinstance(value, RuntimeAttribute):
            out.empty("attribute", {"name": value.name, "version": value.version, **value.payload})
        else:
            _write_user_data(out, key, value)
    out.close("rt_info")


def _write_user_data(out: Markup, key: str, value: Any) -> None:
    _write_value(out, "user_data", {"name": key}, value, _write_user_data, {"version": ""})


def _write_value(
    out: Markup, tag: str, attributes: dict[str, str], value: Any, inner: Any, last: dict[str, str] | None = None
) -> None:
    last = last or {}
    if not isinstance(value, dict):
        out.empty(tag, {**attributes, "value": _text(value), **last})
    elif not value:
        out.empty(tag, {**attributes, **last})
    else:
        out.open(tag, {**attributes, **last})
        for key, item in value.items():
            inner(out, key, item)
        out.close(tag)


def _text(value: Any) -> str:
    """Return the text of a leaf as OpenVINO writes it: YES and NO for booleans, lists separated by blanks."""
    if isinstance(value, bool):
        return "YES" if value else "NO"
    if isinstance(value, (list, tuple)):
        return " ".join(map(_text, value))
    return str(value)
