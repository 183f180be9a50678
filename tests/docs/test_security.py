"""docs/security.md, sentence by sentence: each states what a test shows, or what others do and the reader should do."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from irexec.cli.main import main

ROOT = Path(__file__).parents[2]
PACKAGE, PAGE = ROOT / "irexec", ROOT / "docs" / "security.md"
ADVICE = ""
"""For definitions, advice, and what is said of other programs."""
FOLDER = "test_a_command_executes_nothing_of_the_current_folder"
# The start of each sentence, list item or table row, and the test that shows it, or a test for each part.
SENTENCES: dict[str, str | tuple[str, ...]] = {
    "This page describes": ADVICE,
    "The files may be models": ADVICE,
    "Their author may choose": ADVICE,
    "The author does not control": ADVICE,
    "Code in the current folder or beside": FOLDER,
    "This holds for the command": FOLDER,
    "Code is executed from these places": FOLDER,
    "| code | when": ADVICE,
    "| irexec and the packages": FOLDER,
    "| a Python file given with": "test_an_extension_is_a_python_file",
    "| OpenVINO |": FOLDER,
    "| ONNX Runtime |": "test_what_an_onnx_model_is_shown_to_executes_nothing_either",
    "| PyTorch, and": "test_a_network_is_found_by_its_file",
    "| onnx, its checker": "test_what_an_onnx_model_is_shown_to_executes_nothing_either",
    "| the program of": "test_a_program_is_not_looked_for_in_the_current_folder",
    "| Dask |": "test_a_cluster_prints_the_same_as_one_process",
    "| tasks and operators": "test_classes_of_the_program_itself_cross",
    "A file is data in every format": "test_a_pickled_array_is_a_finding",
    "Examples in documentation pages": "test_examples_in_other_languages_are_not_executed",
    "`-j`, `--with openvino`": "test_every_process_is_started_by_one_call",
    "One function starts all": "test_every_process_is_started_by_one_call",
    "A child imports irexec": "test_a_child_imports_what_its_parent_imports_but_not_from_the_current_folder",
    "Parent and child exchange": "test_pickles_are_read_from_processes_only",
    "Pickles are never read": "test_pickles_are_read_from_processes_only",
    "A child process isolates": "test_a_crash_and_a_hang_are_reported",
    "A child process is not a sandbox": ADVICE,
    "If a hostile file exploits": ADVICE,
    "For such files run irexec": ADVICE,
    "Python decides what": ADVICE,
    "`irexec`, the script": FOLDER,
    "`python -m irexec` has": "test_where_python_itself_looks_in_the_current_folder_irexec_does_not",
    "In a folder that you do not trust": ADVICE,
    "an empty or relative entry": "test_relative_and_empty_entries_are_taken_off",
    "An absolute entry is kept": "test_relative_and_empty_entries_are_taken_off",
    "a Python program that imports": ADVICE,
    "In an interactive session": ADVICE,
    "pytest executes": ADVICE,
    "Do not call pytest": ADVICE,
    "Windows searches": ADVICE,
    "The files and folders on": "test_only_files_that_are_named_are_opened",
    "External data of an ONNX model": "test_external_data_stays_within_the_folder",
    "`--with onnxruntime` and the reference": ADVICE,
    "XML is read without entities": "test_entities_are_never_expanded",
    "`.npy` and `.npz` files": "test_a_pickled_array_is_a_finding",
    "`irexec.toml`, or": "test_settings_of_a_project",
    "These settings choose": "test_settings_of_a_project",
    "The author of a checkout": "test_settings_name_no_file_and_no_code",
    "Called from a folder": "test_settings_of_a_checkout_do_not_hold_elsewhere",
    "Comments in a model": "test_findings_that_a_text_asks_to_ignore_are_not_shown",
    "Only regular files are opened": "test_a_pipe_is_refused_and_never_waited_for",
    "Files of JSON, CSV": "test_settings_of_two_gigabytes_are_not_read",
    "Whatever they contain": "test_a_finding_names_the_file",
    "The `.bin` beside a model may": "test_weights_that_are_a_link",
    "Commands that write weights": "test_weights_that_are_a_link",
    "`irexec bundle`, whose": "test_a_bundle_contains_files_of_its_folder_only",
    "`irexec lsp` works": "test_what_is_wrong_is_reported_when_a_text_is_opened",
    "It executes no code": "test_the_language_server_executes_no_code_of_the_workspace",
    "Nothing is sent": "test_no_module_uses_a_network",
    "The files named by options": "test_only_files_that_are_named_are_opened",
    "No command writes to a file": "test_an_output_that_is_an_input_is_refused",
    "The exceptions are": "test_a_program_may_replace_what_it_has_read",
    "Files are written atomically": "test_no_file_has_its_name_before_all_are_written",
    "Files that belong together": "test_no_file_has_its_name_before_all_are_written",
    "After an error, a full disk": "test_a_full_disk_leaves_the_old_files",
    "A process that is killed": ADVICE,
    "On Linux and file systems": "test_a_file_written_between_check_and_rename_is_never_lost",
    "This is not guaranteed": "test_where_files_cannot_be_exchanged_the_last_look_comes_before_the_rename",
    "Scripts, reports and other texts": "test_scripts_of_runtimes_hold_names_as_literals",
    "Names inside a model never": "test_safe_names",
    "Control characters in a model": "test_what_a_command_prints_is_inert",
    "Nor is a printed line": "test_what_a_command_prints_is_inert",
    "The HTML report shows": "test_hostile_names_stay_texts",
    "Temporary files are in": "test_only_files_that_are_named_are_opened",
    "`compare` also keeps": "test_a_comparison_of_large_values_runs_each_model_once",
    "Memory for a value": "test_small_files_that_require_much_memory",
    "The XML has limits": ("test_limits", "test_a_bomb_is_not_unpacked"),
    "The work of reading": (
        "test_validating",
        "test_finding_fixes",
        "test_comparing",
        "test_functions_that_multiply_are_refused_before_they_are_expanded",
    ),
    "`validate`, `fix` and `doctest` stop": "test_a_command_that_stops",
    "`run` executes the model": "test_every_command_that_may_take_long_has_a_limit",
    "A limit takes effect": "test_a_command_that_stops",
    "Patterns of tokenizers": "test_backtracking_ends_at_the_limit",
    "Chat templates run": "test_a_template_that_fails",
    "The regular expressions": "test_the_time_grows_no_faster_than_the_text",
    "A safe fix does not": "test_what_is_accepted_in_a_mode_is_accepted_after_all_safe_fixes",
    "A file that either": "test_what_is_accepted_in_a_mode_is_accepted_after_all_safe_fixes",
    "`irexec fix` applies": "test_an_unsafe_fix_waits_to_be_asked_for",
    "`--diff` prints": "test_a_difference_is_printed_and_nothing_is_written",
    "Outside an edit": "test_dims_are_edited_to_the_byte",
    "Every command that starts": FOLDER,
    "Each file would leave": "test_the_folder_would_be_noticed",
    "The same is done": "test_where_python_itself_looks_in_the_current_folder_irexec_does_not",
    "The source is searched": "test_the_source_follows_a_rule",
    "Child processes must end": "test_a_child_leaves_when_its_parent_is_gone",
    "Every option that writes": "test_an_output_that_is_an_input_is_refused",
    "OpenVINO runs random": "test_what_is_accepted_in_a_mode_is_accepted_after_all_safe_fixes",
    "Growth is counted": "test_validating",
    "Hostile models, arrays": "test_small_files_that_require_much_memory",
    "[How irexec is tested]": ADVICE,
    "Open a private": ADVICE,
    "Please do not": ADVICE,
    "A report of a hostile": ADVICE,
}


def sentences() -> list[str]:
    """Return the sentences, list items and table rows of the page."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n|\n(?=- |\| )", PAGE.read_text()):
        text = " ".join(block.split()).replace("**", "")
        if text and not text.startswith("#"):
            text = text.removeprefix("- ")
            found += [text] if text.startswith("|") else re.split(r"(?<=\.)\s+(?=[A-Z`])", text)
    return found


def test_each_sentence_has_a_test() -> None:
    tests = Counter(
        name
        for path in ROOT.joinpath("tests").rglob("test_*.py")
        for name in re.findall(r"^def (\w+)", path.read_text(), re.MULTILINE)
    )
    known = [*SENTENCES]
    for sentence in sentences():
        assert sum(sentence.startswith(start) for start in known) == 1, sentence
    stale = [start for start in known if not any(sentence.startswith(start) for sentence in sentences())]
    assert not stale
    shown = {test for entry in SENTENCES.values() for test in (entry if isinstance(entry, tuple) else (entry,)) if test}
    assert [test for test in shown if tests[test] != 1] == []


def modules_that(pattern: str) -> set[str]:
    """Return the modules of the package with a line of code that an expression finds."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        if re.search(pattern, path.read_text(), re.MULTILINE):
            found.add(path.relative_to(PACKAGE).as_posix())
    return found


def test_pickles_are_read_from_processes_only() -> None:
    assert modules_that(r"^\s*(?:import|from) (?:pickle|shelve|marshal|dill)\b") == {
        "runtime/processes/calls.py",
        "tools/parallel/cluster.py",
    }
    assert modules_that(r"allow_pickle=True") == set()


def test_no_module_uses_a_network() -> None:
    names = "socket|ssl|http|ftplib|smtplib|urllib.request|requests|httpx|aiohttp"
    assert modules_that(rf"^\s*(?:import|from) (?:{names})\b") == set()


@pytest.fixture
def reduction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a reduction, as the current folder."""
    import numpy as np

    import irexec
    from irexec import opset15 as ops

    monkeypatch.chdir(tmp_path)
    x = ops.parameter([2], np.float32, name="x")
    made = irexec.Model([ops.add(x, np.float32([1, 2]), name="sum")], [x], "m")
    irexec.save_model(made, "m.xml")
    assert main(["reduce", "m.xml", "--check", "false {}", "-o", "small.xml"]) == 0
    assert main(["bundle", "small.xml"]) == 0
    Path("small.zip").unlink()
    return tmp_path


@pytest.mark.parametrize("suffix", [".xml", ".bin", ".npz", ".1.npz", ".py", ".md", ".json", ".expected.npz"])
@pytest.mark.parametrize("options", [[], ["--anonymize"]], ids=" ".join)
def test_a_bundle_contains_files_of_its_folder_only(
    suffix: str, options: list[str], reduction: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = reduction / f"small{suffix}"
    secret = reduction / "elsewhere"
    secret.write_bytes(file.read_bytes() if file.exists() else b"secret")
    file.unlink(missing_ok=True)
    file.symlink_to(secret)
    assert main(["bundle", "small.xml", *options]) == 2
    assert f"small{suffix} is a symbolic link" in capsys.readouterr().err
    assert not Path("small.zip").exists()


def test_a_bundle_contains_arrays_only_as_npz(reduction: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (reduction / "small.1.npz").write_bytes(b"secret")
    assert main(["bundle", "small.xml"]) == 2
    assert "is not a file of arrays" in capsys.readouterr().err


def test_a_message_in_an_issue_is_literal(reduction: Path) -> None:
    import json
    import zipfile

    state = json.loads(Path("small.json").read_text())
    state["message"] = "# title\n![x](http://a)\n- [x] @name\n```\n</details><img>"
    Path("small.json").write_text(json.dumps(state))
    assert main(["bundle", "small.xml"]) == 0
    with zipfile.ZipFile("small.zip") as archive:
        lines = archive.read("ISSUE.md").decode().splitlines()
    begin = lines.index("````text")
    assert lines[begin + 1 : lines.index("````")] == state["message"].splitlines()


def test_weights_that_are_a_link(reduction: Path) -> None:
    weights = Path("m.bin")
    weights.rename("elsewhere")
    weights.symlink_to("elsewhere")
    assert main(["cut", "m.xml", "--to", "sum", "-o", "part.xml"]) == 0
    assert Path("part.bin").read_bytes() == Path("elsewhere").read_bytes()
    assert not Path("part.bin").is_symlink()
