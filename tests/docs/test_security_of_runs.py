"""What docs/security.md states of files: which ones a command opens and writes, and that their contents are data."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from support.editor import Editor
from support.programs import environment, run_python

import irexec
from irexec import opset15 as ops

SAMPLES = Path(__file__).parents[2] / "samples"
# The files that a command opens, and those that it opens to write, on the last line of its errors.
WATCHED = """import atexit, json, os, sys
seen = {"read": set(), "written": set()}

def look(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        kind = "written" if arguments[2] & (os.O_WRONLY | os.O_RDWR) else "read"
        seen[kind].add(os.path.realpath(os.fsdecode(arguments[0])))

sys.addaudithook(look)
atexit.register(lambda: print(json.dumps({kind: sorted(found) for kind, found in seen.items()}), file=sys.stderr))
from irexec.cli.start import start
sys.exit(start())
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with models, and with files of every kind that no command is given."""
    folder = tmp_path / "checkout"
    (folder / "below").mkdir(parents=True)
    monkeypatch.chdir(folder)
    x = ops.parameter([1, 2], np.float32, name="x")
    scaled = ops.multiply(x, ops.constant(np.float32([[2, 3]])), name="scaled")
    for name in ("a.xml", "b.xml", "below/c.xml"):
        irexec.save_model(irexec.Model([ops.relu(scaled)], [x], "small"), name)
    for name in ("a.npz", "a.npy", "a.json", "a.py", "a.md", "operators.py", "below/d.toml", ".env"):
        Path(name).write_text("no file of this kind")
    return folder


BESIDE = {"a.xml", "a.bin"}


@pytest.mark.by_hand(1)
@pytest.mark.parametrize(
    ("command", "read", "written"),
    [
        (["validate", "a.xml"], BESIDE, set()),
        (["show", "a.xml"], BESIDE, set()),
        (["run", "a.xml"], BESIDE, set()),
        (["run", "a.xml", "-o", "out.npz"], BESIDE, {"out.npz"}),
        (["convert", "a.xml", "-o", "new.xml"], BESIDE, {"new.xml", "new.bin"}),
        (["report", "a.xml", "-o", "page.html"], BESIDE, {"page.html"}),
        (["diff", "a.xml", "b.xml"], {*BESIDE, "b.xml", "b.bin"}, set()),
        (["compare", "a.xml", "--with", "b.xml"], {*BESIDE, "b.xml", "b.bin"}, set()),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_only_files_that_are_named_are_opened(
    command: list[str], read: set[str], written: set[str], checkout: Path, tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    before = {*checkout.iterdir()}
    done = run_python("-c", WATCHED, *command, env=environment(TMPDIR=str(temporary)))
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stderr.splitlines()[-1])
    opened = {Path(path) for path in seen["read"] if Path(path).is_relative_to(checkout)}
    assert {path.relative_to(checkout).as_posix() for path in opened} == read
    assert {path.name for path in {*checkout.iterdir()} - before} == written
    # Temporary files lie in a folder of the command's own, and none is left; outputs get their names at the end.
    for path in {Path(path) for path in seen["written"] if Path(path).is_relative_to(tmp_path)}:
        assert not path.exists()
        assert path.parent.parent == temporary or (path.parent == checkout and written and path.name.startswith("."))
    assert [*temporary.iterdir()] == []


class Marks:
    """An object whose pickle creates a folder when it is loaded."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("mark",)


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_a_pickled_array_is_a_finding(name: str, checkout: Path) -> None:
    objects = np.array([Marks()], object)
    if name.endswith("z"):
        np.savez(name, x=objects)
    else:
        np.save(name, objects)
    for command in (["run", "a.xml", "--input", f"x=@{name}"], ["compare", "a.xml", "--with", name]):
        done = run_python("-m", "irexec", *command)
        assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert not Path("mark").exists()


def test_examples_in_other_languages_are_not_executed(checkout: Path) -> None:
    page = (
        "# A page\n\n```python\nopen('mark', 'w')\n```\n\n```sh\ntouch mark\n```\n\n```console\n$ touch mark\n```\n\n"
    )
    page += "::\n\n    >>> open('mark', 'w')\n\n[a](file:///etc/passwd) <script>open('mark')</script>\n\n"
    layer = '<layer id="0" name="a" type="Abs" version="opset1"/>'
    Path("page.md").write_text(f"{page}```xml\n{layer}\n```\n")
    done = run_python("-m", "irexec", "doctest", "page.md")
    assert "1 example" in done.stdout
    assert not Path("mark").exists()


@pytest.mark.parametrize("key", ["extension", "metric", "with", "input", "check", "output", "config"])
def test_settings_name_no_file_and_no_code(key: str, checkout: Path) -> None:
    Path("operators.py").write_text("open('mark', 'w')")
    Path("irexec.toml").write_text(f'{key} = "operators.py"\n')
    done = run_python("-m", "irexec", "validate", "a.xml")
    assert done.returncode == 2 and "U013" in done.stdout + done.stderr
    assert not Path("mark").exists()


@pytest.mark.by_hand(0)
def test_settings_of_a_checkout_do_not_hold_elsewhere(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(SAMPLES / "wrong.xml", "wrong.xml")
    Path("irexec.toml").write_text('ignore = ["D001"]\n')
    command = ["-m", "irexec", "validate", str(checkout / "wrong.xml")]
    assert "D001" not in run_python(*command).stdout
    monkeypatch.chdir(tmp_path)
    assert "D001" in run_python(*command).stdout


@pytest.mark.by_hand(0)
def test_the_language_server_executes_no_code_of_the_workspace(checkout: Path) -> None:
    for name in ("operators", "conftest", "json", "typing", "numpy", "sitecustomize"):
        Path(f"{name}.py").write_text("open('mark', 'w')")
    Path(".vscode").mkdir()
    Path(".vscode/settings.json").write_text('{"irexec.extension": "operators.py"}')
    with Editor(safe=True) as editor:
        editor.open((checkout / "a.xml").as_uri(), Path("a.xml").read_text())
    assert not Path("mark").exists()
