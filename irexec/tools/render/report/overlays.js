// ---- Search.

let hits = [], hit = -1;
function search() {
  const words = $("query").value.trim().toLowerCase();
  redraw();
  if (!words) { hits = []; tellModel(); return; }
  hits = [];
  data.layers.forEach((layer, index) => {
    const all = [layer.n, text(layer.t), "#" + layer.i, ...(layer.o || []).flatMap((o) => o[2] || [])];
    if (all.some((part) => part.toLowerCase().includes(words))) hits.push(index);
  });
  hit = -1;
  const exact = (index) => layerAt(index).n.toLowerCase() === words;
  // Constants come last: their names often contain the names of the layers that read them.
  const constant = (index) => index in data.folded || ["Const", "Constant"].includes(text(layerAt(index).t));
  const typed = (index) => text(layerAt(index).t).toLowerCase().startsWith(words);
  hits.sort((a, b) => exact(b) - exact(a) || typed(b) - typed(a) || constant(a) - constant(b) || a - b);
  fill(make("h2", {}, hits.length === 1 ? "1 layer" : `${hits.length} layers`), make("p", { class: "soft" }, "Enter and the arrow keys select the next or previous layer"),
    ...hits.slice(0, 300).map((index) => make("p", {}, make("span", { class: "soft" }, text(layerAt(index).t)), " ", toLayer(index))),
    hits.length > 300 ? make("p", {}, `and ${hits.length - 300} more`) : null);
  say(`${hits.length} found`);
}
$("query").addEventListener("input", search);
$("find").addEventListener("submit", (event) => {
  event.preventDefault();
  if (!hits.length) return;
  nextHit(1);
});
$("query").addEventListener("keydown", (event) => {
  const go = { ArrowDown: () => nextHit(1), ArrowUp: () => nextHit(-1), Escape: clearSearch }[event.key];
  if (!go || (event.key !== "Escape" && !hits.length)) return;
  event.preventDefault();
  go();
});

function nextHit(by) {
  if (!hits.length) return;
  hit = hit < 0 && by < 0 ? hits.length - 1 : (hit + by + hits.length) % hits.length;
  choose(hits[hit]);
}

/** An empty search, with nothing marked. */
function clearSearch() {
  $("query").value = "";
  chosen = null;
  mark(null);
  light(null);
  remember("");
  search();
}

// ---- Overlays.

const choice = $("overlay");

function lay(key) {
  for (const old of view.querySelectorAll(".heat, .bar, .value")) old.remove();
  for (const box of view.querySelectorAll(".hot")) box.classList.remove("hot");
  const overlay = data.overlays.find((o) => o.key === key);
  redraw();
  if (!view.querySelector(".selected") && !$("query").value) tellModel();
  $("legend").hidden = !overlay;
  if (!overlay) return;
  $("legend").replaceChildren(make("div", { class: "scale" }), make("span", {}, overlay.legend));
  for (const box of view.querySelectorAll(".box")) {
    const found = box.id[0] === "l" ? markOf(Number(box.id.slice(1)), overlay) : together(box, overlay);
    if (found) paint(box, found);
  }
  say(`showing ${overlay.title}`);
}

/** The mark of a layer, or else of a constant that is drawn as part of it. */
const markOf = (index, overlay) => overlay.marks[index] ??
  (parts.get(index) || []).map((part) => overlay.marks[part]).find(Boolean);

/** The mark of a closed block: the sum of its layers' marks, their number, or the strongest one. */
function together(box, overlay) {
  const inside = [...box.querySelectorAll('[id^="l"]')].map((el) => markOf(Number(el.id.slice(1)), overlay)).filter(Boolean);
  if (!inside.length) return null;
  const strongest = inside.reduce((a, b) => (b[0] > a[0] ? b : a));
  if (overlay.combine === "count") return [1, inside.length === 1 ? "1 layer" : `${inside.length} layers`, strongest[2] && "±"];
  if (overlay.combine === "strongest") return strongest;
  const percent = inside.reduce((sum, m) => sum + (parseFloat((m[1].split("· ")[1] || "0")) || 0), 0);
  return [Math.min(1, inside.reduce((sum, m) => sum + m[0], 0)), `${percent.toPrecision(2)} %`];
}

/** The width available for a text above a box: up to the next box of the row, or to the other model. */
function roomRightOf(box) {
  const shape = shapeOf(box.parentElement), own = shape.boxes.find((b) => b.element === box), left = own.x - own.w / 2;
  const next = Math.min(...shape.boxes.filter((b) => b.row === own.row && b.x > own.x).map((b) => b.x - b.w / 2));
  return Math.min(next, sideOf(box) + 1 < sides.length ? shape.width + BESIDE : Infinity) - left - 8;
}

function paint(box, [strength, words, sign]) {
  const place = box.querySelector(":scope > .closed") || box;
  const body = place.querySelector(":scope > .body");
  const x = Number(body.getAttribute("x")), w = Number(body.getAttribute("width"));
  const heat = draw("rect", { class: "heat", x, width: w, height: 40, rx: body.getAttribute("rx"), opacity: 0.04 + 0.38 * strength });
  body.after(heat);
  box.classList.add("hot");
  const longest = Math.floor(roomRightOf(box) / 5.7), shown = `${sign ? sign + " " : ""}${words}`;
  place.append(draw("rect", { class: "bar", x: x + 6, y: 35, width: Math.max(1, (w - 12) * strength), height: 2.5 }),
    draw("text", { class: "value", x, y: -4 }, shown.length > longest ? shown.slice(0, longest - 1) + "…" : shown));
}
choice.addEventListener("change", () => lay(choice.value));
