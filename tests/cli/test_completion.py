"""`irexec completion`: the completions that shells offer."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.waiting import PATIENCE

from irexec.cli.completion import bash_script, commands, fish_script, zsh_script
from irexec.cli.main import COMMANDS, main


def completed(*words: str) -> set[str]:
    """Return the words that bash offers for the last of these words."""
    listed = " ".join(f"'{word}'" for word in words)
    script = f"{bash_script()}COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _irexec; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=PATIENCE)
    return set(done.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes() -> None:
    assert completed("irexec", "va") == {"validate"}
    assert completed("irexec", "") == set(COMMANDS)
    assert completed("irexec", "validate", "--sta") == {"--statistics"}
    assert completed("irexec", "validate", "--format", "") >= {"text", "concise", "json"}
    assert completed("irexec", "run", "--mode", "s") == {"strict"}


def test_every_command_and_option_is_known() -> None:
    known = commands()
    assert set(known) == set(COMMANDS)
    fish = fish_script()
    for name, (_, options) in known.items():
        for option in options:
            assert all(f"-l {spelling[2:]}" in fish for spelling in option.names), (name, option)
    assert zsh_script().endswith(bash_script())


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh here")
def test_zsh_takes_it_without_any_settings(tmp_path: Path) -> None:
    script = f"{zsh_script()}print $_comps[irexec]"
    settings = {"HOME": str(tmp_path), "ZDOTDIR": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["zsh", "-f", "-c", script], capture_output=True, text=True, check=True, env=settings, timeout=PATIENCE
    )
    assert (done.stdout, done.stderr) == ("_bash_complete -o filenames -F _irexec\n", "")


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish here")
def test_fish_offers_commands(tmp_path: Path) -> None:
    script = f"{fish_script()}\ncomplete -C 'irexec val'"
    settings = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=settings,
        timeout=PATIENCE,
    )
    assert done.stdout.startswith("validate\t")


def test_a_shell_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    assert capsys.readouterr().out == bash_script()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes_files_with_blanks_values_after_an_equals_sign_and_positional_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my model.xml").touch()
    script = f"{bash_script()}COMP_WORDS=(irexec show my); COMP_CWORD=2; _irexec; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout == "my model.xml\n"
    assert completed("irexec", "validate", "--format", "=") >= {"text", "json"}
    assert completed("irexec", "validate", "--format", "=", "js") == {"json"}
    assert completed("irexec", "completion", "") == {"bash", "zsh", "fish"}
