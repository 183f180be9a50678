"""The recipes for editors, as far as they can be tried without the editors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.waiting import PATIENCE

import irexec
from irexec.cli.main import main

EDITORS = Path(__file__).parents[2] / "editors"
VSCODE = EDITORS / "vscode"

# The extension in Node, with stand-ins for the two modules that only the editor has. Prints what the extension did.
HARNESS = """
const Module = require("module");
const load = Module._load, told = [];
const document = (text) => ({
  languageId: "xml", lineCount: text.split("\\n").length, lineAt: (n) => ({ text: text.split("\\n")[n] }),
});
const model = document('<?xml version="1.0"?>\\n<net name="m" version="11">'), other = document("<svg/>");
Module._load = (name, ...rest) => name === "vscode" ? {
  workspace: {
    getConfiguration: () => ({ get: () => JSON.parse(process.argv[2]) }),
    onDidOpenTextDocument: () => ({}), textDocuments: [other, model],
  },
  window: { showErrorMessage: (text) => told.push(text) },
} : name === "vscode-languageclient/node" ? {
  LanguageClient: class {
    constructor(id, name, server, client) { Object.assign(this, { server, client }); told.push(server); }
    start() {
      const next = () => "taken";
      told.push(this.client.middleware.didOpen(model, next));
      told.push(this.client.middleware.didOpen(other, next) instanceof Promise);
      return Promise.resolve();
    }
    isRunning() { return true; }
    stop() { told.push("stopped"); }
  },
} : load(name, ...rest);
const extension = require(process.argv[1]);
extension.activate({ subscriptions: [] });
extension.deactivate();
console.log(JSON.stringify(told));
"""


def test_the_manifest_starts_the_command_that_there_is() -> None:
    manifest = json.loads((VSCODE / "package.json").read_text("utf-8"))
    command = manifest["contributes"]["configuration"]["properties"]["irexec.command"]["default"]
    assert command == ["irexec", "lsp"]
    assert manifest["version"] == irexec.__version__.split(".dev")[0]
    assert (VSCODE / manifest["main"]).is_file()
    with pytest.raises(SystemExit) as left:
        main([*command[1:], "--help"])
    assert left.value.code == 0


def test_neovim_is_told_the_same_command() -> None:
    text = (EDITORS / "neovim" / "irexec.lua").read_text("utf-8")
    assert "cmd = { 'irexec', 'lsp' }" in text


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed: the extension is JavaScript")
def test_the_extension_starts_one_server_for_models_only() -> None:
    run = subprocess.run(
        ["node", "-e", HARNESS, str(VSCODE / "extension.js"), '["irexec", "lsp"]'],
        capture_output=True, text=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    told = json.loads(run.stdout)
    assert told == [{"command": "irexec", "args": ["lsp"]}, "taken", True, "stopped"]


@pytest.mark.skipif(
    shutil.which("node") is None or not (VSCODE / "node_modules" / "vscode-languageclient").is_dir(),
    reason="npm install in editors/vscode gets the client that VS Code's extensions have",
)
@pytest.mark.parametrize("command", [[sys.executable, "-m", "irexec", "lsp"], ["/there/is/no/irexec", "lsp"]])
def test_the_extension_with_its_client(command: list[str]) -> None:
    model = EDITORS.parent / "samples" / "wrong.xml"
    arguments = [json.dumps(command), str(model), str(VSCODE / "extension.js")]
    environment = os.environ | {"NODE_PATH": str(VSCODE / "node_modules")}
    run = subprocess.run(
        ["node", str(Path(__file__).with_name("vscode_client.js")), *arguments],
        capture_output=True, text=True, timeout=PATIENCE, check=True, env=environment,
    )  # fmt: skip
    told = json.loads(run.stdout)
    if command[0] == sys.executable:
        ((uri, messages),) = told["diagnostics"]
        assert uri == f"file://{model}"
        assert messages[0].startswith("the operator has no attribute 'axes'\n")
        assert told["errors"] == []
    else:
        assert told["errors"][-1].startswith("'/there/is/no/irexec' does not start. Install irexec with its extra")
