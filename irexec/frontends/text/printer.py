"""Printing a model in the text form: short, or with everything that its file contains."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import IO

from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.findings import Findings
from irexec.frontends.text.layers import LayerText
from irexec.frontends.text.names import Names
from irexec.frontends.text.rest import element_lines, rest_text
from irexec.frontends.text.words import word
from irexec.ir.document import Document, Element, Layer, Net
from irexec.ir.reader import read_document
from irexec.ir.weights.file import Weights
from irexec.ir.weights.writer import Blobs
from irexec.ir.xml.source import Source
from irexec.model.graph.build import build
from irexec.model.graph.model import Model, Node
from irexec.model.graph.write import written
from irexec.model.inference import infer_types

_WIDEST_NAME = 24
_WIDEST_LINE = 88
_WIDEST_HEAD = 120
_INDENT = "  "


def print_text(
    model: Model, document: Document | None = None, *, full: bool = False, weights: IO[bytes] | None = None
) -> str:
    """Return the text form of a model. `full`: with everything that its file contains, and not only what readers need.

    `document`: the document that the model was built from; without it, the model is written as a file would be.
    `weights`: a stream to which constants are written that the text does not contain; without it, the text refers to
    the weights of the document. Raises IRError for a model that IR cannot represent.
    """
    if document is None:
        document, model = _document_of(model)
    text = _net_text(model, document, full=full, blobs=None if weights is None else Blobs(weights))
    return "\n".join(line.rstrip() for line in text.lines("model ", _INDENT)) + "\n"


def plain_lines(model: Model, document: Document | None, blobs: Blobs) -> list[str]:
    """Return the lines of the text form without comments and alignment, to be compared with those of another model.
    Equal constants of the models have the same offset in `blobs`. Raises IRError as `print_text`.
    """
    if document is None:
        document, model = _document_of(model)
    text = _net_text(model, document, full=False, blobs=blobs, is_plain=True)
    return [line.rstrip() for line in text.lines("model ", _INDENT)]


def _net_text(model: Model, document: Document, *, full: bool, blobs: Blobs | None, is_plain: bool = False) -> _NetText:
    nodes = {id(node.layer): node for node in model.walk(idle=True)}
    return _NetText(document.net, nodes, model.version, full=full, blobs=blobs, is_plain=is_plain)


def layer_lines(
    model: Model, document: Document | None, wanted: Callable[[Layer], bool] = lambda layer: True
) -> Iterator[tuple[Layer, str]]:
    """Yield some layers of the document, each with its line. Raises IRError without a document, as `print_text`."""
    if document is None:
        document, model = _document_of(model)
    nodes = {id(node.layer): node for node in model.walk(idle=True)}
    nets = [(document.net, False)]
    for net, is_body in nets:
        lines: LayerText | None = None
        for layer in net.layers:
            nets += [(body, True) for *_, body in layer.bodies]
            if wanted(layer):
                lines = lines or LayerText(Names(net, model.version, is_body=is_body), nodes, full=False)
                yield layer, lines.whole_line(layer)


def _document_of(model: Model) -> tuple[Document, Model]:
    """Write a model and read it; return its document, and the model that was built from it."""
    findings, data = Findings(file=model.file), io.BytesIO()
    source = Source(written(model, data, findings))
    document = read_document(source, findings) if findings.report.ok else None
    if document is None:
        raise IRError(findings.report)
    found = Findings(source.locate, mode="openvino")
    again = build(document, found, Weights(data.getbuffer()))
    infer_types(again, found)
    return document, again


class _NetText:
    """The text of one net; each body has its own."""

    def __init__(
        self,
        net: Net,
        nodes: dict[int, Node],
        version: int,
        *,
        full: bool,
        blobs: Blobs | None,
        is_body: bool = False,
        is_plain: bool = False,
    ) -> None:
        """`is_plain`: without comments and alignment."""
        self._net, self._nodes, self._full, self._blobs = net, nodes, full, blobs
        self._is_plain = is_plain
        self.names = Names(net, version, is_body=is_body)
        self._layers = LayerText(self.names, nodes, full=full, blobs=blobs)

    def lines(self, begin: str, indent: str) -> Iterator[str]:
        """Yield the lines; `begin` is what precedes the inputs."""
        if self._net.name is not None and not self.names.is_body:
            begin += f"{word(self._net.name)} "
        yield from self._head(begin, indent)
        shown = [self._layers.line(layer) for layer in self.names.lines]
        short = [len(line.name) for line in shown if len(line.name) <= _WIDEST_NAME and not self._is_plain]
        width = max(short, default=0)
        texts = [f"{line.name:{width}} = {line.text}" for line in shown]
        column = max((len(text) for text in texts if len(text) <= _WIDEST_LINE), default=0)
        for layer, line, text in zip(self.names.lines, shown, texts, strict=True):
            yield f"{indent}{text:{column}}  # {line.types}" if line.types and not self._is_plain else f"{indent}{text}"
            yield from self._bodies(layer, indent + _INDENT)
        for element in self._sections():
            yield from element_lines(element, indent)

    def _head(self, begin: str, indent: str) -> Iterator[str]:
        inputs = [self._layers.parameter(layer) for layer in self.names.parameters]
        outputs = [self._layers.result(layer) for layer in self.names.results]
        version = self._net.version
        rest = rest_text({"version": version} if version not in (None, "11") else {}, [])
        outer = indent.removesuffix(_INDENT)
        head = f"{outer}{begin}({', '.join(inputs)}) -> ({', '.join(outputs)}){rest}"
        if len(head) <= _WIDEST_HEAD:
            yield head
            return
        yield f"{outer}{begin}("
        yield from (f"{indent}{_INDENT}{entry}," for entry in inputs)
        yield f"{outer}) -> ("
        yield from (f"{indent}{_INDENT}{entry}," for entry in outputs)
        yield f"{outer}){rest}"

    def _bodies(self, layer: Layer, indent: str) -> Iterator[str]:
        for name, maps, body in layer.bodies:
            inner = _NetText(
                body,
                self._nodes,
                11,
                full=self._full,
                blobs=self._blobs,
                is_body=True,
                is_plain=self._is_plain,
            )
            yield from inner.lines(f"{name.removesuffix('_body')} ", indent + _INDENT)
            yield from (f"{indent}{line}" for line in inner.names.map_lines(layer, maps))

    def _sections(self) -> Iterator[Element]:
        net = self._net
        full = [net.rt_info, net.meta_data, net.quantization_parameters] if self._full else []
        yield from (element for element in (net.pre_process, *full) if element is not None)
