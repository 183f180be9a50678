"""Examples of operation pages: `<layer>` as printed, repaired, completed and read, with the values in its comments."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass, field

from irexec.core.collector import no_collection
from irexec.core.diagnostics import Fix, Safety
from irexec.core.diagnostics.diagnostic import Place, Severity
from irexec.core.diagnostics.findings import Findings, Mode
from irexec.frontends.pages.listed import Listed
from irexec.frontends.pages.notes import PortNotes, notes_of_section
from irexec.frontends.pages.repairs.loose import ChooseVersion, LooseLayers
from irexec.frontends.pages.repairs.names import version_from_name
from irexec.frontends.pages.repairs.parts import PrintedElement, Repair
from irexec.frontends.pages.repairs.tree import Tree, read_tree
from irexec.frontends.pages.repairs.writer import Written
from irexec.ir.checks.bodies import bodies_of, check_bodies
from irexec.ir.checks.check import check_net
from irexec.ir.checks.layers import check_layers
from irexec.ir.checks.scope import NetScope
from irexec.ir.document import Document, Layer, Net, Port
from irexec.ir.reader import read_document, read_layers
from irexec.ir.xml.events import Span
from irexec.ir.xml.source import Source

__all__ = ["Snippet", "SnippetLayer", "SnippetPort", "read_snippet", "version_from_name"]

MAX_CHARACTERS = 16_000_000


@dataclass(frozen=True, slots=True)
class SnippetPort:
    """A port with its comments.

    `role` is the name given in a comment, `listed` the values, `place` their location, and `remarks` all other
    comments. `elided`: an ellipsis stands for its dims, so the shape is unknown.
    """

    port: Port
    role: str | None = None
    listed: Listed | None = None
    place: Place | None = None
    remarks: tuple[str, ...] = ()
    elided: bool = False


@dataclass(frozen=True, slots=True)
class SnippetLayer:
    """A layer without a model. `elided` names the sections replaced by an ellipsis ("input", "output", ...).

    `written_type` and `written_version` are the values in the text, which may have been completed in `layer`.
    """

    layer: Layer
    inputs: tuple[SnippetPort, ...]
    outputs: tuple[SnippetPort, ...]
    elided: frozenset[str] = frozenset()
    written_type: str | None = None
    written_version: str | None = None


@dataclass(frozen=True, slots=True)
class Snippet:
    """The content of a text. `document` is None if nothing in it can be read; `findings` contains the reason.

    For a complete model, `layers` is empty. For a snippet, `document.net` contains the layers without edges, and
    `written` is the repaired text.
    """

    text: str
    written: str
    document: Document | None
    findings: Findings
    layers: tuple[SnippetLayer, ...] = ()
    repairs: tuple[Repair, ...] = field(default=(), repr=False)


@no_collection()
def read_snippet(
    given: str | bytes | Source,
    *,
    file: str | None = None,
    known_types: Collection[str] = (),
    choose_version: ChooseVersion = lambda _: None,
    strict: bool = False,
    mode: Mode = "strict",
) -> Snippet:
    """Read an example as printed on an operation page, or a complete `<net>`.

    `known_types` are the operator types that a misspelled type may mean; `choose_version` chooses the version if none
    is given (`version_from_name` uses the name of the page). Every repair is a finding at its location in the given
    text: a warning, or with `strict` an error. A well-formed model is not changed. Errors in the text never raise an
    exception.
    """
    if isinstance(given, bytes):
        given = Source.from_bytes(given, file)
    source = Source(given, file=file) if isinstance(given, str) else given
    text = source.text
    # A text that may be a model is first read as a model. Loose layers are read once, after their repair.
    if source.encoding is None or len(text) > MAX_CHARACTERS:
        return _whole(source, mode)
    if "<net" in text.lower() and source.readable and source.elements().name.lower() == "net":
        return _whole(source, mode)
    tree = read_tree(text)
    if tree.refused is not None:
        tree.repairs.append(tree.refused)
        return _Repaired(source, tree, [], wrapped=False, mode=mode, strict=strict).nothing()
    if nets := tree.root.elements("net"):
        _report_other_roots(tree, nets[:1])
        return _Repaired(source, tree, nets[:1], wrapped=False, mode=mode, strict=strict).model()
    nodes = _loose_nodes(tree.root)
    _report_other_roots(tree, nodes)
    as_written = [(_value(node, "type"), _value(node, "version")) for node in nodes]
    LooseLayers(text, known_types, choose_version, tree.repairs).complete(nodes)
    repaired = _Repaired(source, tree, nodes, wrapped=True, mode=mode, strict=strict)
    return repaired.layers(as_written) if nodes else repaired.nothing()


def _whole(source: Source, mode: Mode) -> Snippet:
    """Read a text without repairs: a model, or a text that cannot be repaired."""
    findings = Findings(source.locate, file=source.file, mode=mode)
    return Snippet(source.text, source.text, read_document(source, findings), findings)


def _loose_nodes(root: PrintedElement) -> list[PrintedElement]:
    """Return the layers that are not in a model: single, consecutive, or in a `<layers>`."""
    return [
        layer
        for node in root.elements("layer", "layers")
        for layer in ([node] if node.name == "layer" else node.elements("layer"))
    ]


def _report_other_roots(tree: Tree, nodes: list[PrintedElement]) -> None:
    roots = tree.root.elements()
    if not nodes:
        tree.repairs.append(Repair("Q029", "the text contains no <layer>", roots[0].span if roots else Span(0, 1)))
    elif len(roots) > 1:
        what = "only the model is read" if nodes[0].name == "net" else f"{len(nodes)} layers are read separately"
        tree.repairs.append(Repair("Q004", f"the text has more than one root element; {what}", roots[1].span))


class _Repaired:
    """Converts a repaired tree to a Snippet: writes it as clean XML, reads it, and maps places back to the original."""

    def __init__(
        self, original: Source, tree: Tree, roots: list[PrintedElement], *, wrapped: bool, mode: Mode, strict: bool
    ) -> None:
        self.text = original.text
        self.nodes = roots
        self.repairs = tree.repairs
        self.strict = strict
        self.written = Written(roots, wrapper="layers" if wrapped else None)
        file = original.file
        self.source = Source(self.written.text, file=file, remap=self.written.original, display_text=self.text)
        self.findings = Findings(self.source.locate, file=file, mode=mode)
        self.editable = original.editable

    def nothing(self) -> Snippet:
        return self._snippet(None)

    def model(self) -> Snippet:
        return self._snippet(read_document(self.source, self.findings))

    def layers(self, as_written: list[tuple[str | None, str | None]]) -> Snippet:
        self.source.report(self.findings)
        layers = read_layers(self.source, self.findings)
        if len(layers) != len(self.nodes):
            return self._snippet(None)
        net = Net(version="11", layers=tuple(layers))
        self._check(net)
        found = [
            self._layer(node, layer, *written)
            for node, layer, written in zip(self.nodes, layers, as_written, strict=True)
        ]
        return self._snippet(Document(net, self.source), tuple(found))

    def _snippet(self, document: Document | None, layers: tuple[SnippetLayer, ...] = ()) -> Snippet:
        starts = [node.span.start for node in self.nodes]
        for repair in sorted(self.repairs, key=lambda repair: repair.span.start):
            index = bisect_right(starts, repair.span.start) - 1
            inside = 0 <= index < len(layers) and repair.span.start < self.nodes[index].end
            self.findings.add(
                repair.code,
                repair.message,
                place=self.source.display_place(repair.span),
                severity=Severity.ERROR if self.strict else None,
                layer=layers[index].layer.ref if inside else None,
                hint=repair.hint,
                found=repair.found,
                allowed=repair.allowed,
                fixes=self._fixes(repair),
            )
        return Snippet(self.text, self.written.text, document, self.findings, layers, tuple(self.repairs))

    def _fixes(self, repair: Repair) -> tuple[Fix, ...]:
        """Return the repair as a fix of the text. A type with another spelling may be a different type."""
        if not repair.changes:
            return ()
        same = repair.code != "Q022" or str(repair.found).lower() == str(repair.allowed).lower()
        edits = tuple(self.editable.edit(*change) for change in repair.changes)
        return (Fix(repair.change_title, Safety.SAFE if same else Safety.UNSAFE, edits),)

    def _check(self, net: Net) -> None:
        """Run the grammar checks of layers and ports, except checks of parts that a page may leave to the signature."""
        version = int(net.version or 0)
        findings = Findings(self.source.locate, file=self.findings.file, mode=self.findings.mode)
        scope = NetScope(net, findings)
        check_layers(scope, version)
        for layer, node in zip(net.layers, self.nodes, strict=True):
            if not _has_ellipsis(node):
                check_bodies(layer, scope)
                for body in bodies_of(layer):
                    check_net(body, version, findings)
        for finding in findings.report:
            is_precision = finding.code == "P003" and finding.found is None
            is_version = finding.code == "L001" and finding.attribute == "version"
            if not (is_precision or is_version):
                self.findings.report.add(finding)

    def _layer(self, node: PrintedElement, layer: Layer, kind: str | None, version: str | None) -> SnippetLayer:
        return SnippetLayer(
            layer,
            self._ports(node, "input", layer.inputs),
            self._ports(node, "output", layer.outputs),
            frozenset(child.name for child in node.elements() if child.elided),
            kind,
            version,
        )

    def _ports(self, layer: PrintedElement, side: str, ports: tuple[Port, ...]) -> tuple[SnippetPort, ...]:
        sections = layer.elements(side)
        if not sections:
            return ()
        nodes, notes = sections[0].elements("port"), notes_of_section(sections[0], self.text)
        return tuple(self._port(*parts) for parts in zip(nodes, notes, ports, strict=True))

    def _port(self, node: PrintedElement, notes: PortNotes, port: Port) -> SnippetPort:
        place = self.source.display_place(notes.span) if notes.span is not None else None
        if notes.listed is not None and notes.span is not None and not notes.listed.balanced:
            self.repairs.append(Repair("Q028", "the brackets around the values do not match", notes.span))
        return SnippetPort(port, notes.role, notes.listed, place, tuple(notes.remarks), node.elided)


def _value(node: PrintedElement, name: str) -> str | None:
    attribute = node.get(name)
    return attribute.value if attribute is not None else None


def _has_ellipsis(node: PrintedElement) -> bool:
    return node.elided or any(_has_ellipsis(child) for child in node.elements())
