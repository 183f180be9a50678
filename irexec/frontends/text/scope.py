"""The names of one net: the layer that each name stands for, its id, and its outputs that are used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from irexec.core.diagnostics.nearest import nearest, suggestion
from irexec.frontends.text.lexer import Report
from irexec.frontends.text.syntax import Layer, Net, Port, Word
from irexec.frontends.text.words import word
from irexec.ir.text import cut
from irexec.ops.spec import contents
from irexec.ops.spec.traits import HasBodies

_MOST_HINTS = 20


@dataclass(slots=True)
class Named:
    """A layer of the net: an input, a line, or a result; `ports` is the number of its inputs, `used` of its outputs."""

    part: Port | Layer
    id: str
    ports: int = 0
    used: int = 0

    @property
    def outputs(self) -> int:
        """The number of output ports: those that the line lists, else those that the operator has or layers use."""
        part = self.part
        if isinstance(part, Port):
            return 1
        if part.outputs is not None:
            return len(part.outputs)
        return max(self.used, least_outputs(part.type.text, version_of(part)))


class End(NamedTuple):
    """An output of a layer."""

    layer: Named
    output: int

    @property
    def port(self) -> str:
        """The id of the port: outputs follow the inputs."""
        return str(self.layer.ports + self.output)


def version_of(layer: Layer) -> str | None:
    """Return the version of a layer, by default the newest of its type."""
    if layer.version is not None:
        return layer.version.text
    return contents.versioned(contents.canonical_type(layer.type.text) or layer.type.text, None)


def least_outputs(type: str, version: str | None) -> int:
    """Return the number of output ports of a layer whose outputs the text does not list."""
    operator = contents.find(contents.canonical_type(type) or type, version or "")
    if type == "Result":
        return 0
    if operator is None or HasBodies in operator.traits or operator.signature.makes_any_number:
        return 1
    return len(operator.signature.outputs)


class Scope:
    """The layers of a net by name. Every use of a name finds its layer, or becomes a finding."""

    def __init__(self, net: Net, report: Report) -> None:
        self._report = report
        self._lacking = 0
        self._by_name: dict[str, Named] = {}
        self.inputs = [Named(port, self._id(port, n)) for n, port in enumerate(net.inputs)]
        first = len(net.inputs)
        lines = enumerate(net.layers, first)
        self.layers = [Named(layer, self._id(layer, number), len(layer.inputs)) for number, layer in lines]
        first += len(net.layers)
        self.results = [Named(port, self._id(port, first + n), 1) for n, port in enumerate(net.outputs)]
        for named in (*self.inputs, *self.layers):
            assert named.part.name is not None
            self._define(named.part.name, named)
        self._results: dict[str, Named] = {}
        for named in self.results:
            assert isinstance(named.part, Port) and named.part.value is not None
            self._results.setdefault(_key(named.part.name or named.part.value), named)
            if named.part.name is not None:
                self._check_new(named.part.name)
        self.uses = [*self._used(net)]
        """The names of values, where layers and outputs use them."""
        self._uses = {id(use): self._find(use) for use in self.uses}
        for end in self._uses.values():
            if end is not None:
                end.layer.used = max(end.layer.used, end.output + 1)

    @staticmethod
    def _id(part: Port | Layer, position: int) -> str:
        given = () if part.rest is None else (value for name, value in part.rest.attributes if name.text == "id")
        return next((value.text for value in given), str(position))

    @staticmethod
    def _used(net: Net) -> Iterator[Word]:
        for layer in net.layers:
            yield from (use for use in layer.inputs if use is not None)
        for port in net.outputs:
            assert port.value is not None
            yield port.value

    def _define(self, name: Word, named: Named) -> None:
        if self._check_new(name):
            self._by_name[_key(name)] = named

    def _check_new(self, name: Word) -> bool:
        if _key(name) not in self._by_name:
            return True
        message = f"{cut(repr(_key(name)))} is the name of another layer"
        self._report("X015", message, name.span, "a name in braces may occur twice: x2 = ... {name=x}")
        return False

    def end(self, use: Word) -> End | None:
        """Return the output that a use names; None, with a finding, if there is none."""
        return self._uses[id(use)]

    def named(self, name: Word) -> Named | None:
        """Return the input or layer that has a name."""
        return self._by_name.get(_key(name))

    def _find(self, use: Word) -> End | None:
        if not use.tail and (whole := self._by_name.get(use.text)) is not None:
            return End(whole, 0)
        name, dot, number = (use.text + use.tail).rpartition(".") if use.tail or not use.quoted else ("", "", "")
        if dot and number.isdecimal() and len(number) < 6 and (layer := self._by_name.get(name)) is not None:
            return End(layer, int(number))
        self._lack(use, "no layer or input has the name", self._by_name)
        return None

    def input(self, use: Word) -> str:
        """Return the id of the input of a body that a line names."""
        named = self.named(use)
        if named is None:
            self._lack(use, "the body has no input", (_key(n.part.name) for n in self.inputs if n.part.name))
        return named.id if named is not None else ""

    def result(self, use: Word) -> str:
        """Return the id of the output of a body that a line names."""
        named = self._results.get(_key(use)) or self.named(use)
        if named is None:
            self._lack(use, "the body has no output", self._results)
        return named.id if named is not None else ""

    def _lack(self, use: Word, message: str, known: Iterable[str]) -> None:
        self._lacking += 1
        # A search for similar names takes milliseconds.
        near = nearest(_key(use), known) if self._lacking <= _MOST_HINTS else []
        self._report("X014", f"{message} {cut(repr(_key(use)))}", use.span, suggestion(map(word, near)))


def _key(name: Word) -> str:
    return name.text + name.tail
