"""The element tree of a printed example: missing and misspelt tags are inferred from the grammar."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from irexec.core.diagnostics.nearest import alike
from irexec.frontends.pages.repairs.changes import end_tag, opened_again, without
from irexec.frontends.pages.repairs.grammar import CHILDREN, NAMES, is_free, spelt_like
from irexec.frontends.pages.repairs.parts import Change, PrintedComment, PrintedElement, Repair, Text
from irexec.frontends.pages.repairs.scanner import ELLIPSIS, Scanner, Tag
from irexec.ir.xml.events import Span

MAX_DEPTH = 200
MAX_TOKENS = 2_000_000

_SHOWN = re.compile(r"\S.*\S|\S", re.DOTALL)


@dataclass(slots=True)
class Tree:
    """The roots under a nameless node, and the repairs. `refused` gives the reason if there is no tree."""

    root: PrintedElement
    repairs: list[Repair] = field(default_factory=list)
    refused: Repair | None = None


def read_tree(text: str) -> Tree:
    """Read any text as the elements of an IR. Refuses only document types and excessive depth or size."""
    return _Builder(text).build()


class _Builder:
    def __init__(self, text: str) -> None:
        self.text = text
        self.repairs: list[Repair] = []
        self.root = PrintedElement("", Span(0, 0))
        self.stack = [self.root]
        # The places of text around the elements that looks like a tag.
        self._prose: list[Span] = []

    def build(self) -> Tree:
        scanner = Scanner(self.text, self.repairs)
        tokens = list(scanner.tokens())
        refused = None
        if scanner.unsafe is not None:
            refused = Repair("X002", "a document type declaration is not allowed", scanner.unsafe)
        elif len(tokens) > MAX_TOKENS:
            refused = Repair("X005", f"the text has more than {MAX_TOKENS} tags and pieces of text", Span(0, 1))
        for index, token in enumerate(tokens if refused is None else ()):
            if isinstance(token, Text):
                self._characters(token)
            elif isinstance(token, PrintedComment):
                self.top.children.append(token)
            elif token.closing or self._closes_itself(token, tokens[index + 1 : index + 20]):
                self._close(token)
            else:
                self._open(token)
            if len(self.stack) > MAX_DEPTH:
                refused = Repair("X005", f"elements are nested more than {MAX_DEPTH} levels deep", self.top.span)
                break
        self._finish(cut_off=scanner.cut_off)
        self._data_as_text(scanner)
        self._report_prose()
        return Tree(self.root, self.repairs, refused)

    @property
    def top(self) -> PrintedElement:
        return self.stack[-1]

    def _repair(
        self, code: str, message: str, span: Span, title: str = "", *changes: Change, hint: str | None = None
    ) -> None:
        self.repairs.append(Repair(code, message, span, hint, change_title=title, changes=changes))

    # Start tags

    def _open(self, tag: Tag) -> None:
        if tag.name == "xml":
            what = "the XML declaration is written as an element"
            self._repair("Q012", what, tag.span, hint='write <?xml version="1.0"?>')
            return
        name = self._name(tag)
        if len(self.stack) == 1 and name not in NAMES:
            self._prose.append(tag.span)
            return
        if self._is_written_twice(name, tag):
            change = without(self.text, tag.span)
            self._repair(
                "Q034", f"the start tag of <{name}> is written twice", tag.span, "remove the second tag", change
            )
            return
        if name in NAMES:
            self._make_room(name, tag.span)
        end = tag.span.start + tag.span.length
        node = PrintedElement(name, tag.span, tag.attributes, end=end)
        self.top.children.append(node)
        if not tag.empty:
            self.stack.append(node)

    def _is_written_twice(self, name: str, tag: Tag) -> bool:
        """Return True for a repeated start tag of an element that cannot be nested in itself."""
        top = self.top
        if name != top.name or tag.empty or name in CHILDREN.get(name, {name}) or len(top.children) > 1:
            return False
        first = self.text[top.span.start : top.span.stop]
        return first == self.text[tag.span.start : tag.span.stop] and not top.elements() and not top.text.strip()

    def _name(self, tag: Tag) -> str:
        """Return the element that a start tag is intended for."""
        if tag.name in NAMES or self._is_free():
            return tag.name
        possible = self._possible()
        if ELLIPSIS.fullmatch(tag.name):
            name = _element_with(tag, possible)
            self._repair("Q002", f"an ellipsis stands for the name of an element, which is read as <{name}>", tag.span)
            return name
        if (meant := spelt_like(tag.name, possible)) is not None:
            change = Change(Span(self.text.index(tag.name, tag.span.start), len(tag.name)), meant)
            self._repair("Q026", f"<{tag.name}> is read as <{meant}>", tag.span, f"write <{meant}>", change)
            return meant
        return tag.name

    def _possible(self) -> frozenset[str]:
        """Return the elements that may be opened here: children of the open element, and of the elements around it."""
        return frozenset().union(*(CHILDREN.get(node.name, frozenset()) for node in self.stack))

    def _make_room(self, name: str, span: Span) -> None:
        """Close or open elements so that the grammar allows `name` here; if that is impossible, leave the element where
        it is.
        """
        if name == "dim" and self.top.name in ("input", "output") and not self._takes(len(self.stack) - 1, name):
            self._open_port(span)
        elif name == "port" and self.top.name == "layer":
            self._open_silently("output" if self.top.elements("input") else "input", span)
        else:
            home = next((n for n in reversed(range(len(self.stack))) if self._takes(n, name)), len(self.stack) - 1)
            while len(self.stack) - 1 > home:
                self._close_silently(span.start)

    def _open_port(self, span: Span) -> None:
        """Open a port for dims outside a port: reopen a port closed too early (`<port id="4"/>`), or add a port."""
        last = next((child for child in reversed(self.top.children) if isinstance(child, PrintedElement)), None)
        if last is not None and last.name == "port" and not last.elements("dim"):
            what, changes = ("<dim> elements follow a port that is already closed", opened_again(self.text, last.span))
            self._repair("Q008", what, last.span, "remove the slash from the start tag", *changes)
            behind = self.top.children.index(last) + 1
            last.children += self.top.children[behind:]
            del self.top.children[behind:]
            self.stack.append(last)
        else:
            self._open_silently("port", span)

    def _open_silently(self, name: str, span: Span) -> None:
        """Open an element whose start tag is missing."""
        change = Change(Span(span.start, 0), f"<{name}>")
        self._repair("Q005", f"<{name}> is missing", span, f"add <{name}>", change)
        node = PrintedElement(name, span)
        self.top.children.append(node)
        self.stack.append(node)

    def _takes(self, depth: int, name: str) -> bool:
        """Return whether the open element at `depth` of the stack may have a child of that name."""
        parent = self.stack[depth]
        if depth == 0:
            return name in CHILDREN[""] or len(self.stack) == 1
        if parent.name in ("input", "output") and self.stack[depth - 1].name.endswith("port_map"):
            return False
        return self._is_free(depth) or name in CHILDREN[parent.name]

    def _is_free(self, depth: int = -1) -> bool:
        """Return whether the grammar leaves the content of the open element at `depth` free."""
        return any(is_free(node.name) for node in self.stack[1 : depth % len(self.stack) + 1])

    # End tags

    def _closes_itself(self, tag: Tag, following: list[Tag | PrintedComment | Text]) -> bool:
        """Return True for a start tag written instead of the end tag of the same element: `<dim>5<dim>`."""
        top = self.top
        if tag.name != top.name or tag.name not in NAMES or tag.attributes or tag.empty or is_free(tag.name):
            return False
        after = next((t for t in following if isinstance(t, Tag) or (isinstance(t, Text) and t.text.strip())), None)
        if isinstance(after, Text):
            closes = tag.name != "dim" or not re.match(r"\s*[-+]?\d", after.text)
        elif isinstance(after, Tag):
            closes = after.closing or after.name not in CHILDREN[tag.name]
        else:
            closes = True
        if closes and (top.text.strip() or top.elements()):
            end, what = f"</{tag.name}>", f"<{tag.name}> is written instead of </{tag.name}>"
            self._repair("Q006", what, tag.span, f"write {end}", Change(tag.span, end))
            return True
        return False

    def _close(self, tag: Tag) -> None:
        name, depth = tag.name, len(self.stack) - 1
        if name == "xml":
            return
        open_names = [node.name for node in self.stack]
        if name in open_names[1:]:
            depth = len(open_names) - 1 - open_names[::-1].index(name)
        elif depth == 0 and name not in NAMES:
            return
        elif depth == 0 or not self._may_close(name):
            self._repair(
                "Q006", f"</{name}> does not match an open element", tag.span, "remove it", without(self.text, tag.span)
            )
            return
        else:
            end = f"</{self.top.name}>"
            self._repair("Q006", f"</{name}> is read as {end}", tag.span, f"write {end}", Change(tag.span, end))
        while len(self.stack) - 1 > depth:
            self._close_silently(tag.span.start)
        self.stack.pop().end = tag.span.start + tag.span.length

    def _may_close(self, name: str) -> bool:
        """Return whether an end tag with another name can be intended for the open element."""
        top, above = self.top, self.stack[-2]
        if name not in NAMES:
            return True
        beside = name in CHILDREN.get(above.name, frozenset()) and above is not self.root
        return beside or alike(name, top.name, 0.7)

    def _close_silently(self, offset: int) -> None:
        """Close the open element, whose end tag is missing."""
        node = self.stack.pop()
        node.end = offset
        end = f"</{node.name}>"
        shown = [child for child in node.children if not isinstance(child, Text) or child.text.strip()]
        if not shown:  # The element can be closed in its start tag.
            change = Change(Span(node.span.stop - 1, 0), "/")
        else:
            # A comment after the text of a <dim> is about the <dim>, but not inside it.
            behind = next((text.start + len(text.text) for text in shown if isinstance(text, Text)), offset)
            change = end_tag(self.text, node.name, node.span.start, behind)
        self._repair("Q005", f"{end} is missing", node.span, f"add {end}", change)

    def _finish(self, *, cut_off: bool) -> None:
        waiting = self.stack[1:]
        if cut_off or len(waiting) > 1:
            inside = f"inside <{self.top.name}>" if waiting else "inside a tag"
            last = len(self.text.rstrip())
            self._repair("Q015", f"the text ends early, {inside}", Span(max(last - 1, 0), 1))
        elif waiting:
            end, opened = f"</{waiting[0].name}>", waiting[0].span
            change = end_tag(self.text, waiting[0].name, opened.start, len(self.text))
            self._repair("Q005", f"{end} is missing", opened, f"add {end}", change)
        for node in waiting:
            node.end = len(self.text)

    def _report_prose(self) -> None:
        """Report text that is not IR markup with one finding, instead of a finding for each fault in it."""
        starts = [span.start for span in self._prose]

        def is_inside(repair: Repair) -> bool:
            index = bisect_right(starts, repair.span.start) - 1
            return index >= 0 and repair.span.start < self._prose[index].start + self._prose[index].length

        self.repairs = [repair for repair in self.repairs if not is_inside(repair)]
        for span in self._prose:
            self._repair("Q025", f"{self.text[span.start : span.start + 20]!r} is not an element of IR", span)

    # Text

    def _characters(self, token: Text) -> None:
        top = self.top
        if self._is_free() or top.name == "data" or not token.text.strip():
            top.children.append(token)
            return
        meant = ELLIPSIS.sub("", token.text)
        stray = _SHOWN.search(meant) if top.name != "dim" else None
        if meant != token.text and not (stray and top is self.root):
            dots = ELLIPSIS.search(self.text, token.start)
            span = Span(dots.start(), len(dots[0])) if dots else Span(token.start, 1)
            self._repair("Q003", f"an ellipsis stands for omitted content of {_described(top)}", span)
            top.elided = True
        if stray is not None:
            start = token.start + max(token.text.find(stray[0][:1]), 0)
            shown = stray[0] if len(stray[0]) <= 40 else stray[0][:40] + "..."
            what = f"text {shown!r} does not belong in {_described(top)}"
            self._repair("Q025", what, Span(start, len(stray[0])))
        if top.name != "dim":
            meant = "\n" * token.text.count("\n")
        top.children.append(Text(meant, token.start))

    def _data_as_text(self, scanner: Scanner) -> None:
        for node in _all(self.root):
            if node.name != "data":
                continue
            for part in [child for child in node.children if isinstance(child, Text)]:
                if (written := _SHOWN.search(part.text)) is not None:
                    span = Span(part.start + written.start(), len(written[0]))
                    found = scanner.attributes_of_text(span)
                    what = "the attributes are written as the text of" if found else "text is not allowed in"
                    self._repair("Q014" if found else "Q025", f"{what} <data>", span)
                    node.attributes = found | node.attributes
                    node.children.remove(part)


def _element_with(tag: Tag, possible: frozenset[str]) -> str:
    """Return the element whose name was replaced by an ellipsis: the innermost element with these attributes."""
    for name, mark in (("layer", "type"), ("edge", "from-layer"), ("port", "id")):
        if mark in tag.attributes and name in possible:
            return name
    return next((name for name in ("dim", "port", "layer") if name in possible), "layer")


def _described(node: PrintedElement) -> str:
    return f"<{node.name}>" if node.name else "the text around the elements"


def _all(node: PrintedElement) -> Iterable[PrintedElement]:
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += reversed(current.elements())
