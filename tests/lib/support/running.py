"""`irexec run` in a test: its exit code with its text or its JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from irexec.cli.main import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["run", *arguments])
    return code, capsys.readouterr().out


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code, text = run(capsys, *arguments, "--json")
    return code, json.loads(text)


def codes(result: Any) -> list[str]:
    return [finding["code"] for finding in result["diagnostics"] if finding["severity"] == "error"]
