"""Binding: finding the operator that a layer names, and the values of its attributes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from irexec.core.diagnostics import Severity
from irexec.core.diagnostics.findings import At, Findings
from irexec.core.diagnostics.nearest import alike, clearest
from irexec.core.diagnostics.statements import (
    ACCEPTS,
    CHECKED_BY_SOME,
    COMPUTES,
    READS_EMPTY,
    REJECTS,
    UNDEFINED,
    WITHOUT_BYTES,
)
from irexec.core.forms import INT64_MAX
from irexec.core.structure import ASSIGN, CONST, PARAMETER, RESULT
from irexec.core.types import ElementType, PartialShape
from irexec.core.types.shape import product_within
from irexec.ir.document import Layer
from irexec.ir.text import cut
from irexec.model.arrays.brief import plural
from irexec.ops.spec import contents
from irexec.ops.spec.attributes import Attribute, AttributeFault
from irexec.ops.spec.operator import REGISTRY, Operator

# Hints for OpenVINO's plugins, allowed on any layer.
_PLUGIN_HINTS = frozenset({"PrimitivesPriority", "alt_width"})
# Attributes of OpenVINO's weightless cache: the location of the constant from which this layer was folded.
_WEIGHTLESS = frozenset({"offset", "size", "element_type"})
# OpenVINO's reading of a Parameter, Result or Assign whose type has another letter case; see graph.build.
OTHER_ENDS = {
    PARAMETER: "orders this input after all inputs whose type is spelled 'Parameter'",
    RESULT: "does not recognize it as a result: it silently omits the layer and all layers that only it depends on",
    ASSIGN: "silently omits the layer unless a result depends on it, so the variable is not assigned",
}


def bind_operator(layer: Layer, findings: Findings, layers: Sequence[Layer] = ()) -> Operator | None:
    """Return the operator of a layer; if it does not exist, report a finding and return the operator that is probably
    meant, or None. `layers`: all layers of its net.
    """
    if not layer.type:
        return None  # The reader has reported the missing type; the same holds for an empty version below.
    if layer.version and (contents.is_internal(layer.version) or findings.internal):
        from irexec.model.graph.internal import REFUSED, bind_internal

        if findings.internal:
            return bind_internal(layer, findings)
        message = f"{layer.version!r} is an opset inside of OpenVINO's compiler, which only dumps of its passes contain"
        where: dict[str, Any] = {"at": At(layer.at, "version"), "layer": layer.ref, "attribute": "version"}
        canonical = contents.canonical_type(layer.type)
        hint = None if canonical is None else _versions_of(canonical, layer.version)
        findings.add("L005", message, hint=hint, openvino=REFUSED, **where)
        return None
    if layer.version and (known := REGISTRY.get((layer.type, layer.version))) is not None:
        return known
    of_type: dict[str, Any] = {"at": At(layer.at, "type"), "layer": layer.ref, "attribute": "type"}
    canonical = contents.canonical_type(layer.type)
    if canonical is None:
        return _unknown_type(layer, findings, layers)
    if not layer.version:
        return None
    if layer.type.lower() == "constant":
        # OpenVINO calls the operator "Constant" everywhere except in the file, and reads such a layer without its
        # bytes.
        message, hint = f"{layer.type!r} is not a layer type of IR", "write 'Const'"
        of_type |= {"severity": Severity.ERROR, "openvino": WITHOUT_BYTES}
        findings.add("L009", message, hint=hint, candidates=(canonical,), **of_type)
    elif layer.type != canonical and layer.type not in contents.RENAMED:
        message = f"the type is spelled {layer.type!r} instead of {canonical!r}"
        if canonical in OTHER_ENDS:
            of_type["openvino"] = OTHER_ENDS[canonical]
        findings.add("L009", message, hint=f"write {canonical!r}", candidates=(canonical,), **of_type)
    found = contents.find(canonical, layer.version)
    if found is not None:
        _note_newer(layer, canonical, found, findings)
        return found
    of_version: dict[str, Any] = {"at": At(layer.at, "version"), "layer": layer.ref, "attribute": "version"}
    number = contents.OPSETS.get(layer.version)
    if number is None:
        message = f"{layer.version!r} is not the name of an opset that contains {canonical}"
        written = re.sub(r"[\W_]", "", layer.version.lower())
        meant = tuple(name for name in contents.OPSETS if written in (name, name[5:]))
        of_version |= {"allowed": _opsets(contents.opsets_with(canonical)), "candidates": meant}
        findings.add("L005", message, hint=None if meant else _versions_of(canonical, layer.version), **of_version)
        # Checks continue with the operator if all opsets that contain it have the same one, or the text names one.
        opsets = meant or [f"opset{number}" for number in contents.opsets_with(canonical)]
        named = {contents.find(canonical, version) for version in opsets} if meant or "opset" in written else set()
        return named.pop() if len(named) == 1 else None
    since = contents.introduced(canonical, number)
    if since is None:
        having = contents.opsets_with(canonical)
        message = f"opset{number} has no {canonical}; the operator is in {_opsets(having)}"
        nearest = f"opset{having[0] if having[0] > number else having[-1]}"
        findings.add("L006", message, hint=f'version="{nearest}"', candidates=(nearest,), **of_version)
        return contents.find(canonical, nearest)
    message = f"{canonical}-{since} is not implemented yet"
    hint = "an extension can declare the operator with irexec.operator"
    findings.add("O004", message, at=At(layer.at, "type"), layer=layer.ref, hint=hint)
    return None


def _versions_of(canonical: str, version: str) -> str:
    """Return a hint that names the opsets of an operator whose version is not an opset."""
    begins = [n for n in contents.CONTENTS[canonical][1] if n in contents.opsets_with(canonical)]
    text = f'version="opset{begins[0]}" has {canonical}'
    if len(begins) > 1:
        text = f"{canonical} has versions of {', '.join(f'opset{n}' for n in sorted(begins))}"
    if version == "extension" and canonical in contents.ONCE_TOKENIZERS:
        text += "; older releases of OpenVINO Tokenizers wrote the layer: OpenVINO reads it with their library"
    return text


def _opsets(numbers: list[int]) -> str:
    return f"opset{numbers[0]}" if len(numbers) == 1 else f"opset{numbers[0]} to opset{numbers[-1]}"


def _unknown_type(layer: Layer, findings: Findings, layers: Sequence[Layer]) -> Operator | None:
    type_text, version = layer.type or "", layer.version or ""
    foreign = contents.find(type_text, version)
    if foreign is not None:
        return foreign
    if version == "extension" and type_text in contents.OTHER_TOKENIZERS:
        _name_tokenizers(layer, findings, layers)
        return None
    if version == "extension" and type_text in contents.INSIDE:
        message = f"{type_text} is an operator inside of OpenVINO's compiler, which only dumps of its passes contain"
        findings.add("L004", message, at=At(layer.at, "type"), layer=layer.ref, attribute="type")
        return None
    from irexec.ops.spec.other_names import meant_by

    meant = meant_by(type_text)
    near = tuple(contents.nearest_types(type_text)) if meant is None else meant.types
    hint = f"did you mean {' or '.join(near)}?" if near else None
    if meant is not None and meant.note is not None:
        hint = f"{hint} {meant.note}" if hint else meant.note
        near = () if len(near) == 1 else near  # Changing the type only would not fix it.
    message = f"no opset has an operator {type_text!r}"
    details: dict[str, Any] = {"layer": layer.ref, "attribute": "type", "candidates": near}
    hint = hint or "to load your own operator, use --extension"
    findings.add("L004", message, at=At(layer.at, "type"), hint=hint, **details)
    clear = clearest(list(near), type_text) if version in contents.OPSETS else None
    is_misspelled = clear is not None and alike(clear.lower(), type_text.lower(), 0.8)
    return contents.find(clear, version) if clear is not None and is_misspelled else None


def _name_tokenizers(layer: Layer, findings: Findings, layers: Sequence[Layer]) -> None:
    """Report once per file which operators of OpenVINO Tokenizers irexec lacks, instead of once for each layer."""
    if any(finding.code == "L012" for finding in findings.report):
        return
    used = {other.type for other in layers if other.version == "extension"} | {layer.type}
    types = sorted(type for type in used if type in contents.OTHER_TOKENIZERS)
    names = " and ".join([", ".join(types[:-1]), types[-1]] if len(types) > 1 else types)
    few = len(types) == 1
    message = (
        f"{names} {'is an operator' if few else 'are operators'} of OpenVINO Tokenizers that irexec does not include"
    )
    hint = (
        f"declare {'it' if few else 'them'} in a file given with --extension FILE.py: @irexec.operator("
        + f'"{layer.type}", "extension")'
    )
    findings.add("L012", message, at=At(layer.at, "type"), layer=layer.ref, attribute="type", hint=hint)


def _note_newer(layer: Layer, canonical: str, found: Operator, findings: Findings) -> None:
    if layer.version != found.opset and canonical in contents.CONTENTS:
        message = f"{canonical} in {layer.version} is the operator of {found.opset}"
        findings.add("L007", message, at=At(layer.at, "version"), layer=layer.ref, attribute="version")


# Types whose layers are not cached, because they rarely have equal attributes.
_SINGLE = frozenset({PARAMETER, CONST})


class Binder:
    """Binds the layers of one model. Layers with the same attributes, and without findings, are bound once."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._bound: dict[object, dict[str, Any]] = {}
        self._leftovers: set[str] = set()

    def attributes(self, layer: Layer, operator: Operator) -> dict[str, Any]:
        """Return the result of `bind_attributes` as a new dict, which the caller may change."""
        if operator.type in _SINGLE:
            return bind_attributes(layer, operator, self._findings, self._leftovers)
        key = (operator, *layer.data.items())
        found = self._bound.get(key)
        if found is None:
            reported = len(self._findings.report)
            found = bind_attributes(layer, operator, self._findings, self._leftovers)
            # Findings about a shape depend on the layer: a shape already reported as too large at a port is not
            # reported again.
            if len(self._findings.report) == reported and not any(isinstance(v, PartialShape) for v in found.values()):
                self._bound[key] = found
        return dict(found)


def bind_attributes(
    layer: Layer, operator: Operator, findings: Findings, reported: set[str] | None = None
) -> dict[str, Any]:
    """Return the layer's attributes by Python name; every problem becomes a finding at the attribute's value.

    `reported`: the leftovers that have a finding, which other layers share.
    """
    given: dict[str, str] = dict(layer.data)
    own, python_names, differing, of_one_length = _words(operator)
    if unknown := given.keys() - own:
        from irexec.model.graph.unknown_attributes import is_leftover

        for name in [name for name in given if name in unknown and is_leftover(operator, name, given[name])]:
            del given[name]
            _report_leftover(name, layer, findings, set() if reported is None else reported)
    for name in given.keys() & (_PLUGIN_HINTS - own):
        del given[name]
    if given.keys() >= _WEIGHTLESS and not own & {"offset", "size"}:
        for name in _WEIGHTLESS - own:
            del given[name]
    renamed = {name: python_names[name] for name in given if name in python_names} if python_names else {}
    for name in renamed:
        del given[name]
    values, problems = operator.parse_attributes(given)
    for name, file_name in renamed.items():
        message, hint = f"the operator has no attribute {name!r}", f"did you mean {file_name!r}?"
        problems.append(AttributeFault("D001", name, message, hint, candidates=(file_name,)))
    is_constant = operator.type == CONST
    absent = {fault.attribute: fault.defined for fault in problems if fault.code == "D002"}
    if is_constant:
        absent |= {name: False for name in ("offset", "size") if name not in given}
    problems, rejected = _of_one_cause(problems, absent) if absent else problems, list[AttributeFault]()
    for fault in problems:
        if is_constant and fault.attribute in own | {"value"}:
            if fault.code == "D002" or not fault.defined:
                values.pop(fault.attribute, None)
                rejected.append(fault)
            continue  # Faults of a constant are reported when its weights are read.
        if fault.attribute == "variable_id" and findings.has_finding("V001", layer.ref):
            continue
        absent_name = fault.missing or (fault.attribute if fault.code == "D002" else "")
        taken = differing.get(absent_name)
        if fault.code == "D005" or (fault.code == "D006" and not fault.defined):
            taken = next((a.reading.others for a in operator.attributes if a.file_name == fault.attribute), None)
        if _report(fault, layer, operator, findings, taken) is Severity.ERROR and not fault.computed:
            # Drop the placeholder, so that it causes no follow-up findings.
            rejected.append(fault)
            for attribute in operator.attributes:
                if attribute.file_name in (fault.attribute, fault.missing):
                    values.pop(attribute.name, None)
    if rejected:
        from irexec.model.graph.correction import corrected

        findings.corrections[layer.at] = corrected(layer, operator, given, rejected)
    for attribute in operator.attributes if differing else ():
        name = attribute.file_name
        if name in differing and name not in layer.data and not attribute.required:
            message = f"{name} is omitted; its default on the operation page is {_text(attribute.default)}"
            details: dict[str, Any] = {"attribute": name, "openvino": differing[name]}
            if differing[name] == REJECTS:
                details["severity"] = Severity.WARNING
            findings.add("D011", message, at=At(_data_of(layer)), layer=layer.ref, **details)
    if of_one_length:
        written = {of_one_length[0], *layer.data}
        _check_lengths({name: values.get(name, ()) for name in of_one_length if name in written}, layer, findings)
    for attribute in operator.attributes:
        shape = values.get(attribute.name)
        if isinstance(shape, PartialShape) and attribute.file_name in layer.data and shape.rank is not None:
            kinds = [value for value in values.values() if isinstance(value, ElementType)]
            _check_shape(attribute.file_name, shape, kinds, layer, findings)
    return values


def _of_one_cause(faults: list[AttributeFault], absent: dict[str, bool]) -> list[AttributeFault]:
    """Return the faults without the faults of missing attributes that are present under a wrong name.

    `absent`: the missing attributes, and whether the result is defined without them.
    """
    result = []
    for fault in faults:
        meant = fault.candidates[0] if fault.code == "D001" and len(fault.candidates) == 1 else None
        if meant is not None and (defined := absent.pop(meant, None)) is not None:
            message = f"{fault.message}, and the required attribute {meant!r} is missing"
            fault = fault._replace(message=message, defined=fault.defined and defined, missing=meant)
        result.append(fault)
    return [fault for fault in result if fault.code != "D002" or fault.attribute in absent]


def _report(fault: AttributeFault, layer: Layer, operator: Operator, findings: Findings, taken: str | None) -> Severity:
    """Add the finding of a fault and return its severity. `taken`: OpenVINO's reading of the attribute, if known."""
    name, unknown = fault.attribute, fault.code == "D001"
    if unknown:
        from irexec.model.graph.unknown_attributes import explained

        fault = explained(fault, layer, operator)
    # A warning only if all readers agree on the meaning of an out-of-range value.
    agreed = findings.mode == "openvino" if fault.computed else fault.code == "D007" and fault.defined
    at = At(_data_of(layer), name if name in layer.data else None, named=unknown)
    taken = taken or _statement(fault, layer, operator)
    known: dict[str, Any] = {} if taken is None else {"openvino": taken}
    finding = findings.add(
        fault.code,
        fault.message,
        at=at,
        layer=layer.ref,
        attribute=name,
        hint=fault.hint,
        allowed=fault.allowed,
        candidates=fault.candidates,
        found=layer.data.get(name),
        defined=fault.defined,
        severity=Severity.WARNING if agreed else None,
        **known,
    )
    return finding.severity


def _report_leftover(name: str, layer: Layer, findings: Findings, reported: set[str]) -> None:
    """Report an attribute that converters wrote, once for all layers of a file."""
    if name not in reported:
        reported.add(name)
        message = f"{name!r} was written by the Model Optimizer, and no reader uses it"
        details: dict[str, Any] = {"attribute": name, "found": layer.data[name], "severity": Severity.WARNING}
        findings.add("D001", message, at=At(_data_of(layer), name, named=True), layer=layer.ref, **details)


def _statement(fault: AttributeFault, layer: Layer, operator: Operator) -> str | None:
    """Return what OpenVINO does with a fault, where it depends on more than the code."""
    if fault.computed:
        return COMPUTES
    if fault.code == "D005" and ElementType.from_attribute(layer.data.get(fault.attribute, "")) is not None:
        return CHECKED_BY_SOME
    if fault.code == "D003" and "-" in layer.data[fault.attribute] and _is_list(fault.attribute, operator):
        return CHECKED_BY_SOME  # Some lists are of unsigned numbers, which must not have a sign.
    if fault.is_limit:
        return ACCEPTS if fault.defined else CHECKED_BY_SOME
    if (fault.code == "D006" and not fault.defined) or (fault.missing is not None and operator.type == CONST):
        return REJECTS
    if fault.code == "D002" and operator.type == PARAMETER:
        return None if layer.data_at >= 0 else REJECTS
    if fault.code == "D002" and fault.defined:
        return READS_EMPTY
    return UNDEFINED if fault.missing is not None and not fault.defined else None


def _is_list(name: str, operator: Operator) -> bool:
    return any(attribute.is_list for attribute in operator.attributes if attribute.file_name == name)


def _data_of(layer: Layer) -> int:
    """Return the number of a layer's `<data>`, or of the layer if it has none."""
    return layer.data_at if layer.data_at >= 0 else layer.at


@cache
def _words(operator: Operator) -> tuple[frozenset[str], dict[str, str], dict[str, str], tuple[str, ...]]:
    """Return facts about an operator's attributes: their names in a file, Python names that differ from these,
    OpenVINO's defaults that differ from the documented defaults, and the lists that OpenVINO requires to have the same
    length.
    """
    attributes = operator.attributes
    return (
        frozenset(a.file_name for a in attributes),
        {a.name: a.file_name for a in attributes if a.name != a.file_name},
        {a.file_name: _without(a, operator) for a in attributes if a.differs},
        tuple(a.name for a in attributes if a.reading.of_one_length),
    )


def _without(attribute: Attribute, operator: Operator) -> str:
    """Return what OpenVINO does if an attribute with another default is missing."""
    name, default = attribute.file_name, attribute.reading.default
    if any(fault.attribute == name for fault in operator.parse_attributes({name: default})[1]):
        return attribute.reading.others or REJECTS
    return f"takes {_text(default)}"


def _check_lengths(written: dict[str, tuple[int, ...]], layer: Layer, findings: Findings) -> None:
    """Report lists that are shorter than the longest; empty lists are treated as absent, except for the first."""
    longest, first = max(written, key=lambda name: len(written[name])), next(iter(written))
    for name, items in written.items():
        most = len(written[longest])
        if len(items) < most and (items or name == first):
            message = f"{name} has {plural(len(items), 'element')}, {longest} has {most}"
            filled = ",".join(map(str, (*items, *[0] * (most - len(items)))))
            details: dict[str, Any] = {"hint": f'{name}="{filled}" has the same meaning', "candidates": (filled,)}
            details |= {
                "found": layer.data.get(name, ""),
                "allowed": plural(most, "element") + ", or none" * (name != first),
            }
            findings.add("D012", message, at=At(layer.data_at, name), layer=layer.ref, attribute=name, **details)


def _check_shape(name: str, shape: PartialShape, kinds: list[ElementType], layer: Layer, findings: Findings) -> None:
    """Report irregularities of a readable shape: brackets, or more bytes than 64 bits can count."""
    text = layer.data[name]
    details: dict[str, Any] = {"at": At(layer.data_at, name), "layer": layer.ref, "attribute": name}
    if text.strip().startswith("["):
        message = f"{name} is written in brackets, which not every version of OpenVINO accepts"
        findings.add("S004", message, found=cut(text), hint=f'{name}="{shape.to_string()}"', **details)
    if 0 in shape.dims:
        return
    widest = max([8, *(kind.bitwidth for kind in kinds)])
    count = product_within((max(1, extent.min) for extent in shape.dims), INT64_MAX * 8 // widest)
    if count is None and not findings.has_finding("P011", layer.ref):
        message = f"the size of a tensor of {name} in bytes exceeds 64 bits"
        findings.add("S007", message, found=cut(text), **details)


def _text(value: Any) -> str:
    if value == ():
        return "an empty list"
    return str(value) if not isinstance(value, (str, ElementType)) else repr(str(value))
