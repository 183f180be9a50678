"""A net while it is checked: its layers by id, and integers in its text, with a finding if they are invalid."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from irexec.core.diagnostics.findings import At, Findings
from irexec.core.forms import ID, SIGNED, digits, read
from irexec.ir.document import Layer, Net, Port
from irexec.ir.text import cut, quoted


class NetScope:
    """A net (a model or a body) while it is checked; layer ids are unique in it."""

    def __init__(self, net: Net, findings: Findings) -> None:
        self.net = net
        self.findings = findings
        self.by_id: dict[int, Layer] = {}
        # Cache of valid shapes by the texts of their dims: models repeat few shapes many times.
        self.clean_dims: dict[tuple[str, ...], tuple[int, ...]] = {}
        # Precision and dims of ports without findings.
        self.sound: set[tuple[str | None, tuple[str, ...]]] = set()
        # Elements whose id is unreadable or a duplicate: follow-up findings about them are suppressed.
        self.broken: set[int] = set()
        # Shapes already reported as too large.
        self.too_large: set[tuple[int, ...]] = set()
        self._broken_sides: dict[int, bool] = {}
        self._inputs: dict[int, dict[int, Port]] = {}
        self._outputs: dict[int, dict[int, Port]] = {}
        # Cache of unsigned integers by their text.
        self.numbers: dict[str | None, int] = {}
        # Lists of port ids in ascending order, in canonical form.
        self.ascending: set[tuple[str | None, ...]] = {()}
        # Layers whose port ids are not in ascending order.
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
        """Return an id or a position. Adds `code` if it is missing or unreadable, N010 if its form is not canonical."""
        if text is not None and (value := self.number(text)) is not None:
            return value
        reading = read(SIGNED if signed else ID, text)
        value = reading.value
        if reading.strict is not None:
            return value
        details |= {"at": At(element, attribute), "layer": None if layer is None else layer.ref, "attribute": attribute}
        if text is None:
            self.findings.add(code, f"{what} is missing", **details)
        elif value is not None:
            self.findings.add(
                "N010",
                f"{what} is written as {quoted(text)}",
                found=cut(text),
                candidates=(str(value),),
                **{"allowed": str(value)} | details,
            )
        else:
            kind = "an integer" if signed else "an unsigned integer"
            details = {"allowed": f"{kind} of at most 63 bits"} | details
            self.findings.add(code, f"{what} is {quoted(text)}, expected {kind}", found=cut(text), **details)
        if value is None:
            self.broken.add(element)
        return value

    def number(self, text: str) -> int | None:
        """Return an id or a position in canonical form; None for any other text."""
        value = self.numbers.get(text)
        if value is None and (value := digits(text)) is not None:
            self.numbers[text] = value
        return value

    def inputs(self, layer: Layer) -> dict[int, Port]:
        """Return a layer's input ports by id, the first port if an id repeats."""
        found = self._inputs.get(layer.at)
        if found is None:
            found = self._inputs[layer.at] = self._ports(layer.inputs)
        return found

    def outputs(self, layer: Layer) -> dict[int, Port]:
        """Return a layer's output ports by id, the first port if an id repeats."""
        found = self._outputs.get(layer.at)
        if found is None:
            found = self._outputs[layer.at] = self._ports(layer.outputs)
        return found

    def has_broken(self, ports: tuple[Port, ...]) -> bool:
        """Return True if one of the ports has an unreadable id. `ports` are all inputs or all outputs of a layer, whose
        ids were read before.
        """
        if not self.broken or not ports:
            return False
        first = ports[0].at
        if first not in self._broken_sides:
            self._broken_sides[first] = any(port.at in self.broken for port in ports)
        return self._broken_sides[first]

    @cached_property
    def known_ids(self) -> str | None:
        """The ids of layers in a short form; None if one cannot be read. Called after all ids are read."""
        if any(layer.id is None or layer.at in self.broken for layer in self.net.layers):
            return None
        return f"ids from {min(self.by_id)} to {max(self.by_id)}" if self.by_id else "no layer"

    def _ports(self, ports: tuple[Port, ...]) -> dict[int, Port]:
        found: dict[int, Port] = {}
        for port in ports:
            number = self.numbers.get(port.id or "")
            if number is None:
                number = read(ID, port.id).value
            if number is not None:
                found.setdefault(number, port)
        return found
