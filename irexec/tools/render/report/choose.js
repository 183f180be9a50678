// ---- Choosing a layer.

let chosen = null;
const say = (words) => { $("said").textContent = words; };
// Layer → `[layer, output]` of its readers; layer → constants drawn as part of it; layer → its counterpart in the other
// model.
const readers = new Map(), parts = new Map(), twins = new Map();

function relate() {
  const named = new Map();
  data.layers.forEach((layer, index) => (layer.s || []).forEach(([, source, output = 0]) => {
    if (!readers.has(source)) readers.set(source, []);
    readers.get(source).push([index, output]);
  }));
  for (const [part, reader] of Object.entries(data.folded)) parts.set(reader, [...(parts.get(reader) || []), Number(part)]);
  if (data.models.length < 2) return;
  const pair = (a, b) => { if (!twins.has(a) && !twins.has(b)) { twins.set(a, b); twins.set(b, a); } };
  for (const [, , pairs] of data.changes) for (const [a, b] of pairs) if (a >= 0 && b >= 0) pair(a, b);
  const path = (index) => {
    const layer = layerAt(index);
    return layer.p === undefined ? layer.n : `${path(layer.p)}\0${layer.b}\0${layer.n}`;
  };
  const second = data.models[1].start;
  for (let index = 0; index < second; index++) if (layerAt(index).n) named.set(path(index), index);
  for (let index = second; index < data.layers.length; index++)
    if (layerAt(index).n && named.has(path(index))) pair(named.get(path(index)), index);
}

/** The box that shows a layer: its own, or that of the layer which a constant is folded into. */
const boxOf = (index) => $("l" + index) || (index in data.folded ? $("l" + data.folded[index]) : null);

function light(index) {
  for (const wire of view.querySelectorAll(".lit")) wire.classList.remove("lit");
  if (index === null) return;
  for (const wire of view.querySelectorAll(`path[data-v^="${index}:"], path[data-v*=" ${index}:"]`)) wire.classList.add("lit");
  for (const [, source, output = 0] of layerAt(index).s || [])
    for (const wire of view.querySelectorAll(`path[data-v~="${source}:${output}"]`)) wire.classList.add("lit");
}

function mark(box, other = null) {
  redraw();
  for (const old of view.querySelectorAll(".selected")) { old.classList.remove("selected"); old.setAttribute("tabindex", "-1"); old.setAttribute("aria-selected", "false"); }
  for (const old of view.querySelectorAll(".twin")) old.classList.remove("twin");
  if (other) other.classList.add("twin");
  if (!box) return;
  box.classList.add("selected");
  box.setAttribute("tabindex", "0");
  box.setAttribute("aria-selected", "true");
}

/** Open all blocks that contain a box. */
function reveal(box) {
  const closed = [];
  for (let el = box.parentElement.closest(".opens"); el; el = el.parentElement.closest(".opens"))
    if (!el.classList.contains("open")) closed.unshift(el);
  for (const el of closed) swing(el, true);
  if (closed.length) arrangeAll(closed[0]);
}

/** Choose a layer: open the blocks that contain it, bring it into view with its twin next to it, and describe it. */
function choose(index, { centre = true, focus = false } = {}) {
  const box = boxOf(index), other = twins.has(index) ? boxOf(twins.get(index)) : null;
  chosen = index;
  if (box) {
    reveal(box);
    mark(box, other);
    if (other) { reveal(other); level(box, other); }
    if (other) bringBoth(box, other);
    else if (centre) bring(box);
    if (focus) box.focus({ preventScroll: true });
  }
  light(index);
  tellLayer(index);
  const layer = layerAt(index);
  say(`${text(layer.t)} ${layer.n}`);
  remember(`#layer=${encodeURIComponent(layer.n || layer.i)}`);
}

/** Put the chosen layer into the page's address, if the page has its own address. */
function remember(link) {
  try { history.replaceState(null, "", link || location.pathname + location.search); } catch { /* in a frame of a notebook */ }
}

/** Choose the layer that the page's address names: `#layer=NAME`, or the layer's id. */
function chooseNamed() {
  const found = location.hash.match(/^#layer=(.*)$/);
  if (!found) return false;
  const name = decodeURIComponent(found[1]);
  let index = data.layers.findIndex((layer) => layer.n === name);
  if (index < 0) index = data.layers.findIndex((layer) => String(layer.i) === name);
  if (index >= 0 && index !== chosen) choose(index);
  return index >= 0;
}
addEventListener("hashchange", chooseNamed);

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

/** Both layers of a pair in the window: one is in each model. */
function bringBoth(box, other) {
  const room = canvas.getBoundingClientRect(), margin = 30;
  const places = () => [box, other].map((element) => (element.querySelector(":scope > .closed, :scope > .body") || element).getBoundingClientRect());
  const spread = (rects) => Math.max(...rects.map((r) => r.right)) - Math.min(...rects.map((r) => r.left));
  const wanted = Math.min(Math.max(at.k, 0.5), Math.max(0.3, (at.k * (room.width - 2 * margin)) / spread(places())));
  if (Math.abs(wanted - at.k) > 1e-3) zoom(wanted / at.k);
  const rects = places(), left = Math.min(...rects.map((r) => r.left)), top = Math.min(...rects.map((r) => r.top));
  const [right, bottom] = [left + spread(rects), Math.max(...rects.map((r) => r.bottom))];
  if (left < room.left + margin || right > room.right - margin) at.x += room.left + room.width / 2 - (left + right) / 2;
  if (top < room.top + margin || bottom > room.bottom - margin) at.y += room.top + room.height / 2 - (top + bottom) / 2;
  look();
}

view.addEventListener("click", (event) => {
  if (moved > 4) return;
  const wire = event.target.closest(".wire");
  if (wire) { tellValue(...wire.dataset.v.split(" ")[0].split(":").map(Number)); return; }
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

/** A click on a box: a layer is described; a block opens, or closes when its frame is clicked. */
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

/** The twin of the chosen layer; without one the first box of the other model. */
function beside() {
  if (sides.length < 2) return;
  const box = view.querySelector(".selected"), other = sides[box && sideOf(box) === 0 ? 1 : 0];
  if (twins.has(chosen)) choose(twins.get(chosen), { focus: true });
  else land(other.querySelector(".graph > .box"));
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
    element.focus({ preventScroll: true });
    bring(element);
    say(spoken(element));
  } else if (element.id[0] === "l") choose(Number(element.id.slice(1)), { focus: true });
  else { chosen = null; light(null); mark(element); tellBlock(element); element.focus({ preventScroll: true }); bring(element); }
}

document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  const go = { "/": () => $("query").focus(), "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8),
    0: () => fit(), Home: fromTop, m: beside, o: () => $("all").click(), t: () => $("theme").click(), "?": () => $("help").click(),
    Escape: () => { if (!$("keys").hidden) { $("help").click(); return; } $("query").value = ""; hits = []; chosen = null; remember(""); mark(null); light(null); lowered.fill(0); arrangeAll(); tellModel(); } }[event.key];
  if (!go) return;
  event.preventDefault();
  go();
});
