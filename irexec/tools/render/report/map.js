// ---- The map: the whole graph on a narrow strip, with the visible part marked; a click moves the view. It shows the
// strength of an overlay, on the left the layers that a search found, on the right findings.

const map = $("map"), lens = $("lens");
const mapWidth = () => (innerWidth > 800 ? 76 : 40);
const inks = new Map();
let scale = [1, 1], aside = 0, drawing = 0;

/** A colour of the style sheet, in the current theme. */
function ink(box) {
  const kind = box.getAttribute("class").split(" ").filter((name) => !["selected", "twin", "open", "hot", "opens"].includes(name)).join(" ");
  if (!inks.has(kind)) {
    const style = getComputedStyle(box.querySelector(":scope > .body, :scope > .closed > .body"));
    inks.set(kind, box.matches(".port") ? style.fill : style.stroke);
  }
  return inks.get(kind);
}

/** Draw the map again, once for all pending changes. */
function redraw() {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(() => {
    const [w, h] = [mapWidth() - 8, canvas.clientHeight - 8], ratio = devicePixelRatio || 1;
    scale = [Math.min(w / size[0], 0.16), Math.min(h / size[1], 0.16)];
    aside = (w - size[0] * scale[0]) / 2;
    map.width = w * ratio;
    map.height = h * ratio;
    inks.clear();
    const pen = map.getContext("2d"), room = canvas.getBoundingClientRect(), root = getComputedStyle(document.documentElement);
    const [heat, bad, accent] = ["--heat", "--bad", "--accent"].map((name) => made(root.getPropertyValue(name)));
    pen.scale(ratio, ratio);
    const marks = [];
    for (const box of view.querySelectorAll(".box")) {
      if (box.classList.contains("open")) continue;
      const body = box.querySelector(":scope > .body, :scope > .closed > .body"), place = body.getBoundingClientRect();
      if (!place.width) continue;
      const x = aside + ((place.x - room.x - at.x) / at.k) * scale[0], y = ((place.y - room.y - at.y) / at.k) * scale[1];
      const wide = Math.max(2, (place.width / at.k) * scale[0]), high = Math.max(1, (place.height / at.k) * scale[1]);
      const hot = box.querySelector(":scope > .heat, :scope > .closed > .heat");
      marks.push([hot ? Number(hot.getAttribute("opacity")) : 0, x, y, wide, high, box]);
    }
    const laid = Boolean(choice.value), sought = new Set(hits.map(shownAt));
    for (const [strength, x, y, wide, high, box] of marks.sort((a, b) => a[0] - b[0])) {
      pen.globalAlpha = laid ? 0.22 : 0.75;
      pen.fillStyle = ink(box);
      pen.fillRect(x, y, wide, high);
      pen.globalAlpha = strength && Math.min(1, 2 * strength);
      pen.fillStyle = heat;
      if (strength) pen.fillRect(x, y, wide, high);
      pen.globalAlpha = 1;
      if (sought.has(box)) { pen.fillStyle = accent; pen.fillRect(0, y, 6, Math.max(3, high)); }
      if (box.matches(".found, :has(.found)")) { pen.fillStyle = bad; pen.fillRect(w - 6, y, 6, Math.max(3, high)); }
      if (box.matches(".selected")) { pen.fillStyle = accent; pen.fillRect(0, y, w, Math.max(3, high)); }
    }
    look();
  });
}

/** The box that shows a layer: its own, or the outermost closed box that contains it. */
function shownAt(index) {
  let box = boxOf(index);
  for (let outer = box; outer; outer = outer.parentElement.closest(".opens")) if (!outer.classList.contains("open")) box = outer;
  return box;
}

/** The value of `light-dark(a, b)` in the current theme. */
function made(colour) {
  lens.style.color = colour;
  return getComputedStyle(lens).color;
}

/** Mark the visible part of the graph, unless all of it is visible. */
function follow() {
  const [w, h] = [canvas.clientWidth, canvas.clientHeight];
  const all = at.x >= -1 && at.y >= -1 && at.x + size[0] * at.k <= w + MARGIN && at.y + size[1] * at.k <= h + MARGIN;
  $("overview").hidden = all;
  if (all) return;
  const left = aside + Math.max(0, -at.x / at.k) * scale[0], top = Math.max(0, -at.y / at.k) * scale[1];
  const right = aside + Math.min(size[0], (w - at.x) / at.k) * scale[0], bottom = Math.min(size[1], (h - at.y) / at.k) * scale[1];
  lens.setAttribute("x", left);
  lens.setAttribute("y", top);
  lens.setAttribute("width", Math.max(8, right - left));
  lens.setAttribute("height", Math.max(8, bottom - top));
}

function goThere(event) {
  if (!event.buttons) return;
  const place = map.getBoundingClientRect();
  at.x = canvas.clientWidth / 2 - ((event.clientX - place.x - aside) / scale[0]) * at.k;
  at.y = canvas.clientHeight / 2 - ((event.clientY - place.y) / scale[1]) * at.k;
  if (size[0] * at.k <= canvas.clientWidth - mapWidth()) at.x = (canvas.clientWidth - mapWidth() - size[0] * at.k) / 2;
  look();
}
$("overview").addEventListener("pointerdown", (event) => { $("overview").setPointerCapture(event.pointerId); goThere(event); });
$("overview").addEventListener("pointermove", goThere);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
