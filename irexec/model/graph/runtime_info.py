"""rt_info: runtime information about the model, its layers and ports, as Python values.

For a model it consists of nested dicts of texts. For a layer or port it contains, under OpenVINO's key `name_version`,
the entries that OpenVINO interprets (`RuntimeAttribute`), and under their own names the entries of users: texts or
nested dicts. Source: OpenVINO IR, rt_info and the legacy meta_data and quantization_parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from irexec.ir.document import Element, Layer, Net
from irexec.model.graph.model import Node

_USER_DATA = ("user_data", "custom")


class InfoText(str):
    """A text of rt_info. It has a `value`, because OpenVINO wraps texts in objects with this attribute."""

    __slots__ = ()

    @property
    def value(self) -> str:
        return str(self)


class RuntimeAttribute(NamedTuple):
    """One `<attribute>` of a layer's or port's rt_info; `payload` contains its attributes other than name and
    version."""

    name: str
    version: str
    payload: dict[str, str]

    @property
    def key(self) -> str:
        """The key in OpenVINO's rt_info, such as `layout_0`."""
        return f"{self.name}_{self.version}"


def model_info(net: Net) -> dict[str, Any]:
    """Return the rt_info of a model or body; without `<rt_info>` it is built from legacy sections, as in OpenVINO."""
    if net.rt_info is not None:
        return _entries(net.rt_info.children)
    found: dict[str, Any] = {}
    for child in net.meta_data.children if net.meta_data is not None else ():
        if "value" in child.attributes:
            found[_key(child)] = child.attributes["value"]
        elif child.tag == "cli_parameters":
            found["conversion_parameters"] = _conversion_parameters(child)
    quantization = net.quantization_parameters
    found["optimization"] = {} if quantization is None else _entries(quantization.children)
    for child in quantization.children if quantization is not None else ():
        if child.tag == "config":
            found["optimization"]["config"] = (child.text or "").replace("\n", "")
    return found


def keep_info(node: Node, layer: Layer) -> None:
    """Give a node the rt_info of its layer and ports, and the plugin hints in its `<data>`."""
    if layer.rt_info is not None:
        node.rt_info = item_info(layer.rt_info)
    if "PrimitivesPriority" in layer.data:
        hint = RuntimeAttribute("primitives_priority", "0", {"value": layer.data["PrimitivesPriority"]})
        node.rt_info.setdefault(hint.key, hint)
    if "alt_width" in layer.data:
        node.rt_info["alt_width"] = layer.data["alt_width"]
    if layer.is_plain:
        return
    for position, port in enumerate(layer.inputs):
        if port.rt_info is not None:
            node.input_rt_info[position] = item_info(port.rt_info)
    for value, port in zip(node.outputs, layer.outputs, strict=False):
        if port.rt_info is not None:
            value.rt_info = item_info(port.rt_info)


def item_info(element: Element | None) -> dict[str, Any]:
    """Return the rt_info of a layer or port. Entries without a name have no effect and are dropped."""
    found: dict[str, Any] = {}
    for entry in element.children if element is not None else ():
        payload = dict(entry.attributes)
        name, version = payload.pop("name", ""), payload.pop("version", None)
        if not name:
            continue
        if entry.tag == "attribute" and version is not None:
            attribute = RuntimeAttribute(name, version, payload)
            found[attribute.key] = attribute
        elif entry.tag in _USER_DATA:
            found[name] = _user_data(entry)
    return found


def _user_data(entry: Element) -> Any:
    if "value" in entry.attributes:
        return InfoText(entry.attributes["value"])
    return {c.attributes["name"]: _user_data(c) for c in entry.children if c.attributes.get("name")}


def _entries(elements: Sequence[Element]) -> dict[str, Any]:
    return {
        _key(e): InfoText(e.attributes["value"]) if "value" in e.attributes else _entries(e.children) for e in elements
    }


def _key(element: Element) -> str:
    return element.attributes.get("name", element.tag)


def _conversion_parameters(element: Element) -> dict[str, Any]:
    found = _entries(element.children)
    for child in element.children:
        if "unset_cli_parameters" in child.attributes:
            found[child.tag] = child.attributes["unset_cli_parameters"]
    return found
