// ---- The panel.

/** A text with line breaks allowed after the separators in names and paths, but not inside numbers. */
function soft(words) {
  if (typeof words !== "string" || words.length < 12) return words;
  const found = document.createDocumentFragment();
  for (const part of visible(words).split(/(?<=[/.:,-])(?<!\d[.,]|\de-|(?:^|[\s(\[])-)(?=\w)/)) found.append(part, document.createElement("wbr"));
  return found;
}
function section(title, ...children) { return [make("h3", {}, title), ...children]; }
function table(rows, classes = []) {
  return make("table", {}, make("tbody", {}, ...rows.map((row) => make("tr", { class: row.kind || "" },
    ...(row.cells || row).map((cell, n) => make(n ? "td" : "th", classes[n] ? { class: classes[n] } : {}, soft(cell)))))));
}
function link(words, act) { return make("button", { class: "link", type: "button", on: act }, soft(words)); }
function toLayer(index) {
  const layer = layerAt(index);
  return link(label(layer), () => choose(index));
}
const fileOf = (index) => modelOf(index).file || "MODEL";

function finding(found, withLayer) {
  const where = [found.file, found.line, found.column].filter((part) => part !== null && part !== undefined).join(":");
  const rows = [["found", "found"], ["allowed", "allowed"], ["constraint", "constraint"], ["openvino", "OpenVINO"],
    ["hint", "help"]].filter(([key]) => found[key]).map(([key, name]) => [name, found[key]]);
  const index = data.layers.findIndex((layer) => (layer.f || []).includes(data.findings.indexOf(found)));
  const sign = { error: "✖", warning: "▲", note: "●" }[found.severity];
  return make("div", { class: "finding " + found.severity },
    make("strong", {}, `${sign} ${found.severity} ${found.code}`), make("p", {}, found.message),
    rows.length ? table(rows) : null, make("p", { class: "soft code" }, where),
    withLayer && index >= 0 ? make("p", {}, "at ", toLayer(index)) : null,
    ...(found.fixes || []).map((fix) => tellFix(fix, found)));
}
/** The fix of a finding, and the command that applies it; a suggestion is one of several fixes and has no command. */
function tellFix(fix, found) {
  const options = fix.safety === "unsafe" ? ` --unsafe --select ${found.code}` : ` --select ${found.code}`;
  return make("div", { class: "fix" }, make("p", {}, make("strong", {}, "fix: "), fix.title,
    fix.safety === "safe" ? "" : ` (${fix.safety === "unsafe" ? "may change the results" : "a suggestion"})`),
    fix.safety === "suggestion" ? null : command(`irexec fix ${quoted(found.file || "MODEL")}${options}`));
}

function fill(...children) { panel.replaceChildren(...children.flat(9).filter((c) => c !== null && c !== undefined)); panel.scrollTop = 0; }

function tellModel() {
  const errors = data.findings.filter((f) => f.severity === "error");
  const [first] = data.models;
  fill(make("h2", {}, data.models.map((model) => model.name || "model").filter((name, n, all) => all.indexOf(name) === n).join(" and ")),
    data.models.length === 1 && first.file ? make("p", { class: "soft code" }, first.file) : null,
    data.descriptions.map((words) => make("p", {}, words)),
    data.curves.map(tellCurve),
    data.changes.length ? section("changes", make("ul", { class: "changes" }, ...data.changes.slice(0, 500).map(tellChange)),
      data.changes.length > 500 ? make("p", {}, `and ${data.changes.length - 500} more`) : null) : null,
    data.findings.length ? section(`findings (${errors.length} ${errors.length === 1 ? "error" : "errors"})`,
      ...data.findings.slice(0, 200).map((f) => finding(f, true))) : null,
    tellStrongest(), ...data.models.map(aboutModel));
}

/** The layers with the strongest marks of the chosen data, or else those that take most of the time of a run. */
function tellStrongest() {
  const overlay = data.overlays.find((o) => o.key === ($("overlay").value || "time"));
  if (!overlay) return null;
  // Layers of both models that have the same mark are listed once.
  const repeats = (index, words) => twins.has(index) && twins.get(index) < index && (overlay.marks[twins.get(index)] || [])[1] === words;
  const marked = Object.entries(overlay.marks).filter(([index, [, words]]) => !repeats(Number(index), words)).sort(([, a], [, b]) => b[0] - a[0]);
  const shown = marked.slice(0, 10);
  const title = overlay.key === "time" ? "most expensive layers" : `layers by ${overlay.title}`;
  return section(`${title} (${shown.length} of ${marked.length})`,
    table(shown.map(([index, [, words, sign]]) => [toLayer(Number(index)), `${sign ? sign + " " : ""}${words}`]), ["wide", "number"]));
}

function aboutModel(model) {
  return [data.models.length > 1 ? make("h2", { class: "code" }, model.file || model.name) : null,
    section("inputs", table(model.inputs)), section("outputs", table(model.outputs)), section("size", table(model.size)),
    model.sizes && model.sizes.length ? section("accepted sizes", table(model.sizes)) : null,
    model.states.length ? section("states", table(model.states)) : null,
    model.provenance.length ? section("provenance", table(model.provenance)) : null,
    section("operators", table([{ kind: "head", cells: ["", "layers", "multiply-adds"] }, ...model.operators.map(([name, count, work]) =>
      [link(name, () => { $("query").value = name.replace(/-\d+$/, ""); search(); }), String(count), work])], ["wide", "number", "number"]))];
}

/** A bar for each number of excluded layers, as long as the share of the loss that is recovered; or for each step. */
function tellCurve(curve) {
  const rows = curve.points.map(([count, metric, share, words]) => {
    const bar = draw("svg", { viewBox: "0 0 120 10", width: 120, height: 10, class: "histogram", "aria-hidden": "true" });
    bar.append(draw("rect", { width: 120 * share, height: 10 }));
    return [String(count), bar, words, metric];
  });
  return section(curve.title, table([{ kind: "head", cells: curve.heads }, ...rows], ["number", "", "number", "number"]),
    curve.layers.length ? make("p", {}, "suggested: ", make("br"), ...curve.layers.slice(0, 100).flatMap((index) => [toLayer(index), make("br")])) : null);
}

function tellChange([kind, words, pairs]) {
  const sign = { added: "+", removed: "−" }[kind] || "±";
  const layers = pairs.map((pair) => pair.find((index) => index >= 0)).filter((index) => index !== undefined);
  const first = make("strong", {}, `${sign} ${kind} `);
  if (layers.length < 2) return make("li", {}, first, layers.length ? toLayer(layers[0]) : "", ` ${words}`);
  const more = layers.length > 300 ? make("p", {}, `and ${layers.length - 300} more`) : null;
  return make("li", {}, make("details", {}, make("summary", {}, first, words), ...layers.slice(0, 300).flatMap((index) => [toLayer(index), make("br")]), more));
}

function shape(output) { return `${text(output[0])} ${text(output[1])}`; }

function tellLayer(index) {
  const layer = layerAt(index), described = data.described[text(layer.k)] || [];
  const known = described[1] ? make("a", { href: described[1], target: "_blank", rel: "noreferrer" }, text(layer.k)) : text(layer.k ?? layer.t);
  const name = label(layer);
  const outer = layer.p === undefined ? null : make("p", {}, `in the ${layer.b} of `, toLayer(layer.p));
  const folded = index in data.folded ? make("p", {}, "drawn as part of ", toLayer(data.folded[index])) : null;
  const words = [["id", layer.i], ["version", text(layer.v)]];
  if (layer.l) words.push(["place", `${fileOf(index)}:${layer.l}`]);
  if (layer.m) words.push(["multiply-adds", layer.m.toLocaleString("en")]);
  if (layer.u) words.push(["used", "by no result; checked, but never run"]);
  if (layer.c) words.push(["values", layer.c]);
  if (data.models.length > 1) words.unshift(["model", fileOf(index)], ["in the other model", twins.has(index) ? toLayer(twins.get(index)) : "no such layer"]);
  fill(make("h2", {}, soft(name)), make("p", {}, make("strong", {}, known)), described[0] ? make("p", { class: "soft" }, described[0]) : null,
    outer, folded, observed(index),
    (layer.f || []).length ? section("findings", ...layer.f.map((n) => finding(data.findings[n], false))) : null,
    layer.a ? section("attributes", table(layer.a.map(([key, value, usual]) =>
      ({ kind: usual ? "default" : "", cells: [text(key), text(value), usual ? "default" : ""] })))) : null,
    layer.s ? section("inputs", table(layer.s.map(([port, source, output = 0]) => [text(port), source < 0 ? "not connected" :
      make("span", {}, toLayer(source), make("br"), make("span", { class: "soft" }, shape(layerAt(source).o[output] || [layer.t, layer.t]))) ]))) : null,
    layer.o ? section("outputs", ...layer.o.map((output, n) => tellOutput(layer, index, output, n))) : null,
    section("this layer", table(words)),
    layer.x ? section("in the text form", command(layer.x, "text")) : null,
    data.uncut.includes(text(layer.t)) || layer.u ? null :
      section("extract this layer", command(`irexec cut ${quoted(fileOf(index))} --around=${quoted(layer.n || layer.i)}`)));
}

function tellOutput(layer, index, output, n) {
  const rows = [["inferred", shape(output)]];
  if (output[3] !== undefined && output[3] >= 0) rows.push(["declared", text(output[3])]);
  if ((output[2] || []).length) rows.push(["names", output[2].join(", ")]);
  const used = (readers.get(index) || []).filter(([, number]) => number === n).map(([reader]) => reader);
  if (used.length) rows.push(["read by", make("span", {}, ...used.slice(0, 30).flatMap((r) => [toLayer(r), make("br")]),
    used.length > 30 ? `and ${used.length - 30} more` : "")]);
  const drawn = (layer.h || [])[n];
  return make("div", {}, table(rows), drawn ? histogram(drawn) : null);
}

function histogram([low, high, counts]) {
  const most = Math.max(...counts), wide = 340 / counts.length;
  if (low === high) return make("p", { class: "soft" }, `all ${most} values are ${low.toPrecision(4)}`);
  const words = `range ${low.toPrecision(4)} … ${high.toPrecision(4)}; tallest bar: ${most} values`;
  const chart = draw("svg", { viewBox: "0 0 340 60", width: "100%", class: "histogram", role: "img", "aria-label": words });
  counts.forEach((count, n) => {
    const high_ = most ? (56 * count) / most : 0;
    chart.append(draw("rect", { x: n * wide, y: 60 - high_, width: Math.max(0.5, wide - 1), height: high_ }));
  });
  return make("div", {}, chart, make("p", { class: "soft" }, words));
}

function observed(index) {
  const rows = data.overlays.filter((o) => o.marks[index]).map((o) => [o.title, `${o.marks[index][2] || ""} ${o.marks[index][1]}`.trim()]);
  return rows.length ? section("observed", table(rows)) : null;
}

function tellValue(index, output) {
  choose(index, { centre: false });
  const found = layerAt(index).o[output];
  if (found) say(`value ${shape(found)}`);
}

function tellBlock(box) {
  const inside = [...box.querySelectorAll('[id^="l"]')].map((el) => Number(el.id.slice(1)));
  const counts = new Map();
  for (const index of inside) counts.set(text(layerAt(index).t), (counts.get(text(layerAt(index).t)) || 0) + 1);
  const texts = box.querySelectorAll(":scope > .closed > text");
  const open = box.classList.contains("open");
  fill(make("h2", {}, texts[0].textContent.replace("▸ ", "")), make("p", {}, texts[1] ? texts[1].textContent : ""),
    make("p", { class: "soft" }, `${inside.length} layers${/^▸ blocks? \d/.test(texts[0].textContent) ? ", the same in each block" : ""}`),
    make("button", { type: "button", on: () => pick(box) }, open ? "close" : "open"),
    section("operators", table([...counts].sort((a, b) => b[1] - a[1]).map(([name, count]) => [name, String(count)]), ["", "number"])),
    section("layers", ...inside.slice(0, 200).map((index) => make("p", {}, text(layerAt(index).t), " ", toLayer(index)))));
}

const quoted = (words) => (/^[\w@%+=:,./-]+$/.test(words) ? words : "'" + words.replace(/'/g, "'\\''") + "'");
function command(words, kind = "") {
  const shown = make("code", {}, document.createTextNode(words));
  const copy = () => {
    const range = document.createRange();
    range.selectNodeContents(shown);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    if (navigator.clipboard) navigator.clipboard.writeText(words).then(() => say("copied"), () => say("selected"));
  };
  return make("div", { class: `command ${kind}` }, shown, make("button", { type: "button", on: copy }, "copy"));
}
