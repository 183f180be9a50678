"""The report of a documentation page: each example as printed, next to its repairs, computed values and differences. It
needs no script.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from irexec.core.diagnostics import Diagnostic, Severity
from irexec.core.diagnostics.render.characters import visible
from irexec.core.diagnostics.render.notes import notes
from irexec.frontends.pages.example import Example, output_name
from irexec.frontends.pages.page import Page, TextExample, XmlExample, read_page
from irexec.model.arrays.brief import plural, shown
from irexec.ops.spec.attributes import attribute_text
from irexec.tools.doctest.doctest import Checked, check_page
from irexec.tools.render.drawing.svg import colours
from irexec.tools.render.html_page import html_page
from irexec.tools.render.report.page import filled, own

_SIGNS = {Severity.ERROR: "✖ error", Severity.WARNING: "▲ warning", Severity.NOTE: "● note"}
_VALUES = 400


@dataclass(slots=True)
class _Block:
    """A range of lines of the page, with the checks of its examples."""

    first: int
    last: int
    checked: list[Checked] = field(default_factory=list)


def examples_page(path: str | os.PathLike[str], data: bytes) -> str:
    """Return the report on a page's examples as the text of one HTML file. `data`: the bytes of the page."""
    page, result = read_page(path, data), check_page(path, data=data)
    text = page.examples[0].excerpt.page.text if page.examples else ""
    lines = text.split("\n")
    blocks = list(_blocks(page, result.examples))
    wrong = sum(bool(checked.errata) for block in blocks for checked in block.checked)
    count = sum(len(block.checked) for block in blocks)
    summary = (
        f"{plural(count, 'example')}, {wrong} with errors" if count else result.problem or "the page has no example"
    )
    name = os.path.basename(os.fspath(path))
    body = filled(
        "examples.html",
        title=_text(name),
        file=_text(os.fspath(path)),
        summary=_text(summary),
        examples="".join(_block(block, lines) for block in blocks),
    )
    return html_page("".join(map(visible, name)), body, style=colours() + own("examples.css"))


def _blocks(page: Page, checked: Sequence[Checked]) -> Iterator[_Block]:
    """Yield the printed examples in page order, each with its checks."""
    blocks = []
    for example in page.examples:
        start = 0 if isinstance(example, XmlExample) else example.start
        blocks.append(_Block(example.excerpt.place(start).line or 1, _last_line(example)))
    order = sorted(blocks, key=lambda block: block.first)
    for entry in checked:
        position = bisect_right([block.first for block in order], entry.place.line or 1) - 1
        if order:
            order[max(position, 0)].checked.append(entry)
    yield from order


def _last_line(example: XmlExample | TextExample) -> int:
    if isinstance(example, XmlExample):
        end = len(example.excerpt.text.rstrip())
    else:
        # A span is the offset of the first character and the number of them.
        end = max((made.span[0] + made.span[1] for made in example.group.assignments.values()), default=example.start)
    return example.excerpt.place(max(end - 1, 0)).line or 1


def _block(block: _Block, lines: Sequence[str]) -> str:
    findings = [finding for checked in block.checked for finding in checked.findings]
    title = "; ".join(
        f"{checked.label}{': ' if checked.operator else ''}{checked.operator}" for checked in block.checked
    )
    bad = any(checked.errata for checked in block.checked)
    state = "✖ contains errors" if bad else "✔ correct" if all(c.parsed for c in block.checked) else "● not checked"
    checks = "".join(map(_checked, block.checked))
    return (
        f'<section class="{"bad" if bad else "good"}"><h2>{_text(title or "example")} '
        f'<span class="state">{state}</span></h2>\n<div class="sides">'
        f'<div class="printed" tabindex="0" aria-label="as printed">{_printed(block, lines, findings)}</div>\n'
        f'<div class="checks">{checks}</div></div></section>\n'
    )


def _printed(block: _Block, lines: Sequence[str], findings: Sequence[Diagnostic]) -> str:
    """Return the page's lines with their numbers, and beside a line the codes of its findings."""
    codes: dict[int, list[str]] = {}
    for finding in findings:
        codes.setdefault(finding.line or 0, []).append(finding.code)
    rows = []
    for number in range(block.first, min(block.last, len(lines)) + 1):
        found = ", ".join(dict.fromkeys(codes.get(number, [])))
        mark = f' class="marked"><td class="code">{_text(found)}' if found else "><td>"
        rows.append(
            f'<tr{mark}</td><td class="number">{number}</td><td><pre>{_text(lines[number - 1])}</pre></td></tr>'
        )
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def _checked(checked: Checked) -> str:
    parts = [] if checked.example is None else list(_computed(checked.example))
    if checked.not_executed is not None:
        parts.append(f'<p class="soft">not run: {_text(str(checked.not_executed))}</p>')
    groups = {"wrong": [e.diagnostic for e in checked.errata], "repaired": checked.repairs, "notes": checked.notes}
    for title, findings in groups.items():
        if findings:
            parts.append(f"<h3>{title}</h3>" + "".join(map(_finding, findings)))
    if checked.verified:
        lines = "".join(f"<li>{_text(line)}</li>" for line in checked.verified)
        parts.append(f"<h3>verified</h3><ul>{lines}</ul>")
    return "".join(parts)


def _computed(example: Example) -> Iterator[str]:
    """Yield attributes, inputs, and each output as it is documented and computed."""
    attributes = example.operator.attributes if example.operator else ()
    values = [
        (a.file_name, attribute_text(example.attributes[a.name])) for a in attributes if a.name in example.attributes
    ]
    yield _table("attributes", values)
    inputs = [(e.name, str(e.type), "" if e.array is None else shown(e.array, _VALUES)) for e in example.inputs]
    yield _table("inputs", inputs)
    for index, output in enumerate(example.outputs):
        if output.array is None:
            continue
        rows = [("computed", str(output.type), shown(output.array, _VALUES))]
        if output.documented is not None:
            rows.insert(0, ("documented", "", shown(output.documented, _VALUES)))
        if output.difference is not None:
            rows.append(("✖ difference", "", output.difference.words))
        yield _table(output_name(example, index), rows)


def _table(title: str, rows: Sequence[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    lines = [f"<th>{_text(row[0])}</th>" + "".join(f"<td>{_text(cell)}</td>" for cell in row[1:]) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<h3>{_text(title)}</h3><table><tbody>{body}</tbody></table>"


def _finding(finding: Diagnostic) -> str:
    more = [(label, text) for label, text in notes(finding) if label not in ("in", "layer")]
    rows = "".join(f'<br><span class="soft">{label}</span> {_text(text)}' for label, text in more)
    where = f"{finding.line}:{finding.column} " if finding.line else ""
    head = f"<strong>{_SIGNS[finding.severity]} {finding.code}</strong> {where}{_text(finding.message)}"
    return f'<p class="finding {finding.severity}">{head}{rows}</p>'


def _text(text: str) -> str:
    """Return a text of the page, with markup and control characters escaped."""
    return escape("".join(map(visible, text)))
