"""The configurations for editors, as far as they can be tested without the editors."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.waiting import PATIENCE

import irexec
from irexec.cli.main import main

pytest.importorskip("pygls", reason="the language server is the extra irexec[lsp]")
from irexec.lsp.more_requests import FIX, REPORT, RUN

EDITORS = Path(__file__).parents[2] / "editors"
VSCODE = EDITORS / "vscode"

# Runs the extension in Node, with substitutes for the two modules that only the editor has; prints its actions.
HARNESS = """
const Module = require("module");
const load = Module._load, told = [], commands = {};
const document = (text) => ({
  languageId: "xml", uri: { toString: () => "file:///m.xml" },
  lineCount: text.split("\\n").length, lineAt: (n) => ({ text: text.split("\\n")[n] }),
});
const model = document('<?xml version="1.0"?>\\n<net name="m" version="11">'), other = document("<svg/>");
Module._load = (name, ...rest) => name === "vscode" ? {
  workspace: {
    getConfiguration: () => ({ get: () => JSON.parse(process.argv[2]) }),
    onDidOpenTextDocument: () => ({}), textDocuments: [other, model],
  },
  window: {
    showErrorMessage: (text) => told.push(text), showInformationMessage: () => {},
    activeTextEditor: { document: model },
  },
  commands: { registerCommand: (name, run) => { commands[name] = run; return {}; }, executeCommand: () => {} },
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
    sendRequest(method, what) { told.push([method, what.command, what.arguments]); return Promise.resolve(true); }
    stop() { told.push("stopped"); }
  },
} : load(name, ...rest);
const extension = require(process.argv[1]);
extension.activate({ subscriptions: [] });
Promise.all([commands["irexec.report"](), commands["irexec.applyFixes"]()]).then(() => {
  extension.deactivate();
  console.log(JSON.stringify(told));
});
"""


def test_the_manifest_starts_the_command_that_there_is() -> None:
    manifest = json.loads((VSCODE / "package.json").read_text("utf-8"))
    command = manifest["contributes"]["configuration"]["properties"]["irexec.command"]["default"]
    assert command == ["irexec", "lsp"]
    assert manifest["version"] == irexec.__version__.split(".dev")[0]
    # The bundle is created when the extension is packaged.
    assert manifest["scripts"]["bundle"].startswith("esbuild extension.js ")
    assert manifest["scripts"]["bundle"].endswith(f"--outfile={manifest['main'].removeprefix('./')}")
    assert all((VSCODE / name).is_file() for name in ("extension.js", manifest["icon"], "LICENSE", "README.md"))
    source = (VSCODE / "extension.js").read_text("utf-8")
    assert all(f'"{entry["command"]}": ' in source for entry in manifest["contributes"]["commands"])
    assert all(f'"{command_}"' in source for command_ in (FIX, REPORT, RUN))
    with pytest.raises(SystemExit) as left:
        main([*command[1:], "--help"])
    assert left.value.code == 0


def test_neovim_gets_the_same_command() -> None:
    text = (EDITORS / "neovim" / "irexec.lua").read_text("utf-8")
    assert "cmd = { 'irexec', 'lsp' }" in text


def neovim_version() -> tuple[int, ...]:
    """Return the version of the installed Neovim; an empty tuple if it is not installed."""
    if shutil.which("nvim") is None:
        return ()
    first = subprocess.run(["nvim", "--version"], capture_output=True, text=True, timeout=PATIENCE).stdout.partition(
        "\n"
    )[0]
    return tuple(map(int, re.findall(r"\d+", first)[:2]))


@pytest.mark.skipif(neovim_version() < (0, 11), reason="Neovim 0.11 or newer is not installed")
def test_neovim_with_the_recipe_as_printed(tmp_path: Path) -> None:
    model = tmp_path / "wrong.xml"
    model.write_bytes((EDITORS.parent / "samples" / "wrong.xml").read_bytes())
    recipe, driver = EDITORS / "neovim" / "irexec.lua", Path(__file__).with_name("neovim.lua")
    # The configuration starts `irexec`, which is that of the tests.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    homes = {name: str(tmp_path) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    run = subprocess.run(
        ["nvim", "--headless", "-u", str(recipe), str(model), "-c", f"luafile {driver}", "-c", "qall!"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
        env=os.environ | homes | {"PATH": path},
    )  # fmt: skip
    assert run.stdout, run.stderr
    told = json.loads(run.stdout)
    assert told["findings"] == ["D001", "P004"]
    assert told["line"] == '<data axis="2"/>'
    assert told["hover"].startswith("**SoftMax-8**")
    assert "SoftMax" in told["completion"]


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed: the extension is JavaScript")
def test_the_extension_starts_one_server_for_models_only() -> None:
    run = subprocess.run(
        ["node", "-e", HARNESS, str(VSCODE / "extension.js"), '["irexec", "lsp"]'],
        capture_output=True, text=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    told = json.loads(run.stdout)
    asked = [["workspace/executeCommand", command, ["file:///m.xml"]] for command in (REPORT, FIX)]
    assert told == [{"command": "irexec", "args": ["lsp"]}, "taken", True, *asked, "stopped"]


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
