"""The text form of a report: expected texts, and the positions of carets."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from support.commands import Terminal
from support.waiting import PATIENCE

from irexec.core.diagnostics import Diagnostic, Edit, Fix, LayerRef, Place, Related, Report, Safety, Severity
from irexec.core.diagnostics.render import render, wants_color, write
from irexec.core.diagnostics.render.characters import cells, visible, visible_text, width
from irexec.core.diagnostics.render.text import SOURCE_CELLS, chunks, excerpt
from irexec.core.diagnostics.statements import MEASURED_WITH


def at(source: str, part: str, line: int = 12, file: str = "model.xml") -> Place:
    """Return the place of `part` in a source line."""
    return Place(file, line, source.index(part) + 1, len(part), source)


DIM = Diagnostic(
    code="O006",
    severity=Severity.ERROR,
    message="the declared shape differs from the inferred one",
    place=at("        <dim>5</dim>", "5"),
    layer=LayerRef("3", "scatter", "ScatterUpdate", "opset3"),
    port="0",
    found="[2,5]",
    allowed="[2,4]",
    openvino="does not compare them",
    hint="write 4",
)

DUPLICATE = Diagnostic(
    code="O003",
    severity=Severity.WARNING,
    message="two layers have the id 3",
    place=at('\t<layer id="3" name="b"/>', "3", line=101),
    related=(
        Related("first used here", at('\t<layer id="3" name="a"/>', "3", line=8)),
        Related("and read by", Place("model.xml", 120, 1)),
    ),
)


def test_a_finding_with_every_note() -> None:
    assert render(Report([DIM])) == (
        "error[O006]: the declared shape differs from the inferred one\n"
        "  --> model.xml:12:14\n"
        "   |\n"
        "12 |         <dim>5</dim>\n"
        "   |              ^\n"
        "   |\n"
        "   = layer: ScatterUpdate 'scatter' (opset3), port 0\n"
        "   = found: [2,5]\n"
        "   = allowed: [2,4]\n"
        "   = openvino: does not compare them\n"
        "   = help: write 4\n"
        "\n"
        "1 error\n"
        "for details: irexec explain O006\n"
    )


def test_related_places_are_shown_below() -> None:
    assert render(Report([DUPLICATE])) == (
        "warning[O003]: two layers have the id 3\n"
        "   --> model.xml:101:13\n"
        "    |\n"
        '101 |     <layer id="3" name="b"/>\n'
        "    |                ^\n"
        "   ::: model.xml:8:13\n"
        "    |\n"
        '  8 |     <layer id="3" name="a"/>\n'
        "    |                - first used here\n"
        "   ::: model.xml:120:1: and read by\n"
        "\n"
        "1 warning\n"
        "for details: irexec explain O003\n"
    )


def test_a_finding_without_a_place() -> None:
    note = Diagnostic("O009", Severity.NOTE, "the order is open", constraint="C2")
    assert render(Report([note])) == (
        "note[O009]: the order is open\n  = in: constraint C2\n\n1 note\nfor details: irexec explain O009\n"
    )


def test_notes_of_several_lines_are_aligned() -> None:
    finding = Diagnostic("O001", Severity.ERROR, "differs", Place("m.xml"), allowed="[1,2]\n[1,3]")
    assert "  = allowed: [1,2]\n             [1,3]\n" in render(Report([finding]))


@pytest.mark.parametrize(
    ("severities", "summary"),
    [
        ([], "no findings"),
        ([Severity.ERROR, Severity.WARNING, Severity.ERROR], "2 errors, 1 warning"),
        ([Severity.NOTE, Severity.NOTE], "2 notes"),
        ([Severity.NOTE, Severity.ERROR, Severity.WARNING], "1 error, 1 warning, 1 note"),
    ],
)
def test_summary(severities: list[Severity], summary: str) -> None:
    report = Report([Diagnostic("O001", severity, "m") for severity in severities])
    assert summary in render(report).splitlines()


def caret(source: str, part: str) -> tuple[str, str]:
    """Return the text above the caret line, and the text above the carets, cell for cell."""
    shown, start, length = excerpt(source, source.index(part), len(part))
    before, under = "", ""
    for char in shown:
        if width(before) < start:
            before += char
        elif width(under) < length:
            under += char
    assert (width(before), width(under)) == (start, length)
    return shown, under


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ('<layer id="3"/>', "3"),
        ('\t\t<layer\tid="33"/>', "33"),
        ('<layer name="漢字" id="3"/>', "3"),
        ('<layer name="漢字" id="3"/>', "漢字"),
        ('<layer name="e\u0301te\u0301" id="7"/>', "7"),
        ('<layer name="\x1b[2J" id="7"/>', "7"),
        ('<layer name="😀" id="7"/>', "7"),
        ("x" * 400 + "<7>" + "y" * 400, "7"),
        ("漢" * 400 + "7" + "字" * 400, "7"),
        ("\t" * 400 + "7", "7"),
        ("7" + "y" * 1000, "7"),
        ("y" * 1000 + "7", "7"),
    ],
)
def test_the_caret_stands_under_the_place(source: str, part: str) -> None:
    shown, under = caret(source, part)
    assert under == part
    assert width(shown) <= SOURCE_CELLS + 2 * len("...")


def test_a_long_line_is_cut_on_both_sides() -> None:
    shown, start, length = excerpt("a" * 300 + "HERE" + "b" * 300, 300, 4)
    assert shown == "..." + "a" * 50 + "HERE" + "b" * 46 + "..."
    assert (start, length) == (53, 4)


def test_a_span_never_leaves_its_line() -> None:
    assert excerpt("<net", 2, 50) == ("<net", 2, 2)
    assert excerpt("<net", 4, 1) == ("<net", 4, 1)
    assert excerpt("", 7, 1) == ("", 0, 1)
    assert excerpt("x" * 5000, 0, 5000) == ("x" * SOURCE_CELLS + "...", 0, SOURCE_CELLS)


@pytest.mark.parametrize(
    ("char", "shown"),
    [
        ("a", "a"),
        ("\t", "    "),
        ("\x1b", "\\x1b"),
        ("\x9b", "\\x9b"),
        ("\u202e", "\\u202e"),
        ("\u200b", "\\u200b"),
        ("\udcff", "\\udcff"),
        ("\u2028", "\\u2028"),
        ("\U000e0001", "\\U000e0001"),
        ("é", "é"),
        ("漢", "漢"),
    ],
)
def test_what_a_terminal_would_act_on_is_escaped(char: str, shown: str) -> None:
    assert visible(char) == shown
    assert char.isprintable() or cells(char) == len(shown)


def test_hostile_text_reaches_the_terminal_escaped_everywhere() -> None:
    evil = "\x1b]0;owned\x07\r\u202e"
    finding = Diagnostic(
        "O001", Severity.ERROR, evil, Place(evil, 1, 1, 1, evil), LayerRef(evil, evil, evil, evil), evil, evil, evil
    )
    finding_with_notes = Diagnostic("O001", Severity.ERROR, evil, found=evil, allowed=evil, openvino=evil, hint=evil)
    shown = render(Report([finding, finding_with_notes]))
    assert not set(shown) & set("\x1b\x07\r\u202e")
    assert "\\x1b]0;owned" in shown


def test_the_output_stays_short_whatever_the_file_holds() -> None:
    name = "x" * 1_000_000
    marks = '<layer name="' + "\u0301" * 1_000_000
    place = Place("m.xml", 1, 14, 1_000_000, marks)
    finding = Diagnostic("O001", Severity.ERROR, name, place, LayerRef("0", name, "Relu"), found=name)
    assert len(render(Report([finding]))) < 5000


def test_a_message_stays_on_its_line() -> None:
    first = render(Report([Diagnostic("O001", Severity.ERROR, "one\ntwo")])).splitlines()[0]
    assert first == "error[O001]: one two"


def test_colour_adds_nothing_but_colour() -> None:
    report = Report([DIM, DUPLICATE])
    coloured = render(report, color=True)
    assert "\x1b[1;31merror[O006]\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render(report)


def test_plain_text_does_not_import_rich() -> None:
    code = (
        "import sys; from irexec.core.diagnostics import *; from irexec.core.diagnostics.render import render;"
        "render(Report([Diagnostic('O001', Severity.ERROR, 'm')])); sys.exit('rich' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=PATIENCE).returncode == 0


def test_visible_text_keeps_what_is_printable() -> None:
    assert visible_text("a\tb") == "a    b"
    assert visible_text("naïve 漢字") == "naïve 漢字"


@pytest.mark.parametrize("columns", [60, 90, 200])
def test_source_lines_are_cut_to_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    source = f"<data {'x' * 150} axes='1' {'y' * 150}/>"
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        write(Report([replace(DIM, place=at(source, "axes"))]), stream, color=False)
    excerpts = [line for text in (terminal, file) for line in text.getvalue().splitlines() if "axes" in line]
    assert len(excerpts) == 2
    assert columns - 8 <= len(excerpts[0]) <= columns
    assert len(excerpts[1]) == SOURCE_CELLS + len("12 | ......")


def test_conditions_for_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_color(Terminal())
    assert not wants_color(io.StringIO())
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert wants_color(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_color(Terminal())


LONG = replace(
    DIM,
    message="a message of several words that is longer than a line of the terminal on which it is printed",
    hint="a hint that is long enough for two lines, so that its second line begins below its first word",
    related=(Related("a label that does not fit beside the underline", at(70 * " " + "<dim>4</dim>", "4")),),
)


def test_texts_continue_on_the_next_line_of_a_terminal() -> None:
    assert "".join(chunks(Report([LONG]), width=60)).splitlines()[:3] == [
        "error[O006]: a message of several words that is longer than",
        "             a line of the terminal on which it is printed",
        "  --> model.xml:12:14",
    ]
    for columns in (60, 80, 100):
        lines = "".join(chunks(Report([LONG]), width=columns)).splitlines()
        assert max(map(len, lines)) < columns + 1
        hint = next(number for number, line in enumerate(lines) if line.startswith("   = help: a hint"))
        assert lines[hint + 1].startswith(11 * " ") and lines[hint + 1][11] != " "


def test_texts_stay_on_one_line_without_a_terminal() -> None:
    lines = render(Report([LONG])).splitlines()
    assert lines[0] == f"error[O006]: {LONG.message}"
    assert f"   = help: {LONG.hint}" in lines


def test_the_summary_names_the_errors_because_of_which_openvino_rejects_the_file() -> None:
    rejected = replace(DIM, code="D005", openvino="rejects the file")
    probably = replace(DIM, code="E004", openvino="rejects most such files")
    assert "OpenVINO" not in render(Report([DIM]))
    openvino = f"OpenVINO {MEASURED_WITH}"
    assert f"\n{openvino} rejects the file, at least because of D005 in line 12\n" in render(Report([DIM, rejected]))
    assert f"\n{openvino} probably rejects the file, at least because of E004 in line 12\n" in render(
        Report([probably])
    )
    lines = [replace(rejected, place=replace(rejected.place, line=line)) for line in range(21, 27)]
    many = render(Report([probably, *lines]))
    assert "rejects the file, at least because of E004 in line 12, D005 in line 21," in many
    assert "and 2 more errors\n" in many
    assert "at least because of D005 in line 12\n" in render(Report([rejected, replace(rejected, message="again")]))
    other = replace(rejected, place=replace(rejected.place, file="other.xml"))
    assert f"{openvino} rejects 2 files, at least because of D005 in model.xml:12, D005 in other.xml:12\n" in render(
        Report([rejected, other])
    )


def test_fixes_of_findings_that_are_only_counted_are_not_left_out_of_the_summary() -> None:
    fixable = replace(DIM, fixes=(Fix("declare 4", Safety.SAFE, (Edit(0, 1, "4", (1, 1), (1, 2)),)),))
    report = Report([fixable] * 5)
    assert "\n5 fixable with `irexec fix`\n" in render(report)
    assert "\nat least 3 fixable with `irexec fix`\n" in render(report.capped(3))
