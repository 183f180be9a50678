"""`irexec doctest`: its output, its files and its exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support.seed_pages import PAGES

from irexec.cli.main import main

GOOD = "Versioned name: Abs-1\n\n```\ndata = [-1, 2]\noutput = [1, 2]\n```\n"
WRONG = GOOD.replace("[1, 2]", "[1, 3]")
PRINTED = '```xml\n<layer ... type="Abs"><input><port id="0"><dim>2</dim></port></input></layer>\n```\n'


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.md").write_text(GOOD)
    (tmp_path / "wrong.md").write_text(WRONG)
    (tmp_path / "printed.md").write_text(PRINTED)
    (tmp_path / "nothing.rst").write_text("Nothing.\n")
    return tmp_path


def test_an_operator_that_the_page_does_not_name(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctest", "printed.md"])
    assert "printed.md\n  example 1  line 2  Abs-1  parsed, valid, executed\n" in capsys.readouterr().out


def test_a_line_per_example_the_errata_and_a_summary(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctest", "good.md", "wrong.md"]) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[:4] == [
        "good.md: Abs-1",
        "  text example 1  line 4  parsed, valid, executed, documented values agree",
        "",
        "wrong.md: Abs-1",
    ]
    assert "  text example 1  line 4  parsed, valid, executed, documented values differ\n" in out
    assert " --> wrong.md:5:14\n" in out
    assert "= documented: [1, 3]\n" in out
    assert "= computed: [1, 2]\n" in out
    assert out.splitlines()[-3:] == [
        "2 pages, 2 examples: 2 parsed, 2 validated, 2 executed",
        "documented values: 1 correct, 1 wrong; 1 error, 0 repairs",
        "1 fixable with `irexec doctest --fix`",
    ]


def test_repairs_have_their_places(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctest", "printed.md"]) == 0
    out = capsys.readouterr().out
    assert "  printed.md:2:30: repaired: no precision is given for " in out
    assert "Q001" not in out, "pages may leave attributes out"
    assert main(["doctest", "printed.md", "--verbose"]) == 0
    assert "  printed.md:2:8: note: an ellipsis stands for omitted attributes [Q001]\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["good.md"], 0),
        (["printed.md"], 0),
        (["printed.md", "--fail-on", "warning"], 1),
        (["wrong.md", "--fail-on", "warning"], 1),
        (["nothing.rst"], 0),
        (["missing.md"], 2),
        (["good.md", "missing.md"], 2),
        (["."], 1),
        (["empty"], 2),
        (["good.md", "--errata", "no/such/folder/e.md"], 2),
        (["good.md", "--extension", "missing.py"], 2),
    ],
)
def test_exit_codes(docs: Path, arguments: list[str], code: int) -> None:
    (docs / "empty").mkdir()
    assert main(["doctest", *arguments]) == code


def test_pages_without_example_and_missing_ones_are_reported(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctest", "nothing.rst", "missing.md"])
    out = capsys.readouterr().out
    assert "nothing.rst\n  the page has no example\n" in out
    assert "missing.md\n  the file does not exist\n" in out
    assert "2 pages (1 without examples, 1 unreadable), 0 examples" in out


def test_json(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctest", "--format", "json", "."]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["ok"] and found["summary"]["pages"] == 4 and found["summary"]["errata"] == 1
    pages = {Path(page["file"]).name: page for page in found["pages"]}
    assert pages["nothing.rst"]["problem"] == "the page has no example"
    (example,) = pages["wrong.md"]["examples"]
    assert example["agrees"] is False and example["label"] == "text example 1" and example["line"] == 4
    (erratum,) = example["errata"]
    assert (erratum["line"], erratum["column"], erratum["code"]) == (5, 14, "T001")
    assert (erratum["printed"], erratum["replacement"]) == ("[1, 3]", "[1, 2]")


def test_sarif_and_github(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctest", "--format", "sarif", "."]) == 1
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert {"T001", "Q001", "Q029"} <= {result["ruleId"] for result in results}
    assert main(["doctest", "--format", "github", "wrong.md"]) == 1
    assert "::error file=wrong.md,line=5,col=14," in capsys.readouterr().out


def test_errata_are_written_whole(docs: Path) -> None:
    assert main(["doctest", "wrong.md", "--errata", "errata.md"]) == 1
    text = (docs / "errata.md").read_text()
    assert text.startswith("# Errors in the operation pages\n\n1 error on 1 page.")
    assert "## wrong.md" in text and "Suggested replacement:\n\n```text\n[1, 2]\n```" in text


def test_verbose_states_what_was_checked(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctest", "--verbose", "good.md"])
    assert "    checked: output has the documented values\n" in capsys.readouterr().out


def test_control_characters_of_a_page_do_not_reach_the_terminal(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (docs / "bell.md").write_text(WRONG.replace("Versioned", "\x1b[31mVersioned"))
    main(["doctest", "bell.md"])
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.by_hand(0)
def test_every_page_of_a_tree_is_checked(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(20):
        shutil.copy(PAGES / "slice-scatter-15.page.txt", docs / f"page{number:02}.txt")
    assert main(["doctest", "--format", "json", "."]) == 1
    found = json.loads(capsys.readouterr().out)
    pages = [page for page in found["pages"] if Path(page["file"]).name.startswith("page")]
    assert [Path(page["file"]).name for page in pages] == [f"page{number:02}.txt" for number in range(20)]
    assert len({json.dumps(page["examples"]).replace(Path(page["file"]).name, "page") for page in pages}) == 1


def test_errata_become_a_patch(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctest", "--diff", "good.md", "wrong.md"]) == 0
    assert capsys.readouterr().out == (
        "--- a/wrong.md\n+++ b/wrong.md\n@@ -2,5 +2,5 @@\n \n ```\n data = [-1, 2]\n"
        "-output = [1, 3]\n+output = [1, 2]\n ```\n"
    )
    assert (docs / "wrong.md").read_text() == WRONG
    assert main(["doctest", "wrong.md"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "1 fixable with `irexec doctest --fix`"
    assert main(["doctest", "--fix", "wrong.md"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("wrong.md:5: T001 write [1, 2]\nfixed 1 finding in wrong.md\n\nwrong.md: Abs-1\n")
    assert (docs / "wrong.md").read_text() == GOOD


def test_what_remains_of_a_patch(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (docs / "open.md").write_text(PRINTED.replace("Abs", "Foo"))
    assert main(["doctest", "--diff", "open.md"]) == 1
    assert "L004" in capsys.readouterr().err
    assert main(["doctest", "--diff", "missing.md"]) == 2
    assert main(["doctest", "--fix", "missing.md"]) == 2
    assert main(["doctest", "--fix", "--format", "json", "wrong.md"]) == 0
    streams = capsys.readouterr()
    assert "fixed 1 finding" in streams.err
    assert json.loads(streams.out[streams.out.rindex('{\n  "ok": true') :])["ok"]


def test_a_line_for_each_finding(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctest", "wrong.md", "--format", "concise"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("wrong.md:5:14: error[T001] ")
    assert line.endswith("[fix]")


def test_unsafe_alone_writes_nothing(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctest", "--unsafe", "wrong.md"]) == 2
    assert "error[U003]: --unsafe requires --fix" in capsys.readouterr().out
    assert (docs / "wrong.md").read_text() == WRONG


def test_equal_repairs_are_one_line(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (docs / "printed.md").write_text(PRINTED * 3)
    main(["doctest", "printed.md"])
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "repaired" in line)
    assert line.startswith("  printed.md:2:30: ") and line.endswith(" [Q021] (also in lines 5, 8)")
    main(["doctest", "printed.md", "--verbose"])
    assert capsys.readouterr().out.count(": repaired: ") == 3
