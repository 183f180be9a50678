"use strict";
// The report of a model, or of two side by side: moves the drawing, opens its blocks, and describes the chosen layer.
// Texts of a model are only ever given to textContent, so that none of them can become markup.

const SVG = "http://www.w3.org/2000/svg";
let data = null;
const $ = (id) => document.getElementById(id);
const graph = $("graph"), view = $("view"), canvas = $("canvas"), panel = $("panel");
const text = (number) => data.texts[number];
const layerAt = (index) => data.layers[index];
const label = (layer) => layer.n || "#" + layer.i;
const modelOf = (index) => data.models.findLast((model) => model.start <= index);

/** The data of the report, stored in the page as JSON, deflated, in base64. */
async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

/** A text whose invisible and direction-changing characters are written as codes. */
const visible = (child) => (typeof child !== "string" ? child :
  child.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`));

function make(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(options)) {
    if (key === "on") made.addEventListener("click", value);
    else if (key === "class") made.className = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined).map(visible));
  return made;
}

function draw(tag, attributes, content) {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (content !== undefined) made.textContent = content;
  return made;
}

// ---- The view: the visible part of the drawing, and its scale.

const at = { x: 0, y: 0, k: 1 };
let size = graph.getAttribute("viewBox").split(" ").slice(2).map(Number);
graph.removeAttribute("viewBox");

function look() {
  view.setAttribute("transform", `translate(${at.x} ${at.y}) scale(${at.k})`);
  graph.classList.toggle("small", at.k < 0.42);
  graph.classList.toggle("tiny", at.k < 0.16);
  follow();
}

function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const k = Math.min(4, Math.max(0.01, at.k * factor));
  at.x = x - ((x - at.x) * k) / at.k;
  at.y = y - ((y - at.y) * k) / at.k;
  at.k = k;
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
