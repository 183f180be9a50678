"""One net under examination: its layers by id, and integers read with the right finding when they are not."""

from __future__ import annotations

from typing import Any

from irexec.diagnostics.findings import At, Findings
from irexec.ir.document import Layer, Net, Port
from irexec.ir.text import cut, digits, quoted, whole


class NetScope:
    """A net (a model or a body): the namespace of layer ids."""

    def __init__(self, net: Net, findings: Findings) -> None:
        self.net = net
        self.findings = findings
        self.by_id: dict[int, Layer] = {}
        # Cache of valid shapes by the texts of their dims: models repeat few shapes many times.
        self.clean_dims: dict[tuple[str, ...], tuple[int, ...]] = {}
        # Precision and dims of ports in which nothing was found.
        self.sound: set[tuple[str | None, tuple[str, ...]]] = set()
        # Elements whose id is unreadable or a duplicate: follow-up findings about them are suppressed.
        self.broken: set[int] = set()
        # Shapes already reported as too large.
        self.too_large: set[tuple[int, ...]] = set()
        self._inputs: dict[int, dict[int, Port]] = {}
        self._outputs: dict[int, dict[int, Port]] = {}
        # Cache of unsigned integers by their text.
        self.numbers: dict[str | None, int] = {}
        # Ids of ports that ascend, in canonical form.
        self.ascending: set[tuple[str | None, ...]] = {()}
        # Layers whose ports do not have ids that ascend.
        self.unordered: set[int] = set()

    def whole(
        self,
        text: str | None,
        element: int,
        attribute: str,
        code: str,
        what: str,
        *,
        signed: bool = False,
        layer: Layer | None = None,
        **details: Any,
    ) -> int | None:
        """An id or a position. Adds `code` when it is missing or unreadable, N010 when it is not in canonical form."""
        if text is not None and (value := self.number(text)) is not None:
            return value
        reading = whole(text, signed=signed)
        value = reading.value
        if reading.strict is not None:
            return value
        details |= {"at": At(element, attribute), "layer": None if layer is None else layer.ref, "attribute": attribute}
        if text is None:
            self.findings.add(code, f"{what} is missing", **details)
        elif value is not None:
            self.findings.add(
                "N010",
                f"{what} is written {quoted(text)}",
                found=cut(text),
                candidates=(str(value),),
                **{"allowed": str(value)} | details,
            )
        else:
            kind = "an integer" if signed else "an unsigned integer"
            details = {"allowed": f"{kind} of at most 63 bits"} | details
            self.findings.add(code, f"{what} is {quoted(text)}, not {kind}", found=cut(text), **details)
        if value is None:
            self.broken.add(element)
        return value

    def number(self, text: str) -> int | None:
        """An id or a position in canonical form; None for any other."""
        value = self.numbers.get(text)
        if value is None and (value := digits(text)) is not None:
            self.numbers[text] = value
        return value

    def inputs(self, layer: Layer) -> dict[int, Port]:
        """A layer's input ports by id, the first where an id repeats."""
        found = self._inputs.get(layer.at)
        if found is None:
            found = self._inputs[layer.at] = self._ports(layer.inputs)
        return found

    def outputs(self, layer: Layer) -> dict[int, Port]:
        """A layer's output ports by id, the first where an id repeats."""
        found = self._outputs.get(layer.at)
        if found is None:
            found = self._outputs[layer.at] = self._ports(layer.outputs)
        return found

    def has_broken(self, ports: tuple[Port, ...]) -> bool:
        """True when one of the ports has an id that cannot be read."""
        return bool(self.broken) and any(port.at in self.broken for port in ports)

    def _ports(self, ports: tuple[Port, ...]) -> dict[int, Port]:
        found: dict[int, Port] = {}
        for port in ports:
            number = self.numbers.get(port.id or "")
            if number is None:
                number = whole(port.id).value
            if number is not None:
                found.setdefault(number, port)
        return found
