"""Names in an IR of version 10. OpenVINO adds the names of layers to the tensor names of inputs and results, and then
rejects the file if a name belongs to two of them.
"""

from __future__ import annotations

from irexec.core.diagnostics.findings import At, Findings
from irexec.core.structure import PARAMETER, RESULT
from irexec.ir.document import Layer, Net, Port
from irexec.ir.text import name_list, quoted


def check_old_names(net: Net, findings: Findings) -> None:
    """Report names of inputs and results that OpenVINO finds ambiguous, in the order of its checks."""
    parameters = [(layer, layer.outputs[0]) for layer in net.layers if layer.type == PARAMETER and layer.outputs]
    results = list(_results(net))
    known = {name: (layer, port) for layer, port in parameters for name in _names(port)}
    for result, _, port in results:
        for name in _names(port):
            first, of = known.setdefault(name, (result, port))
            if first is not result and of is port:  # The same name of another port is renamed, see P012.
                message = f"the tensor name {quoted(name)} is that of an input or another result as well"
                _add(message, result, At(port.at, "names"), findings)
                return
    own = [(source, port, _result_name(source, port)) for _, source, port in results]
    own += [(layer, port, layer.name or "") for layer, port in parameters]
    for layer, port, name in own:
        if known.setdefault(name, (layer, port))[1] is not port and name not in _names(port):
            message = f"the name {quoted(name)} of {layer.ref} is the tensor name of another input or result"
            _add(message, layer, At(layer.at, "name"), findings)
            return


def _results(net: Net) -> list[tuple[Layer, Layer, Port]]:
    """Return each Result with the layer and the port that it returns."""
    layers = {layer.id: layer for layer in net.layers}
    found = []
    for edge in net.edges:
        result, source = layers.get(edge.to_layer), layers.get(edge.from_layer)
        if result is not None and source is not None and result.type == RESULT:
            found += [(result, source, port) for port in source.outputs if port.id == edge.from_port]
    return sorted(found, key=lambda item: item[0].at)


def _names(port: Port) -> list[str]:
    return name_list(port.names or "")


def _result_name(source: Layer, port: Port) -> str:
    """Return the name that OpenVINO's API before 2022 had for a result."""
    name = source.name or ""
    return name if len(source.outputs) == 1 else f"{name}.{source.outputs.index(port)}"


def _add(message: str, layer: Layer, at: At, findings: Findings) -> None:
    hint = 'remove names="...", or write the model as version 11, where only tensor names count'
    findings.add("P014", message, at=at, layer=layer.ref, hint=hint)
