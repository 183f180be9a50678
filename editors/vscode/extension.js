"use strict";
// Starts the language server of irexec for the first XML file that holds an IR, and stops it with the editor.

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const FIRST_LINES = 20;
let client;

function isModel(document) {
  if (document.languageId !== "xml") return false;
  const lines = Math.min(FIRST_LINES, document.lineCount);
  for (let line = 0; line < lines; line++) {
    if (/<(net|layer)\b/.test(document.lineAt(line).text)) return true;
  }
  return false;
}

function start(document) {
  if (client || !isModel(document)) return;
  const [command, ...args] = vscode.workspace.getConfiguration("irexec").get("command");
  client = new LanguageClient("irexec", "irexec", { command, args }, {
    documentSelector: [{ language: "xml" }],
    // The server would find fault with every other XML file.
    middleware: {
      didOpen: (opened, next) => (isModel(opened) ? next(opened) : Promise.resolve()),
    },
  });
  client.start().catch(() => vscode.window.showErrorMessage(
    `'${command}' does not start. Install irexec with its extra, pip install 'irexec[lsp]', ` +
    "and name the command in the setting irexec.command."));
}

function activate(context) {
  context.subscriptions.push(vscode.workspace.onDidOpenTextDocument(start));
  vscode.workspace.textDocuments.forEach(start);
}

function deactivate() {
  // A client that did not start cannot be stopped.
  return client && client.isRunning() ? client.stop() : undefined;
}

module.exports = { activate, deactivate };
