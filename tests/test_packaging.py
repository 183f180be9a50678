"""Published files: the wheel and the sdist, the action, the hooks, the schema of findings, the container."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.waiting import PATIENCE

import irexec
from irexec.cli.main import command_parsers, main

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "samples"


def arguments_of(line: str) -> list[str]:
    """Return the arguments of a line of shell that runs irexec, without variables and redirections."""
    words = shlex.split(re.sub(r"\$\{?\w+\}?|[12]?>.*|\|\|.*", "", line))
    return words[words.index("irexec") + 1 :]


def test_the_metadata_is_complete() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {"name", "description", "readme", "requires-python", "license", "keywords", "classifiers"} <= project.keys()
    assert {"Homepage", "Documentation", "Changelog", "Issues", "Source"} <= project["urls"].keys()
    assert any(text.startswith("Development Status") for text in project["classifiers"])


def test_hooks_run_commands_that_there_are() -> None:
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    entries = re.findall(r"^  entry: (.*)$", text, re.MULTILINE)
    assert len(entries) == 4
    for entry in entries:
        arguments = arguments_of(entry)
        command_parsers(arguments[:1])[0].parse_args([*arguments, "file.xml"])
    page = (ROOT / "docs" / "ci.md").read_text()
    for hook in re.findall(r"^- id: (.*)$", text, re.MULTILINE):
        assert hook in page


def test_the_fix_hook_changes_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.xml"
    path.write_text((SAMPLES / "wrong.xml").read_text().replace('axes="2"', 'axis="2"'))
    (entry,) = re.findall(
        r"id: irexec-fix\n.*\n.*\n  entry: irexec (.*)$", (ROOT / ".pre-commit-hooks.yaml").read_text(), re.M
    )
    assert main([*shlex.split(entry), str(path)]) == 0
    assert 'id="1" precision="FP32"' in path.read_text()


def test_the_hooks_check_a_commit_of_weights_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    entry, files = re.findall(r"  entry: irexec (validate.*)\n.*\n  files: (.*)$", text, re.M)[0]
    for name, count in (("model.xml", 1), ("model.bin", 1), ("model.bin.txt", 0)):
        assert len(re.findall(files, f"models/{name}")) == count
    shutil.copy(SAMPLES / "classifier" / "model.xml", tmp_path)
    (tmp_path / "model.bin").write_bytes(b"torn")
    (tmp_path / "other.bin").write_bytes(b"")
    assert main([*shlex.split(entry), str(tmp_path / "model.bin"), str(tmp_path / "other.bin")]) == 1
    assert "error[C002]" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["action.yml", ".pre-commit-hooks.yaml"])
def test_files_in_yaml_can_be_read(name: str) -> None:
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load((ROOT / name).read_text())


def test_the_action_runs_commands_that_there_are() -> None:
    lines = [line for line in (ROOT / "action.yml").read_text().splitlines() if line.strip().startswith("irexec ")]
    lines += [line for line in (ROOT / ".ci" / "changed-models").read_text().splitlines() if " irexec report " in line]
    assert len(lines) == 3
    for line in lines:
        arguments = arguments_of(line)
        if arguments[0] == "report":
            arguments = ["report", "before.xml", "--diff", "model.xml", "-o", "out.html"]
        else:
            arguments.append("models")
        command_parsers(arguments[:1])[0].parse_args(arguments)


@pytest.mark.skipif(shutil.which("git") is None or os.name == "nt", reason="git and a shell as on POSIX")
def test_changed_models_get_a_report(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "irexec"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}:$PYTHONPATH" exec "{sys.executable}" -m irexec "$@"\n')
    program.chmod(0o755)
    repository = tmp_path / "repository"
    (repository / "models").mkdir(parents=True)
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]

    def git(*arguments: str) -> str:
        command = ["git", *identity, *arguments]
        return subprocess.run(
            command, cwd=repository, check=True, capture_output=True, text=True, timeout=PATIENCE
        ).stdout

    for suffix in (".xml", ".bin"):
        shutil.copy(SAMPLES / "classifier" / f"model{suffix}", repository / "models" / f"model{suffix}")
    (repository / "other.xml").write_text("<project/>")
    for suffix in (".xml", ".bin"):
        shutil.copy(SAMPLES / "classifier" / f"model{suffix}", repository / f"weights only{suffix}")
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    base = git("rev-parse", "HEAD").strip()
    for suffix in (".xml", ".bin"):
        shutil.copy(SAMPLES / "converted" / f"model{suffix}", repository / "models" / f"model{suffix}")
    (repository / "other.xml").write_text("<project>changed</project>")
    weights = (SAMPLES / "classifier" / "model.bin").read_bytes()
    (repository / "weights only.bin").write_bytes(weights[:-4] + bytes(4))
    reports = tmp_path / "reports"
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", str(ROOT / ".ci" / "changed-models"), base, str(reports)]
    done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in reports.iterdir()) == ["models_model.xml.html", "weights only.xml.html"]
    assert "other.xml: no report" in done.stdout


@pytest.mark.parametrize("path", ["wrong.xml", "classifier/model.xml", "scatter_nd_update/example_2.xml"])
def test_findings_fit_their_schema(path: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((ROOT / "schemas" / "findings.schema.json").read_text())
    report = json.loads(irexec.validate(SAMPLES / path).to_json())
    assert report["version"] == 1
    jsonschema.Draft202012Validator(schema).validate(report)


def test_the_schema_knows_every_key_of_a_finding() -> None:
    schema = json.loads((ROOT / "schemas" / "findings.schema.json").read_text())
    report = json.loads(irexec.validate(SAMPLES / "wrong.xml").to_json())
    assert report.keys() <= schema["properties"].keys()
    for finding in report["diagnostics"]:
        assert finding.keys() <= schema["$defs"]["diagnostic"]["properties"].keys()
        for fix in finding["fixes"]:
            assert fix.keys() == schema["$defs"]["fix"]["properties"].keys()


def test_the_container_and_readme_name_extras_that_there_are() -> None:
    text = (ROOT / "Dockerfile").read_text()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.findall(r"\[(\w+)\]", text)) == {"onnx"} <= extras.keys()
    (readme,) = re.findall(r"^Extras add .*?: (`onnx`.*?)\.$", (ROOT / "README.md").read_text(), re.M | re.S)
    assert set(re.findall(r"`(\w+)`", readme)) - {"reduce", "conformance"} <= extras.keys()
    assert {*extras["onnx"]} <= {*extras["compare"]}


@pytest.mark.in_ci("builds and installs packages")
def test_the_wheel_and_the_sdist_are_installed_and_run(tmp_path: Path) -> None:
    unwanted = shutil.ignore_patterns(".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "*.egg-info")
    checkout, dist = tmp_path / "checkout", tmp_path / "dist"
    shutil.copytree(ROOT, checkout, ignore=unwanted)
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")}

    def run(*command: object) -> str:
        words = [str(word) for word in command]
        done = subprocess.run(words, cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def environment(name: str) -> Path:
        """An environment without a pip of its own, whose installation takes ten seconds."""
        run(sys.executable, "-m", "venv", "--without-pip", tmp_path / name)
        return tmp_path / name / "bin" / "python"

    def install(python: Path, *what: object) -> None:
        run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-compile", *what)

    backend = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    tools = environment("tools")
    install(tools, "build", "twine", *backend)
    run(tools, "-m", "build", "--no-isolation", "-o", dist, checkout)
    files = sorted(dist.iterdir())
    assert [path.name.partition("-")[2].rpartition(irexec.__version__)[2] for path in files] == [
        "-py3-none-any.whl",
        ".tar.gz",
    ]
    assert run(tools, "-m", "twine", "check", "--strict", *files).count("PASSED") == 2
    python = environment("venv")
    program = python.with_name("irexec")
    for number, file in enumerate(files):
        # The dependencies are those of the first file.
        again = ["--force-reinstall", "--no-deps"] if number else []
        install(python, *again, file)
        assert run(program, "--version") == f"irexec {irexec.__version__}\n"
        assert "# P004" in run(program, "explain", "P004")
        assert "no findings" in run(program, "validate", SAMPLES / "classifier" / "model.xml")
        run(program, "report", SAMPLES / "classifier" / "model.xml", "-o", tmp_path / "page.html")
