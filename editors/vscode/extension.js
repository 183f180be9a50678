"use strict";
// Starts the language server of irexec for the first text that holds an IR or examples of layers, and stops it with the
// editor. Its commands are those of the server, for the text in front.

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const FIRST_LINES = { xml: 20, irt: 20, markdown: 5000, restructuredtext: 5000 };
/** What the user chooses, and the command of the server that does it. */
const COMMANDS = { "irexec.report": "irexec.showReport", "irexec.runModel": "irexec.run", "irexec.applyFixes": "irexec.fixAll" };
let client, output;

function isModel(document) {
  const lines = Math.min(FIRST_LINES[document.languageId] || 0, document.lineCount);
  if (document.languageId === "irt") return true;
  for (let line = 0; line < lines; line++) {
    if (/<(net|layer)\b/.test(document.lineAt(line).text)) return true;
  }
  return false;
}

function start(document) {
  if (client || !isModel(document)) return;
  const [command, ...args] = vscode.workspace.getConfiguration("irexec").get("command");
  client = new LanguageClient("irexec", "irexec", { command, args }, {
    documentSelector: Object.keys(FIRST_LINES).map((language) => ({ language })),
    // The server would find fault with every other XML file.
    middleware: {
      didOpen: (opened, next) => (isModel(opened) ? next(opened) : Promise.resolve()),
    },
  });
  client.start().then(
    () => vscode.commands.executeCommand("setContext", "irexec.running", true),
    () => vscode.window.showErrorMessage(
      `'${command}' does not start. Install irexec with its extra, pip install '.[lsp]' in its folder, ` +
      "and name the command in the setting irexec.command."));
}

/** Ask the server to do a command with the text in front. */
async function execute(command) {
  const editor = vscode.window.activeTextEditor;
  if (!editor || !client || !client.isRunning() || !isModel(editor.document)) {
    vscode.window.showInformationMessage("Open an OpenVINO IR file first; irexec works on the text in front.");
    return;
  }
  try {
    const answer = await client.sendRequest("workspace/executeCommand", { command, arguments: [editor.document.uri.toString()] });
    if (command === COMMANDS["irexec.runModel"]) {
      output = output || vscode.window.createOutputChannel("irexec run");
      output.clear();
      output.append(String(answer));
      output.show(true);
    } else if (command === COMMANDS["irexec.applyFixes"] && !answer) {
      vscode.window.showInformationMessage("There is nothing that irexec can fix safely.");
    }
  } catch (error) {
    vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
  }
}

function activate(context) {
  context.subscriptions.push(vscode.workspace.onDidOpenTextDocument(start));
  for (const [name, command] of Object.entries(COMMANDS))
    context.subscriptions.push(vscode.commands.registerCommand(name, () => execute(command)));
  vscode.workspace.textDocuments.forEach(start);
}

function deactivate() {
  // A client that did not start cannot be stopped.
  return client && client.isRunning() ? client.stop() : undefined;
}

module.exports = { activate, deactivate };
