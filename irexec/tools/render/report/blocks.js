// ---- Blocks: opening a block makes its row higher and wider; only boxes below and beside it move.

const FRAME = 16, HEADER = 30, MARGIN = 24, BESIDE = 120, NAMED = 44;
const FLAT = { x: 0, y: 0 };
const shapes = new WeakMap();

/** The layout of a graph of the drawing with all blocks closed. */
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
  // The number of lines from the row before; the x of lines that pass a row without a box.
  const crossing = {}, passing = [];
  for (const wire of wires) for (const part of wire.far ? [] : wire.parts) {
    const row = bottoms.get(part[2]);
    crossing[row + 1] = (crossing[row + 1] || 0) + 1;
    if (part[1] === rows[row][0]) passing.push({ row, x: part[0] });
  }
  const shape = { crossing, passing, element, rows, width, height, bottoms, rowOf, boxes, wires, now: [width, height], left: 0, pads: {} };
  shapes.set(element, shape);
  return shape;
}

const graphsIn = (box) => [...box.inside.children].filter((c) => c.classList.contains("branch"));
const graphIn = (branch) => branch.lastElementChild;

/** Lay out the inside of an open block and return its size. */
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

/** The x at which a value enters or leaves an open block, from the centre of the block; null if the block does not define it. */
function stub(box, value, sort) {
  for (const branch of graphsIn(box)) {
    const shape = shapeOf(graphIn(branch));
    const found = shape.boxes.find((b) => b.value === value && b.element.classList.contains(sort));
    if (found) return Number(branch.dataset.x) + shape.left + found.dx + found.column - box.open[0] / 2;
  }
  return null;
}

/** Place all boxes and lines of one graph. */
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
    added += shape.pads[row] || 0;
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
  }
  const breaks = foot === null ? null : breaksFor(shape, [...tops, shape.height + added], Math.ceil((shape.height + added) / foot));
  shape.columns = breaks ? breaks.length : 1;
  const wrapped = shape.columns > 1 ? placedColumns(shape, tops, heights, breaks) : null;
  const banded = !wrapped && edge !== null && high - low > edge ? placedBands(shape, tops, heights, across) : null;
  const columnOf = (row, x) => (wrapped ? wrapped.place.findLast((column) => column.row <= row) : banded ? banded.place(row, x) : FLAT);
  for (const box of shape.boxes) {
    const to = columnOf(box.row, box.dx);
    box.column = to.x;
    box.element.setAttribute("transform", `translate(${box.dx + to.x} ${tops[box.row] + to.y})`);
  }
  const lanes = new Map();
  for (const wire of shape.wires) {
    const value = wire.element.dataset.v;
    wire.element.setAttribute("d", wire.parts.map((part) => {
      if (wire.far) {
        const row = shape.rowOf.get(part[2]), x = port(row, part[0], value, "enters");
        const { x: right, y: down } = columnOf(row, x);
        return `M${x + right} ${tops[row] - 14 + down}V${tops[row] + down}`;
      }
      const [x, start, bottom] = part, toX = part[7], row = shape.bottoms.get(bottom);
      const passing = start === shape.rows[row][0];
      const fromX = passing ? across(row, x) : port(row, x, value, "leaves");
      const end = tops[row] + heights[row];
      const begin = holder(row, x) && !passing ? end : tops[row] + start - shape.rows[row][0];
      const next = tops[row + 1], to = port(row + 1, toX, value, "enters");
      const here = columnOf(row, fromX), there = columnOf(row + 1, to);
      if (here !== there && banded) return aroundTheCorner(here, there, fromX, begin, end, to, next, 0);
      if (here !== there) {
        lanes.set(row, (lanes.get(row) ?? -1) + 1);
        return aroundTheCorner(here, there, fromX, begin, end, to, next, lanes.get(row));
      }
      const [a, b, y] = [fromX + here.x, to + here.x, here.y], middle = (end + next) / 2 + y;
      if (a === b) return `M${a} ${begin + y}V${end + y}V${next + y}`;
      return `M${a} ${begin + y}V${end + y}C${a} ${middle} ${b} ${middle} ${b} ${next + y}`;
    }).join(""));
  }
  Object.assign(shape, { tops, heights });
  const moved = wrapped || banded;
  if (moved) [low, high] = [0, moved.width];
  shape.left = -low;
  shape.now = [high - low, moved ? moved.height : shape.height + added];
  element.setAttribute("transform", low ? `translate(${-low} 0)` : "");
  return shape;
}

// The graphs of the models from left to right. One of two is moved down to put a layer next to its counterpart.
const sides = [...view.querySelectorAll(":scope > .side")];
const lowered = sides.map(() => 0);
const sideOf = (element) => sides.indexOf(element.closest(".side"));

/** Space above rows of two models, so that the boxes of twins are at one height as long as their order is the same. */
function pairRows() {
  const shapes = sides.map((side) => shapeOf(side.lastElementChild));
  const boxes = shapes.map((shape) => new Map(shape.boxes.map((box) => [box.element, box])));
  const outer = (index) => {
    let found = boxOf(index)?.closest(".box");
    for (let up = found; up; up = up.parentElement.closest(".box")) found = up;
    return found;
  };
  const rows = new Map();
  for (const [one, two] of twins) {
    if (one > two) continue;
    const pair = [outer(one), outer(two)].map((element, side) => boxes[side].get(element));
    if (pair.every(Boolean) && !rows.has(pair[0].row)) rows.set(pair[0].row, pair[1].row);
  }
  shapes.forEach((shape) => { shape.pads = {}; });
  const arranged = shapes.map((shape) => arrange(shape.element));
  const moved = [0, 0];
  let last = -1;
  for (const [row, other] of [...rows].sort(([a], [b]) => a - b)) {
    if (other <= last) continue;
    last = other;
    const apart = arranged[0].tops[row] + moved[0] - arranged[1].tops[other] - moved[1];
    if (Math.abs(apart) < 1) continue;
    const [side, place] = apart < 0 ? [0, row] : [1, other];
    shapes[side].pads[place] = Math.abs(apart);
    moved[side] += Math.abs(apart);
  }
}

/** Place all graphs, and compute the size of the drawing. */
function placeAll() {
  if (sides.length > 1 && data) pairRows();
  let x = MARGIN, low = 0;
  sides.forEach((side, number) => {
    const shape = arrange(side.lastElementChild), top = MARGIN + (sides.length > 1 ? NAMED : 0) + lowered[number];
    side.setAttribute("transform", `translate(${x} ${top})`);
    x += shape.now[0] + BESIDE;
    low = Math.max(low, top + shape.now[1]);
  });
  size = [x - BESIDE + MARGIN, low + MARGIN];
}

function arrangeAll(keep) {
  const before = keep && keep.getBoundingClientRect();
  placeAll();
  if (before) {
    const after = keep.getBoundingClientRect();
    at.x += before.x + before.width / 2 - after.x - after.width / 2;
    at.y += before.y - after.y;
  }
  look();
  redraw();
}

/** Move the sides up or down so that two boxes, one of each, are at one height. */
function level(box, other) {
  const [a, b] = [box, other].map((element) => element.getScreenCTM().f / at.k);
  lowered[sideOf(other)] += a - b;
  const least = Math.min(...lowered);
  lowered.forEach((value, number) => { lowered[number] = Math.round(value - least); });
  arrangeAll(box);
}

function swing(box, open) {
  box.classList.toggle("open", open);
  box.setAttribute("aria-expanded", String(open));
  box.querySelector(":scope > .inside").setAttribute("aria-hidden", String(!open));
}

function setOpen(box, open) {
  if (box.classList.contains("open") === open) return;
  swing(box, open);
  arrangeAll(box);
  say(`${box.querySelector(".type").textContent.replace("▸ ", "")} ${open ? "open" : "closed"}`);
}

function openAll(open) {
  for (const box of view.querySelectorAll(".opens")) swing(box, open);
  $("all").setAttribute("aria-pressed", String(open));
  $("all").textContent = open ? "close all" : "open all";
  arrangeAll();
  fromTop();
}
