"use strict";
// The report of a model: moves the drawing, opens its blocks, and tells about what is chosen. Texts of the model are
// only ever given to textContent, so that none of them can become markup.

const SVG = "http://www.w3.org/2000/svg";
const FRAME = 16, HEADER = 30;
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const graph = $("graph"), view = $("view"), canvas = $("canvas"), panel = $("panel");
const text = (number) => data.texts[number];
const layerAt = (index) => data.layers[index];
const label = (layer) => layer.n || "#" + layer.i;

function make(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(options)) {
    if (key === "on") made.addEventListener("click", value);
    else if (key === "class") made.className = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function draw(tag, attributes, content) {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (content !== undefined) made.textContent = content;
  return made;
}

// ---- The view: what part of the drawing is seen, and how large.

const at = { x: 0, y: 0, k: 1 };
let size = graph.getAttribute("viewBox").split(" ").slice(2).map(Number);
graph.removeAttribute("viewBox");

function look() {
  view.setAttribute("transform", `translate(${at.x} ${at.y}) scale(${at.k})`);
  graph.classList.toggle("small", at.k < 0.42);
  graph.classList.toggle("tiny", at.k < 0.16);
}

function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const k = Math.min(4, Math.max(0.01, at.k * factor));
  at.x = x - ((x - at.x) * k) / at.k;
  at.y = y - ((y - at.y) * k) / at.k;
  at.k = k;
  look();
}

function fit(whole = true) {
  const [w, h] = [canvas.clientWidth, canvas.clientHeight];
  const k = Math.min(w / size[0], h / size[1]);
  at.k = whole ? Math.min(1.4, k) : Math.min(1, Math.max(k, Math.min(1, w / size[0]), 0.5));
  at.x = (w - size[0] * at.k) / 2;
  at.y = whole ? Math.max(0, (h - size[1] * at.k) / 2) : 0;
  look();
}

graph.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (event.ctrlKey || event.metaKey) zoom(Math.exp(-event.deltaY * 0.01), event.offsetX, event.offsetY);
  else if (event.shiftKey) { at.x -= event.deltaY + event.deltaX; look(); }
  else { at.x -= event.deltaX; at.y -= event.deltaY; look(); }
}, { passive: false });

const fingers = new Map();
let moved = 0;
graph.addEventListener("pointerdown", (event) => {
  fingers.set(event.pointerId, [event.offsetX, event.offsetY]);
  moved = 0;
});
graph.addEventListener("pointermove", (event) => {
  const before = fingers.get(event.pointerId);
  if (!before) return;
  const now = [event.offsetX, event.offsetY];
  const other = [...fingers].find(([id]) => id !== event.pointerId);
  moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
  if (moved > 4) {
    if (!graph.hasPointerCapture(event.pointerId)) graph.setPointerCapture(event.pointerId);
    graph.classList.add("moving");
  }
  if (other) {
    const apart = (p) => Math.hypot(p[0] - other[1][0], p[1] - other[1][1]);
    zoom(apart(now) / Math.max(1, apart(before)), other[1][0], other[1][1]);
  } else { at.x += now[0] - before[0]; at.y += now[1] - before[1]; look(); }
  fingers.set(event.pointerId, now);
});
for (const end of ["pointerup", "pointercancel"])
  graph.addEventListener(end, (event) => { fingers.delete(event.pointerId); graph.classList.remove("moving"); });

// ---- Blocks: opening one makes its row higher and wider; what lies below and beside it moves, nothing else changes.

const shapes = new WeakMap();

/** What a graph of the drawing is like when all its blocks are closed. */
function shapeOf(element) {
  if (shapes.has(element)) return shapes.get(element);
  const rows = element.dataset.rows.split(" ").filter(Boolean).map((row) => row.split(",").map(Number));
  const [width, height] = element.dataset.size.split(",").map(Number);
  const rowOf = new Map(rows.map(([top], number) => [top, number]));
  const bottoms = new Map(rows.map(([top, high], number) => [Math.round((top + high) * 10) / 10, number]));
  const boxes = [], wires = [];
  for (const child of element.children) {
    if (child.tagName === "path") {
      const far = child.classList.contains("far");
      wires.push({ element: child, far, parts: child.getAttribute("d").split("M").slice(1)
        .map((part) => part.match(/-?[\d.]+/g).map(Number))
        // A straight stretch names its x once: x, start, bottom, top.
        .map((part) => (part.length === 4 ? [...part.slice(0, 3), 0, 0, 0, 0, part[0], part[3]] : part)) });
    } else {
      const [x, y] = child.getAttribute("transform").match(/-?[\d.]+/g).map(Number);
      const rect = child.querySelector("rect");
      const body = child.querySelector(":scope > rect.body, :scope > .closed > rect.body") || rect;
      const w = Number(body.getAttribute("width"));
      const inside = child.querySelector(":scope > .inside");
      boxes.push({ element: child, x, y, w, row: rowOf.get(y), inside, dx: x, value: child.dataset.v });
    }
  }
  const shape = { element, rows, width, height, bottoms, rowOf, boxes, wires, now: [width, height], left: 0 };
  shapes.set(element, shape);
  return shape;
}

const graphsIn = (box) => [...box.inside.children].filter((c) => c.classList.contains("branch"));
const graphIn = (branch) => branch.lastElementChild;

/** Lay out the inside of an open block; gives its size. */
function measure(box) {
  let x = FRAME, high = 0;
  for (const branch of graphsIn(box)) {
    const shape = arrange(graphIn(branch));
    branch.setAttribute("transform", `translate(${x} ${HEADER + FRAME})`);
    branch.dataset.x = x;
    x += shape.now[0] + 2 * FRAME;
    high = Math.max(high, shape.now[1]);
  }
  const title = box.inside.querySelector(":scope > .title");
  const wide = Math.max(x - FRAME, title.textContent.length * 6.6 + 2 * FRAME, box.w);
  const tall = HEADER + high + 2 * FRAME;
  const frame = box.inside.querySelector(":scope > .frame");
  frame.setAttribute("width", wide);
  frame.setAttribute("height", tall);
  box.inside.setAttribute("transform", `translate(${-wide / 2} 0)`);
  return [wide, tall];
}

/** Where in an open block a value enters or leaves, from the centre of the block; null when the block does not say. */
function stub(box, value, sort) {
  for (const branch of graphsIn(box)) {
    const shape = shapeOf(graphIn(branch));
    const found = shape.boxes.find((b) => b.value === value && b.element.classList.contains(sort));
    if (found) return Number(branch.dataset.x) + shape.left + found.dx - box.open[0] / 2;
  }
  return null;
}

/** Put everything of one graph in its place. */
function arrange(element) {
  const shape = shapeOf(element);
  const open = shape.rows.map(() => []);
  for (const box of shape.boxes) {
    if (!box.inside) continue;
    box.open = box.element.classList.contains("open") ? measure(box) : null;
    if (box.open) open[box.row].push(box);
  }
  let added = 0;
  const tops = [], heights = [];
  shape.rows.forEach(([top, high], row) => {
    const extra = Math.max(0, ...open[row].map((box) => box.open[1] - high));
    tops.push(top + added);
    heights.push(high + extra);
    added += extra;
  });
  const holder = (row, x) => open[row].find((box) => Math.abs(x - box.x) <= box.w / 2 + 0.01);
  const across = (row, x) => {
    let moved = x;
    for (const box of open[row]) {
      const grown = (box.open[0] - box.w) / 2;
      if (Math.abs(x - box.x) <= box.w / 2 + 0.01) moved += ((x - box.x) * 2 * grown) / box.w;
      else moved += x < box.x ? -grown : grown;
    }
    return moved;
  };
  const port = (row, x, value, sort) => {
    const box = holder(row, x);
    const found = box ? stub(box, value, sort) : null;
    return found === null ? across(row, x) : across(row, box.x) + found;
  };
  let low = 0, high = shape.width;
  for (const box of shape.boxes) {
    box.dx = across(box.row, box.x);
    const half = (box.open ? box.open[0] : box.w) / 2;
    low = Math.min(low, box.dx - half);
    high = Math.max(high, box.dx + half);
    box.element.setAttribute("transform", `translate(${box.dx} ${tops[box.row]})`);
  }
  for (const wire of shape.wires) {
    const value = wire.element.dataset.v;
    wire.element.setAttribute("d", wire.parts.map((part) => {
      if (wire.far) {
        const row = shape.rowOf.get(part[2]), x = port(row, part[0], value, "enters");
        return `M${x} ${tops[row] - 14}V${tops[row]}`;
      }
      const [x, start, bottom] = part, toX = part[7], row = shape.bottoms.get(bottom);
      const passing = start === shape.rows[row][0];
      const fromX = passing ? across(row, x) : port(row, x, value, "leaves");
      const end = tops[row] + heights[row];
      const begin = holder(row, x) && !passing ? end : tops[row] + start - shape.rows[row][0];
      const next = tops[row + 1], middle = (end + next) / 2, to = port(row + 1, toX, value, "enters");
      if (fromX === to) return `M${fromX} ${begin}V${end}V${next}`;
      return `M${fromX} ${begin}V${end}C${fromX} ${middle} ${to} ${middle} ${to} ${next}`;
    }).join(""));
  }
  shape.left = -low;
  shape.now = [high - low, shape.height + added];
  element.setAttribute("transform", low ? `translate(${-low} 0)` : "");
  return shape;
}

const top_ = view.querySelector(".graph");

function arrangeAll(keep) {
  const before = keep && keep.getBoundingClientRect();
  const shape = arrange(top_);
  size = [shape.now[0] + 48, shape.now[1] + 48];
  if (before) {
    const after = keep.getBoundingClientRect();
    at.x += before.x + before.width / 2 - after.x - after.width / 2;
    at.y += before.y - after.y;
  }
  look();
}

function setOpen(box, open) {
  if (box.classList.contains("open") === open) return;
  box.classList.toggle("open", open);
  box.setAttribute("aria-expanded", String(open));
  arrangeAll(box);
  say(`${box.querySelector(".type").textContent.replace("▸ ", "")} ${open ? "open" : "closed"}`);
}

function openAll(open) {
  for (const box of view.querySelectorAll(".opens")) {
    box.classList.toggle("open", open);
    box.setAttribute("aria-expanded", String(open));
  }
  $("all").setAttribute("aria-pressed", String(open));
  $("all").textContent = open ? "close all" : "open all";
  arrangeAll();
  fit(false);
}

// ---- Choosing a layer.

let chosen = null;
const say = (words) => { $("said").textContent = words; };
const readers = new Map();
data.layers.forEach((layer, index) => (layer.s || []).forEach(([, source, output = 0]) => {
  if (!readers.has(source)) readers.set(source, []);
  readers.get(source).push([index, output]);
}));

/** The box that shows a layer: its own, or that of the layer which a constant is folded into. */
const boxOf = (index) => $("l" + index) || (index in data.folded ? $("l" + data.folded[index]) : null);

function light(index) {
  for (const wire of view.querySelectorAll(".lit")) wire.classList.remove("lit");
  if (index === null) return;
  for (const wire of view.querySelectorAll(`path[data-v^="${index}:"]`)) wire.classList.add("lit");
  for (const [, source, output = 0] of layerAt(index).s || [])
    for (const wire of view.querySelectorAll(`path[data-v="${source}:${output}"]`)) wire.classList.add("lit");
}

function mark(box) {
  for (const old of view.querySelectorAll(".selected")) { old.classList.remove("selected"); old.setAttribute("tabindex", "-1"); }
  if (!box) return;
  box.classList.add("selected");
  box.setAttribute("tabindex", "0");
}

/** Choose a layer: open what holds it, bring it into view, tell about it. */
function choose(index, { centre = true, focus = false } = {}) {
  const box = boxOf(index);
  chosen = index;
  if (box) {
    const holding = [];
    for (let el = box.parentElement.closest(".opens"); el; el = el.parentElement.closest(".opens")) holding.unshift(el);
    const closed = holding.filter((el) => !el.classList.contains("open"));
    for (const el of closed) { el.classList.add("open"); el.setAttribute("aria-expanded", "true"); }
    if (closed.length) arrangeAll(closed[0]);
    mark(box);
    if (centre) bring(box);
    if (focus) box.focus({ preventScroll: true });
  }
  light(index);
  tellLayer(index);
  const layer = layerAt(index);
  say(`${text(layer.t)} ${layer.n}`);
}

function bring(box) {
  if (at.k < 0.5) zoom(0.8 / at.k);
  const place = (box.querySelector(":scope > .closed, :scope > .body") || box).getBoundingClientRect();
  const inside = box.classList.contains("open") ? box.getBoundingClientRect() : place;
  const room = canvas.getBoundingClientRect();
  const margin = 60;
  if (inside.left < room.left + margin || inside.right > room.right - margin)
    at.x += room.left + room.width / 2 - inside.left - inside.width / 2;
  if (inside.top < room.top + margin || inside.top + 40 > room.bottom - margin)
    at.y += room.top + room.height / 2 - inside.top - 20;
  look();
}

view.addEventListener("click", (event) => {
  if (moved > 4) return;
  const wire = event.target.closest(".wire");
  if (wire) { tellValue(...wire.dataset.v.split(":").map(Number)); return; }
  const stubs = event.target.closest(".stub");
  if (stubs) { followStub(stubs); return; }
  const box = event.target.closest(".box");
  if (!box) return;
  pick(box);
});

function followStub(element) {
  const [layer, output] = element.dataset.v.split(":").map(Number);
  if (element.classList.contains("enters")) { choose(layer, { focus: true }); return; }
  const inside = element.closest(".graph");
  const out = (readers.get(layer) || []).find(([index, o]) => o === output && boxOf(index) && !inside.contains(boxOf(index)));
  choose(out ? out[0] : layer, { focus: true });
}

/** A click on a box: a layer is told about; a block opens, or closes when its frame is clicked. */
function pick(box) {
  const layer = box.id[0] === "l" ? Number(box.id.slice(1)) : null;
  if (box.classList.contains("opens")) setOpen(box, !box.classList.contains("open"));
  if (layer !== null) choose(layer, { centre: false });
  else { chosen = null; light(null); mark(box); tellBlock(box); }
  box.focus({ preventScroll: true });
}

// ---- Keys.

canvas.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const box = view.querySelector(".selected");
  const go = { ArrowUp: () => step(box, -1, 0), ArrowDown: () => step(box, 1, 0), ArrowLeft: () => step(box, 0, -1),
    ArrowRight: () => step(box, 0, 1), Enter: () => box && pick(box), " ": () => box && pick(box),
    w: () => shift(0, 80), s: () => shift(0, -80), a: () => shift(80, 0), d: () => shift(-80, 0) }[event.key];
  if (!go) return;
  event.preventDefault();
  go();
});

function shift(x, y) { at.x += x; at.y += y; look(); }

/** The neighbour of a box: along a wire (down or up), or in its row (across). */
function step(box, down, across) {
  if (!box) { const first = view.querySelector(".graph > .box"); if (first) land(first); return; }
  const shape = shapeOf(box.parentElement), own = shape.boxes.find((b) => b.element === box);
  if (across) {
    const row = shape.boxes.filter((b) => b.row === own.row).sort((a, b) => a.x - b.x);
    const next = row[row.indexOf(own) + across];
    if (next) land(next.element);
    return;
  }
  if (down > 0 && box.classList.contains("open")) { land(graphIn(graphsIn(own)[0]).querySelector(":scope > g")); return; }
  const next = neighbours(shape, own, down);
  if (next) land(next.element);
  else { const outer = box.parentElement.closest(".box"); if (outer) land(outer); }
}

function neighbours(shape, own, down) {
  const inBox = (box, x) => Math.abs(x - box.x) <= box.w / 2 + 0.01;
  let ends = [[own.row, null]];
  const first = shape.wires.filter((w) => !w.far).flatMap((w) => w.parts);
  let points = [own], seen = 0;
  while (points.length && seen++ < shape.rows.length) {
    const row = points[0].row, next = [];
    for (const point of points) for (const part of first) {
      const from = shape.bottoms.get(part[2]);
      const touches = (r, x) => r === row && (point.w !== undefined ? inBox(point, x) : Math.abs(x - point.x) < 0.06);
      if (down > 0 && touches(from, part[0])) next.push({ row: from + 1, x: part[7] });
      if (down < 0 && touches(from + 1, part[7])) next.push({ row: from, x: part[0] });
    }
    ends = next.map((p) => shape.boxes.find((b) => b.row === p.row && inBox(b, p.x))).filter(Boolean);
    if (ends.length) return ends[0];
    points = next;
  }
  return null;
}

function land(element) {
  if (element.classList.contains("stub")) {
    mark(element);
    element.setAttribute("tabindex", "0");
    element.focus({ preventScroll: true });
    bring(element);
    say(`${element.classList.contains("enters") ? "enters from" : "leaves to"} ${element.textContent.slice(2)}`);
  } else if (element.id[0] === "l") choose(Number(element.id.slice(1)), { focus: true });
  else { chosen = null; light(null); mark(element); tellBlock(element); element.focus({ preventScroll: true }); bring(element); }
}

document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  const go = { "/": () => $("query").focus(), "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8),
    0: () => fit(), o: () => $("all").click(), t: () => $("theme").click(), "?": () => $("help").click(),
    Escape: () => { chosen = null; mark(null); light(null); tellModel(); } }[event.key];
  if (!go) return;
  event.preventDefault();
  go();
});

// ---- The panel.

function section(title, ...children) { return [make("h3", {}, title), ...children]; }
function table(rows, classes = []) {
  return make("table", {}, make("tbody", {}, ...rows.map((row) => make("tr", { class: row.kind || "" },
    ...(row.cells || row).map((cell, n) => make(n ? "td" : "th", classes[n] ? { class: classes[n] } : {}, cell))))));
}
function link(words, act) { return make("button", { class: "link", type: "button", on: act }, words); }
function toLayer(index) {
  const layer = layerAt(index);
  return link(label(layer), () => choose(index));
}
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
    found.fix ? make("p", {}, "fix: ", make("code", {}, typeof found.fix === "string" ? found.fix : JSON.stringify(found.fix))) : null);
}
function fill(...children) { panel.replaceChildren(...children.flat(9).filter((c) => c !== null && c !== undefined)); panel.scrollTop = 0; }

function tellModel() {
  const errors = data.findings.filter((f) => f.severity === "error");
  fill(make("h2", {}, data.name || "model"), data.file ? make("p", { class: "soft code" }, data.file) : null,
    data.told.map((words) => make("p", {}, words)),
    section("inputs", table(data.inputs)), section("outputs", table(data.outputs)), section("size", table(data.size)),
    data.findings.length ? section(`findings (${errors.length} ${errors.length === 1 ? "error" : "errors"})`,
      ...data.findings.slice(0, 200).map((f) => finding(f, true))) : null,
    data.states.length ? section("states", table(data.states)) : null,
    section("operators", table(data.operators.map(([name, count, work]) =>
      [link(name, () => { $("query").value = name.replace(/-\d+$/, ""); search(); }), String(count), work]), ["", "number", "soft"])));
}

function shape(output) { return `${text(output[0])} ${text(output[1])}`; }

function tellLayer(index) {
  const layer = layerAt(index), described = data.described[text(layer.k)] || [];
  const known = described[1] ? make("a", { href: described[1], target: "_blank", rel: "noreferrer" }, text(layer.k)) : text(layer.k ?? layer.t);
  const name = label(layer);
  const outer = layer.p === undefined ? null : make("p", {}, `in the ${layer.b} of `, toLayer(layer.p));
  const folded = index in data.folded ? make("p", {}, "drawn as a part of ", toLayer(data.folded[index])) : null;
  const words = [["id", layer.i], ["version", text(layer.v)]];
  if (layer.l) words.push(["place", `${data.file}:${layer.l}`]);
  if (layer.m) words.push(["multiply-adds", layer.m.toLocaleString("en")]);
  if (layer.u) words.push(["reached", "by no result: checked, never run"]);
  if (layer.c) words.push(["values", layer.c]);
  fill(make("h2", {}, name), make("p", {}, make("strong", {}, known)), described[0] ? make("p", { class: "soft" }, described[0]) : null,
    outer, folded, observed(index),
    (layer.f || []).length ? section("findings", ...layer.f.map((n) => finding(data.findings[n], false))) : null,
    layer.a ? section("attributes", table(layer.a.map(([key, value, usual]) =>
      ({ kind: usual ? "default" : "", cells: [text(key), text(value), usual ? "default" : ""] })))) : null,
    layer.s ? section("inputs", table(layer.s.map(([port, source, output = 0]) => [text(port), source < 0 ? "not connected" :
      make("span", {}, toLayer(source), make("br"), make("span", { class: "soft" }, shape(layerAt(source).o[output] || [layer.t, layer.t]))) ]))) : null,
    layer.o ? section("outputs", ...layer.o.map((output, n) => tellOutput(layer, index, output, n))) : null,
    section("this layer", table(words)),
    data.cut ? section("extract it", command(`irexec cut ${quoted(data.file || "MODEL")} --around ${quoted(name)} --distance 1`)) : null);
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
  const words = `values from ${low.toPrecision(4)} to ${high.toPrecision(4)}, the most frequent ${most} times`;
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
    make("p", { class: "soft" }, `${inside.length} layers, alike in each block`),
    make("button", { type: "button", on: () => pick(box) }, open ? "close" : "open"),
    section("operators", table([...counts].sort((a, b) => b[1] - a[1]).map(([name, count]) => [name, String(count)]), ["", "number"])),
    section("layers", ...inside.slice(0, 200).map((index) => make("p", {}, text(layerAt(index).t), " ", toLayer(index)))));
}

const quoted = (words) => (/^[\w@%+=:,./-]+$/.test(words) ? words : "'" + words.replace(/'/g, "'\\''") + "'");
function command(words) {
  const shown = make("code", {}, words);
  const copy = () => {
    const range = document.createRange();
    range.selectNodeContents(shown);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    if (navigator.clipboard) navigator.clipboard.writeText(words).then(() => say("copied"), () => say("selected"));
  };
  return make("div", { class: "command" }, shown, make("button", { type: "button", on: copy }, "copy"));
}

// ---- Search.

let hits = [], hit = -1;
function search() {
  const words = $("query").value.trim().toLowerCase();
  if (!words) { hits = []; tellModel(); return; }
  hits = [];
  data.layers.forEach((layer, index) => {
    const all = [layer.n, text(layer.t), "#" + layer.i, ...(layer.o || []).flatMap((o) => o[2] || [])];
    if (all.some((part) => part.toLowerCase().includes(words))) hits.push(index);
  });
  hit = -1;
  const exact = (index) => layerAt(index).n.toLowerCase() === words;
  hits.sort((a, b) => exact(b) - exact(a) || a - b);
  fill(make("h2", {}, hits.length === 1 ? "1 layer" : `${hits.length} layers`), make("p", { class: "soft" }, "Enter goes from one to the next"),
    ...hits.slice(0, 300).map((index) => make("p", {}, make("span", { class: "soft" }, text(layerAt(index).t)), " ", toLayer(index))),
    hits.length > 300 ? make("p", {}, `and ${hits.length - 300} more`) : null);
  say(`${hits.length} found`);
}
$("query").addEventListener("input", search);
$("find").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!hits.length) return;
  hit = (hit + 1) % hits.length;
  choose(hits[hit]);
});

// ---- Overlays.

const choice = $("overlay");
choice.append(make("option", { value: "" }, "types"), ...data.overlays.map((o) => make("option", { value: o.key }, o.title)));

function lay(key) {
  for (const old of view.querySelectorAll(".heat, .bar, .value")) old.remove();
  for (const box of view.querySelectorAll(".hot")) box.classList.remove("hot");
  const overlay = data.overlays.find((o) => o.key === key);
  $("legend").hidden = !overlay;
  if (!overlay) return;
  $("legend").replaceChildren(make("strong", {}, overlay.title), make("div", { class: "scale" }), make("span", { class: "soft" }, overlay.legend));
  for (const box of view.querySelectorAll(".box")) {
    const found = box.id[0] === "l" ? overlay.marks[box.id.slice(1)] : together(box, overlay);
    if (found) paint(box, found);
  }
  say(`showing ${overlay.title}`);
}

/** What a closed block shows: the sum of its layers' parts, or its strongest layer. */
function together(box, overlay) {
  const inside = [...box.querySelectorAll('[id^="l"]')].map((el) => overlay.marks[el.id.slice(1)]).filter(Boolean);
  if (!inside.length) return null;
  const strongest = inside.reduce((a, b) => (b[0] > a[0] ? b : a));
  if (!overlay.sum) return strongest;
  const percent = inside.reduce((sum, m) => sum + (parseFloat((m[1].split("· ")[1] || "0")) || 0), 0);
  return [Math.min(1, inside.reduce((sum, m) => sum + m[0], 0)), `${percent.toPrecision(2)} %`];
}

function paint(box, [strength, words, sign]) {
  const place = box.querySelector(":scope > .closed") || box;
  const body = place.querySelector(":scope > .body");
  const x = Number(body.getAttribute("x")), w = Number(body.getAttribute("width"));
  const heat = draw("rect", { class: "heat", x, width: w, height: 40, rx: body.getAttribute("rx"), opacity: 0.04 + 0.46 * strength });
  body.after(heat);
  box.classList.add("hot");
  place.append(draw("rect", { class: "bar", x: x + 6, y: 35, width: Math.max(1, (w - 12) * strength), height: 2.5 }),
    draw("text", { class: "value", x, y: -4 }, `${sign ? sign + " " : ""}${words}`));
}
choice.addEventListener("change", () => lay(choice.value));

// ---- Buttons, colours, paper.

$("in").onclick = () => zoom(1.25);
$("out").onclick = () => zoom(0.8);
$("fit").onclick = () => fit();
$("all").onclick = () => openAll($("all").getAttribute("aria-pressed") !== "true");
$("help").onclick = () => { $("keys").hidden = !$("keys").hidden; $("help").setAttribute("aria-expanded", String(!$("keys").hidden)); };
const themes = ["", "light", "dark"], signs = { "": "◐", light: "☀", dark: "☾" };
$("theme").onclick = () => {
  const root = document.documentElement;
  const next = themes[(themes.indexOf(root.dataset.theme || "") + 1) % 3];
  if (next) root.dataset.theme = next; else delete root.dataset.theme;
  $("theme").textContent = signs[next];
  $("theme").setAttribute("aria-label", `Colours: ${next || "as the system"}`);
  say(`colours: ${next || "as the system"}`);
};
addEventListener("beforeprint", () => { view.removeAttribute("transform"); graph.setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`); });
addEventListener("afterprint", () => { graph.removeAttribute("viewBox"); look(); });
addEventListener("resize", look);

for (const box of view.querySelectorAll(".box")) {
  box.setAttribute("role", "button");
  box.setAttribute("tabindex", "-1");
  if (box.classList.contains("opens")) box.setAttribute("aria-expanded", "false");
}
canvas.addEventListener("focus", () => { if (!view.querySelector(".selected")) say("Graph. The arrow keys go from layer to layer."); });
tellModel();
fit(false);
