"""The dispatcher: help, version, exit codes, and the handling of failed commands."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.waiting import PATIENCE

import irexec
from irexec.cli import main as dispatcher
from irexec.cli.main import COMMANDS, main
from irexec.core.diagnostics import Diagnostic, IRError, Severity

ROOT = Path(__file__).parents[2]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Any], int]], None]:
    """Return a function that replaces the command `explain` by another function."""

    def install(run: Callable[[Any], int]) -> None:
        module = types.ModuleType("irexec.cli.explain")
        module.__dict__.update(run=run, add_arguments=lambda parser: None)
        monkeypatch.setitem(sys.modules, "irexec.cli.explain", module)

    return install


def raising(error: BaseException) -> Callable[[Any], int]:
    def run(args: Any) -> int:
        raise error

    return run


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_module(name: str) -> None:
    module = importlib.import_module(f"irexec.cli.{name}")
    assert callable(module.add_arguments)
    assert callable(module.run)


@pytest.mark.parametrize(("arguments", "code"), [(["--help"], 0), (["--version"], 0), (["nonsense"], 2)])
def test_usage(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    assert leaving.value.code == code
    captured = capsys.readouterr()
    assert bool(captured.out) is (code == 0)
    assert bool(captured.err) is (code != 0)


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["validat", "m.xml"], "unknown command 'validat': did you mean validate?"),
        (["val", "m.xml"], "unknown command 'val': did you mean validate?"),
        (["zzzzzz"], "unknown command 'zzzzzz'"),
        (["validate", "m.xml", "--format", "sarrif"], "'github'): did you mean sarif?"),
        (["validate", "m.xml", "--fix-unsafe"], "unrecognized arguments: --fix-unsafe: did you mean --fix?"),
        (["--versoin"], "unrecognized arguments: --versoin: did you mean --version?"),
        (
            ["validate", "m.xml", "--statistic=1", "--selct", "D"],
            "unrecognized arguments: --selct D: did you mean --select",
        ),
    ],
)
def test_what_may_be_meant(arguments: list[str], advice: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [argument for argument in arguments if argument != "--statistic=1"]
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    assert leaving.value.code == 2
    assert advice in capsys.readouterr().err


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"irexec {irexec.__version__}\n"
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)


@pytest.mark.parametrize("code", [0, 1, 2])
def test_the_exit_code_is_the_commands(code: int, command: Callable[..., None]) -> None:
    command(lambda args: code)
    assert main(["explain"]) == code


def test_an_internal_error_is_one_line(command: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    command(raising(KeyError("a\nb\x1b")))
    assert main(["explain"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("irexec: internal error: KeyError: ")
    assert "report" in line and "IREXEC_TRACEBACK=1" in line
    assert "\x1b" not in line


def test_the_traceback_on_request(command: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    command(raising(KeyError("why")))
    monkeypatch.setenv("IREXEC_TRACEBACK", "1")
    with pytest.raises(KeyError, match="why"):
        main(["explain"])


def test_an_irerror_shows_its_findings(command: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    command(raising(IRError(Diagnostic("O001", Severity.ERROR, "no good"))))
    assert main(["explain"]) == 2
    assert "error[O001]: no good" in capsys.readouterr().err


def test_interruption_is_quiet(command: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    command(raising(KeyboardInterrupt()))
    assert main(["explain"]) == dispatcher.INTERRUPTED == 130
    assert capsys.readouterr() == ("", "")


def test_nobody_reads_the_output() -> None:
    """The reader is gone before the command writes: no traceback, and a separate exit code."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        done = subprocess.run(
            [sys.executable, "-m", "irexec", "explain"],
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
    assert done.returncode == dispatcher.NO_READER
    assert done.stderr == ""


CLOSED = "irexec: the output cannot be written: standard output is closed\n"
FULL = "irexec: the output cannot be written: No space left on device\n"
STREAMS = [
    (">/dev/full", "explain", 2, FULL),
    (">/dev/full", "--help", 2, FULL),
    (">/dev/full", "--version", 2, FULL),
    (">/dev/full", f"reduce {ROOT}/samples/wrong.xml --check 'test ! -e {{}}' -o small.xml", 2, FULL),
    (">/dev/full 2>/dev/full", "explain", 2, ""),
    ("2>/dev/full", "explain Z999", 2, ""),
    ("2>/dev/full", "nonsense", 2, ""),
    (">&-", "--help", 2, CLOSED),
    (">&-", "lsp", 2, CLOSED),
    (">&-", "nonsense", 2, "irexec: error: unknown command 'nonsense'\nfor help: irexec --help\n"),
]


@pytest.mark.by_hand(2)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full, as Linux has it")
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize(("streams", "arguments", "code", "errors"), STREAMS)
def test_a_result_that_cannot_be_written(
    streams: str, arguments: str, code: int, errors: str, buffered: bool, tmp_path: Path
) -> None:
    """The interpreter's own flush at the end adds no output, and does not determine the exit code."""
    command = f'"{sys.executable}" -m irexec {arguments} 2>errors {streams} </dev/null'
    environment = os.environ | {"PYTHONUNBUFFERED": "" if buffered else "1"}
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment | {"PYTHONPATH": paths}, timeout=PATIENCE)
    assert (done.returncode, (tmp_path / "errors").read_text()) == (code, errors)


@pytest.mark.skipif(os.name == "nt", reason="file numbers as on POSIX")
def test_no_file_takes_the_place_of_a_closed_stream() -> None:
    """Text that a library prints to standard output would be written into the file."""
    code = "import os\nfrom irexec.cli import explain, main\n"
    code += "explain.run = lambda args: os.open(os.devnull, os.O_RDONLY)\n"
    code += "raise SystemExit(main.main(['explain']))"
    done = subprocess.run(f'"{sys.executable}" -c "{code}" <&- >&- 2>&-', shell=True, timeout=PATIENCE)
    assert done.returncode > 2


@pytest.mark.skipif(os.name == "nt", reason="a shell as on POSIX")
@pytest.mark.parametrize(
    ("closed", "code", "printed", "errors"),
    [(">&-", 2, "", CLOSED), ("2>&-", 0, "X001", ""), ("<&-", 0, "X001", ""), ("<&- >&- 2>&-", 2, "", "")],
)
def test_standard_streams_are_closed(closed: str, code: int, printed: str, errors: str) -> None:
    command = f'"{sys.executable}" -m irexec explain {closed}'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout[:4], done.stderr) == (code, printed, errors)


def test_nothing_is_read_of_a_closed_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["validate", "-"]) == 1
    assert "the file contains no element" in capsys.readouterr().out


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="signals as on POSIX")
def test_ctrl_c_from_outside() -> None:
    # In a shell's background SIGINT is ignored, which child processes inherit.
    code = "import signal, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from irexec.cli import explain, main\n"
    code += f"explain.run = lambda args: (print('up', flush=True), time.sleep({PATIENCE}))\n"
    code += "raise SystemExit(main.main(['explain']))"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert errors == ""


def test_text_that_the_terminal_cannot_show_is_escaped() -> None:
    code = "import sys\nfrom irexec.cli import explain, main\nexplain.run = lambda args: print('漢\\udcff') or 0\n"
    code += "raise SystemExit(main.main(['explain']))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0
    assert done.stdout.strip() == b"\\u6f22\\udcff"
