// The extension with vscode-languageclient itself and a stand-in for the editor, talking to the real server.
// Arguments: the command as JSON, a model, the extension. Prints the findings and the errors that the editor was told.
const Module = require("module");
const load = Module._load;
const told = { errors: [], diagnostics: [] };
class Disposable { constructor(f) { this.f = f; } dispose() { this.f && this.f(); } static from() { return new Disposable(); } }
class EventEmitter { constructor() { this.l = []; this.event = (f) => { this.l.push(f); return new Disposable(); }; } fire(x) { this.l.forEach((f) => f(x)); } dispose() {} }
class Uri { constructor(s) { this.s = s; const u = new URL(s); this.scheme = u.protocol.slice(0, -1); this.path = u.pathname; this.fsPath = u.pathname; this.authority=""; this.query=""; this.fragment=""; } static parse(s) { return new Uri(s); } static file(s) { return new Uri("file://" + s); } toString() { return this.s; } with() { return this; } }
class Position { constructor(line, character) { this.line = line; this.character = character; } }
class Range { constructor(a, b, c, d) { if (typeof a === "number") { this.start = new Position(a, b); this.end = new Position(c, d); } else { this.start = a; this.end = b; } } }
const text = require("fs").readFileSync(process.argv[3], "utf8");
const lines = text.split("\n");
const document = { uri: Uri.file(process.argv[3]), languageId: "xml", version: 1, lineCount: lines.length, isClosed: false,
  lineAt: (n) => ({ text: lines[n] }), getText: () => text, fileName: process.argv[3] };
const never = () => new Disposable();
const anyClass = () => class { constructor(...a) { this.a = a; } };
class CodeActionKind { constructor(v) { this.value = v; } append(p) { return new CodeActionKind(this.value ? this.value + "." + p : p); } }
for (const n of ["Empty", "QuickFix", "Refactor", "RefactorExtract", "RefactorInline", "RefactorRewrite", "Source", "SourceOrganizeImports", "SourceFixAll"]) CodeActionKind[n] = new CodeActionKind(n === "Empty" ? "" : n);
const known = { CodeActionKind, Disposable, EventEmitter, Uri, Position, Range,
  CancellationTokenSource: class { constructor() { this.token = { isCancellationRequested: false, onCancellationRequested: never }; } cancel() {} dispose() {} },
  Diagnostic: class { constructor(range, message, severity) { Object.assign(this, { range, message, severity }); } },
  DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 }, DiagnosticTag: { Unnecessary: 1, Deprecated: 2 },
  version: "1.91.0", env: { language: "en", appName: "stand-in" }, l10n: { t: (s) => s },
};
const workspace = new Proxy({
  getConfiguration: () => ({ get: (n) => (n === "command" ? JSON.parse(process.argv[2]) : undefined), has: () => false, inspect: () => undefined }),
  textDocuments: [document], notebookDocuments: [], workspaceFolders: undefined, workspaceFile: undefined, fs: {}, isTrusted: true,
  asRelativePath: (x) => String(x),
  createFileSystemWatcher: () => new Proxy({}, { get: () => never }),
}, { get: (t, n) => (n in t ? t[n] : never) });
const languages = new Proxy({
  createDiagnosticCollection: () => ({ set: (uri, d) => { told.diagnostics.push([uri.toString(), (d || []).map((x) => x.message)]); }, delete() {}, clear() {}, dispose() {} }),
  match: () => 10, 
}, { get: (t, n) => (n in t ? t[n] : never) });
const channel = new Proxy({}, { get: () => (...a) => undefined });
const window = new Proxy({ createOutputChannel: () => channel, showErrorMessage: (t) => { told.errors.push(t); return Promise.resolve(); }, showInformationMessage: () => Promise.resolve(), visibleTextEditors: [], tabGroups: { all: [], onDidChangeTabs: never, onDidChangeTabGroups: never }, activeTextEditor: undefined, state: { focused: true } },
  { get: (t, n) => (n in t ? t[n] : never) });
const vscode = new Proxy({ ...known, workspace, languages, window, commands: new Proxy({}, { get: () => never }) }, {
  get: (t, n) => (n in t ? t[n] : (t[n] = /^[A-Z]/.test(String(n)) ? new Proxy(anyClass(), { get: (c, k) => (k in c ? c[k] : (typeof k === "string" && /^[A-Z]/.test(k) ? new Proxy(anyClass(), { get: (cc, kk) => kk in cc ? cc[kk] : (kk === "append" ? () => ({}) : kk) }) : undefined)) }) : new Proxy({}, { get: () => never }))),
});
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
const extension = require(process.argv[4]);
extension.activate({ subscriptions: [] });
const began = Date.now();
const wait = setInterval(async () => {
  if (told.diagnostics.length || told.errors.length || Date.now() - began > 60000) {
    clearInterval(wait);
    await Promise.race([extension.deactivate(), new Promise((r) => setTimeout(r, 5000))]);
    console.log(JSON.stringify(told));
    process.exit(0);
  }
}, 100);
