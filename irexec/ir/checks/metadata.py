"""Checks of a model's metadata: rt_info, its legacy forms, pre-process."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from irexec.core.diagnostics.diagnostic import LayerRef
from irexec.core.diagnostics.findings import At, Findings
from irexec.core.forms import F64, I64, ID, read, read_list
from irexec.core.structure import PARAMETER
from irexec.core.types import ElementType
from irexec.ir.document import Element, Layer, Net
from irexec.ir.text import cut, quoted

_FIRST_RT_INFO = 11


def _is_layout(text: str) -> bool:
    return re.fullmatch(r"\[?[\w.?,\s*]*\]?", text) is not None


def _is_order(text: str) -> bool:
    return read_list(I64, text).strict is not None


# The names that OpenVINO interprets, with the required attribute and the check of its value.
_KNOWN: dict[str, tuple[str, Callable[[str], bool]] | None] = {
    "fused_names": ("value", lambda text: True),
    "primitives_priority": ("value", lambda text: True),
    "precise": None,
    "disable_fp16_compression": None,
    "decompression": None,
    "DisablePrecisionConversion": None,
    "nms_selected_indices": None,
    "old_api_map_order": ("value", _is_order),
    "old_api_map_element_type": ("value", lambda text: ElementType.from_attribute(text) is not None),
    "layout": ("layout", _is_layout),
    "memory_type": ("value", lambda text: True),
    "strides_propagation": None,
    "preprocessing": None,
    "DisableConstantFolding": None,
}
_USER_DATA = ("user_data", "custom")


def check_metadata(net: Net, version: int, findings: Findings) -> None:
    """Check the rt_info of a net, of its layers and of their ports, and the legacy sections."""
    if net.rt_info is not None:
        _check_model_entries(net.rt_info, findings)
        for legacy in (net.meta_data, net.quantization_parameters):
            if legacy is not None:
                findings.add("R004", f"<{legacy.tag}> has no effect because <rt_info> is present", at=At(legacy.at))
    elif net.meta_data is not None:
        for child in net.meta_data.children:
            if "value" not in child.attributes and child.tag != "cli_parameters":
                findings.add("R005", f"<{child.tag}> in <meta_data> has no value", at=At(child.at))
    for layer, element in _item_rt_info(net):
        if version < _FIRST_RT_INFO:
            message = f"rt_info on layers and ports is supported since IR version {_FIRST_RT_INFO}"
            findings.add("R007", message, at=At(element.at), layer=layer.ref)
            return
        _check_item_entries(element, layer.ref, findings)


def _item_rt_info(net: Net) -> Iterator[tuple[Layer, Element]]:
    for layer in net.layers:
        if layer.is_plain:
            continue
        if layer.rt_info is not None:
            yield layer, layer.rt_info
        for ports in (layer.inputs, layer.outputs):
            for port in ports:
                if port.rt_info is not None:
                    yield layer, port.rt_info


def _check_model_entries(element: Element, findings: Findings) -> None:
    work = [element]
    while work:
        entry = work.pop()
        if entry.text and entry.text.strip():
            hint = 'write the value as value="..."'
            findings.add("R001", f"text inside <{entry.tag}> is ignored", at=At(entry.at, "#text"), hint=hint)
        work += reversed(entry.children)


def _check_item_entries(element: Element, layer: LayerRef, findings: Findings) -> None:
    seen: dict[str, Element] = {}
    for entry in element.children:
        name = entry.attributes.get("name")
        if entry.tag in _USER_DATA and name:
            continue
        if entry.tag != "attribute" or not name or "version" not in entry.attributes:
            message = f"<{entry.tag}> is not an rt_info entry with a name and a version"
            findings.add("R001", message, at=At(entry.at), layer=layer)
        elif name not in _KNOWN:
            message = f"rt_info attribute {quoted(name)} is not defined by OpenVINO"
            findings.add("R002", message, at=At(entry.at, "name"), layer=layer)
        elif seen.setdefault(name, entry) is not entry:
            related = (("first occurrence", At(seen[name].at)),)
            message = f"rt_info attribute {quoted(name)} is repeated"
            findings.add("R003", message, at=At(entry.at), layer=layer, related=related)
        else:
            _check_payload(name, entry, layer, findings)


def _check_payload(name: str, entry: Element, layer: LayerRef, findings: Findings) -> None:
    payload = _KNOWN[name]
    if payload is None:
        return
    attribute, holds = payload
    text = entry.attributes.get(attribute)
    if text is None:
        message = f"rt_info attribute {quoted(name)} has no {attribute}"
        findings.add("R001", message, at=At(entry.at), layer=layer, attribute=attribute)
    elif not holds(text):
        message = f"{attribute} of rt_info attribute {quoted(name)} cannot be read: {quoted(text)}"
        findings.add("R006", message, at=At(entry.at, attribute), layer=layer, attribute=attribute, found=cut(text))


def check_pre_process(net: Net, findings: Findings) -> None:
    """Check the legacy mean subtraction: the input that it names, and one mean for each channel."""
    section = net.pre_process
    if section is None:
        return

    def refuse(message: str, element: Element, attribute: str | None = None) -> None:
        findings.add("R008", message, at=At(element.at, attribute), attribute=attribute)

    name = section.attributes.get("reference-layer-name", "").strip()
    inputs = [layer.name for layer in net.layers if layer.type == PARAMETER]
    if name and name not in inputs:
        refuse(f"no Parameter is named {quoted(name)}", section, "reference-layer-name")
    forms = set()
    for channel in section.children:
        if channel.tag != "channel":
            refuse(f"<{channel.tag}> is not a <channel> element", channel)
            continue
        if "id" in channel.attributes and read(ID, channel.attributes["id"]).value is None:
            refuse("the channel's id is not an unsigned integer", channel, "id")
        for mean in (child for child in channel.children if child.tag == "mean"):
            forms.add("value" if "value" in mean.attributes else "offset")
            for attribute, message in _faults_of_mean(mean):
                refuse(message, mean, attribute)
    if len(forms) > 1:
        refuse("some means are values and others are images", section)


def _faults_of_mean(mean: Element) -> Iterator[tuple[str, str]]:
    """Yield the attributes of a mean that cannot be read, with the reasons."""
    if "value" in mean.attributes:
        if read(F64, mean.attributes["value"]).strict is None:
            yield "value", "the mean is not a number"
        return
    for attribute in ("offset", "size"):
        if read(ID, mean.attributes.get(attribute)).value is None:
            yield attribute, f"the mean has neither a value nor a readable {attribute}"
