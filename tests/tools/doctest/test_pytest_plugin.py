"""`pytest --ir-doctest`: pages as tests, in a separate pytest."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.seed_pages import PAGES
from support.waiting import PATIENCE

import irexec
from irexec.cli.main import main

pytest_plugins = ["pytester"]

PLUGIN = ("-p", "irexec.tools.doctest.pytest_plugin")


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run pytest with the plugin, loaded once: an installed irexec registers it already."""
    installed = pytester.plugins or any(
        entry.value == "irexec.tools.doctest.pytest_plugin" for entry in _entry_points() if entry.name == "irexec"
    )
    return pytester.runpytest_inprocess(*(() if installed else PLUGIN), "-p", "no:cacheprovider", *options)


def _entry_points() -> list[object]:
    from importlib.metadata import entry_points

    return list(entry_points(group="pytest11"))


@pytest.fixture
def docs(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.mkdir("docs")
    for name in ("slice-scatter-15.page.txt", "scatter-elements-update-3.page.txt"):
        shutil.copy(PAGES / name, pytester.path / "docs")
    (pytester.path / "docs" / "nothing.md").write_text("No example here.\n")
    return pytester


@pytest.mark.by_hand(0)
def test_every_example_is_a_test(docs: pytest.Pytester) -> None:
    result = run(docs, "--ir-doctest", "-v", "docs")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        ["*slice-scatter-15.page.txt::example 1 PASSED*", "*slice-scatter-15.page.txt::example 3 FAILED*"]
    )


def test_a_failure_shows_the_line_of_the_page(docs: pytest.Pytester) -> None:
    result = run(docs, "--ir-doctest", "docs/slice-scatter-15.page.txt")
    result.stdout.fnmatch_lines(["*error?T002?: start lists 2 values*", "*slice-scatter-15.page.txt:151:27*"])
    assert "Traceback" not in result.stdout.str()


def test_versions_of_one_page_are_distinguished(docs: pytest.Pytester) -> None:
    shutil.copy(PAGES / "onnx-scatter-nd.page.txt", docs.path / "docs")
    result = run(docs, "--ir-doctest", "-k", "ScatterND-11", "-v", "docs")
    result.assert_outcomes(passed=2, deselected=15)


def test_nothing_is_collected_without_the_option(docs: pytest.Pytester) -> None:
    result = run(docs, "docs")
    result.assert_outcomes()
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.by_hand(0)
def test_a_page_that_is_not_text_is_an_error(docs: pytest.Pytester) -> None:
    (docs.path / "docs" / "bad.md").write_bytes(b"\xff\xff")
    result = run(docs, "--ir-doctest", "docs/bad.md")
    result.assert_outcomes(errors=1)


def test_loading_the_plugin_loads_nothing_heavy() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import irexec.tools.doctest.pytest_plugin; "
        "print(sorted(m for m in set(sys.modules) - before if not m.startswith('irexec')), "
        "len([m for m in sys.modules if m.startswith('irexec')]))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    heavy = {"numpy", "lxml", "pydantic", "ml_dtypes", "rich"}
    names, count = found.stdout.rsplit(" ", 1)
    assert not any(f"'{name}" in names for name in heavy)
    assert int(count) <= 7


LAYER = """<layer id="0" name="a" type="Abs" version="opset1">
    <input><port id="0" precision="FP32"><dim>2</dim></port></input>
    <output><port id="1" precision="FP32"><dim>{}</dim></port></output>
</layer>
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "page.md",
            "# Top\n\n```sh\n# a comment\n```\n## First part ##\n\n```xml\n{}```\n## Second\n\n```xml\n{}```\n",
        ),
        (
            "page.rst",
            "Top\n===\n\nFirst part\n----------\n\n.. code-block:: xml\n\n{}\n"
            "Second\n~~~~~~\n\n.. code-block:: xml\n\n{}",
        ),
        ("page.html", "<h1>Top</h1><h2>First <b>part</b></h2><pre>{}</pre><h2 id=x>Second#</h2><pre>{}</pre>"),
    ],
)
def test_tests_are_named_after_headings(name: str, text: str, pytester: pytest.Pytester) -> None:
    indented = LAYER.replace("\n", "\n    ").rstrip(" ")
    example = f"    {indented}" if name.endswith("rst") else LAYER
    (pytester.path / name).write_text(text.format(example.format(2), example.format(2)))
    result = run(pytester, "--ir-doctest", "-v", name)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*::First part: example 1 PASSED*", "*::Second: example 2 PASSED*"])


def test_a_failure_names_the_command_that_corrects_pages(pytester: pytest.Pytester) -> None:
    (pytester.path / "page.md").write_text(f"```xml\n{LAYER.format(3)}```\n")
    result = run(pytester, "--ir-doctest", "page.md")
    result.stdout.fnmatch_lines(["1 fixable with `irexec doctest --fix`", "for details: irexec explain P005"])
    assert "`irexec fix`" not in result.stdout.str()


def test_a_failing_model_names_the_command_that_corrects_models(pytester: pytest.Pytester) -> None:
    shutil.copy(Path(__file__).parents[3] / "samples" / "wrong.xml", pytester.path)
    result = run(pytester, "--ir-doctest", "wrong.xml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["for corrections of models: irexec fix --diff", "for details: irexec explain *"])
    assert "doctest --fix" not in result.stdout.str()


@pytest.mark.parametrize(
    ("damaged", "kept", "codes"),
    [
        (".bin", 18_872, []),
        (".bin", 1_000, ["C002"]),
        (".bin", None, ["C010"]),
        (".xml", 60, ["X001"]),
        (".xml", 400, ["X001"]),
        (".xml", 5_000, ["X001"]),
    ],
)
def test_a_model_fails_with_the_errors_of_validate(
    damaged: str, kept: int | None, codes: list[str], pytester: pytest.Pytester
) -> None:
    for suffix in (".xml", ".bin"):
        data = (Path(__file__).parents[3] / "samples" / "classifier" / f"model{suffix}").read_bytes()
        if suffix != damaged or kept is not None:
            (pytester.path / f"m{suffix}").write_bytes(data[:kept] if suffix == damaged else data)
    assert [error.code for error in irexec.validate(pytester.path / "m.xml").errors] == codes
    result = run(pytester, "--ir-doctest", "m.xml")
    result.assert_outcomes(failed=len(codes), passed=1 - len(codes))
    result.stdout.fnmatch_lines([f"error[[]{code}[]]*" for code in codes])


def test_the_settings_of_the_project_are_respected(pytester: pytest.Pytester) -> None:
    pytester.mkdir("old")
    for path in ("page.md", "old/page.md"):
        (pytester.path / path).write_text(f"```xml\n{LAYER.format(3)}```\n")
    run(pytester, "--ir-doctest").assert_outcomes(failed=2)
    (pytester.path / "irexec.toml").write_text('ignore = ["P"]\nexclude = ["old/*"]\n')
    run(pytester, "--ir-doctest").assert_outcomes(passed=1)
    run(pytester, "--ir-doctest", "old/page.md").assert_outcomes(passed=1)
    (pytester.path / "irexec.toml").write_text("ignore = 1\n")
    result = run(pytester, "--ir-doctest")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*U013*ignore is 1, expected a list of strings"])


@pytest.mark.by_hand(0)
def test_a_page_without_example_is_named(docs: pytest.Pytester) -> None:
    run(docs, "--ir-doctest", "docs").stdout.fnmatch_lines(["irexec: no example in docs?nothing.md"])


def test_repairs_count_as_fixable(pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    layer = LAYER.format(3).replace('version="opset1"', 'version="opset1" axis="1"').replace('"Abs"', '"abs"')
    (pytester.path / "page.md").write_text(f"```xml\n{layer}```\n")
    assert main(["doctest", str(pytester.path / "page.md")]) == 1
    count = capsys.readouterr().out.splitlines()[-1]
    assert count.startswith("2 fixable with")
    run(pytester, "--ir-doctest", "page.md").stdout.fnmatch_lines([count])
