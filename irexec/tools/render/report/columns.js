// ---- Columns: a graph much taller than the window is fully visible if its rows are arranged in columns, like text in a newspaper,
// and one much wider than the window if its branches are arranged in bands, like words in lines.

/** The height and width above which graphs are arranged in columns or bands, in pixels of the drawing; null: never. */
let foot = null, edge = null;
const GUTTER = 56, LANE = 7, FOOT = 22;

/** The first rows of `count` columns of about the same height, chosen where few lines are cut. */
function breaksFor(shape, heights, count) {
  const total = heights[heights.length - 1], found = [0];
  for (let n = 1; n < count; n++) {
    const wanted = (total * n) / count, slack = total / count / 6;
    let best = -1;
    heights.forEach((top, row) => {
      if (row <= found[found.length - 1] || row >= shape.rows.length || Math.abs(top - wanted) > slack) return;
      const cost = (shape.crossing[row] || 0) * slack + Math.abs(top - wanted) / 4;
      if (best < 0 || cost < best[1]) best = [row, cost];
    });
    if (best !== -1) found.push(best[0]);
  }
  return found;
}

/** The columns of an arranged graph, each with its first row and the offsets of x and y; and their size. */
function placedColumns(shape, tops, heights, breaks) {
  const ends = [...breaks.slice(1), shape.rows.length], bottom = shape.rows.length - 1;
  const lanes = Math.max(0, ...breaks.slice(1).map((row) => shape.crossing[row] || 0));
  const head = 18 + lanes * LANE;
  const place = [];
  let x = 0, high = 0;
  breaks.forEach((row, n) => {
    let low = Infinity, far = -Infinity;
    for (const box of shape.boxes) {
      if (box.row < row || box.row >= ends[n]) continue;
      const half = (box.open ? box.open[0] : box.w) / 2;
      low = Math.min(low, box.dx - half);
      far = Math.max(far, box.dx + half + 40);
    }
    for (const passing of shape.passing) if (passing.row >= row && passing.row < ends[n]) {
      low = Math.min(low, passing.x - 8);
      far = Math.max(far, passing.x + 8);
    }
    if (low === Infinity) low = far = 0;
    const channel = n ? GUTTER + (shape.crossing[row] || 0) * LANE : 0;
    place.push({ row, x: x + channel - low, y: head - tops[row], gap: x });
    x += channel + far - low;
    const last = Math.min(ends[n] - 1, bottom);
    high = Math.max(high, head + tops[last] + heights[last] - tops[row]);
  });
  return { place, width: x, height: high + FOOT + lanes * LANE };
}

/** The bands of an arranged graph: rows of parallel branches wider than `edge` are divided, other rows are centred. */
function placedBands(shape, tops, heights, across) {
  const rows = shape.rows.map(() => []);
  for (const box of shape.boxes) {
    const half = (box.open ? box.open[0] : box.w) / 2;
    rows[box.row].push({ x: box.dx, low: box.dx - half, far: box.dx + half + 40 });
  }
  for (const { row, x: unmoved } of shape.passing) {
    const x = across(row, unmoved);
    rows[row].push({ x, low: x - 8, far: x + 48 });
  }
  const extent = (entries) => [Math.min(...entries.map((entry) => entry.low)), Math.max(...entries.map((entry) => entry.far))];
  const wide = rows.map((entries) => { const [low, far] = extent(entries); return far - low > edge; });
  const bands = [];
  for (let first = 0; first < rows.length;) {
    let end = first + 1;
    while (end < rows.length && wide[end] === wide[first]) end++;
    const here = rows.slice(first, end).flat().sort((a, b) => a.x - b.x), parts = [[]];
    let begin = here[0].low;
    for (const entry of here) {
      if (wide[first] && entry.far - begin > edge && parts[parts.length - 1].length) { parts.push([]); begin = entry.low; }
      parts[parts.length - 1].push(entry);
    }
    for (const part of parts) {
      const [low, far] = extent(part);
      bands.push({ first, end, wide: wide[first], low, far, last: part[part.length - 1].x });
    }
    first = end;
  }
  const room = Math.max(...bands.map((band) => band.far - band.low)), pad = GUTTER / 2;
  let down = 0;
  for (const band of bands) {
    band.x = pad + (room - band.far + band.low) / 2 - band.low;
    band.y = down + 18 - tops[band.first];
    // Lines enter a band along its left edge, and leave it along its right edge.
    band.gap = (band.wide ? 0 : pad + room + pad) - GUTTER / 2;
    down += 18 + tops[band.end - 1] + heights[band.end - 1] - tops[band.first] + FOOT;
  }
  const at = (row, x) => bands.find((band) => band.first <= row && row < band.end && x <= band.last) || bands.findLast((band) => band.first <= row);
  const place = (row, x) => {
    const box = rows[row].find((entry) => entry.low <= x && x <= entry.far - 40);
    return at(row, box ? box.x : x);
  };
  return { place, width: room + 2 * pad, height: down, count: bands.length };
}

/** The line of a value from the foot of one column to the head of the next one. */
function aroundTheCorner(from, to, x, begin, end, toX, next, lane) {
  const low = end + from.y + FOOT + lane * LANE, high = next + to.y - 10 - lane * LANE, channel = to.gap + GUTTER / 2 + lane * LANE;
  return `M${x + from.x} ${begin + from.y}V${low}H${channel}V${high}H${toX + to.x}V${next + to.y}`;
}

/** Arrange all graphs, also those of open blocks, in columns or bands whose size suits the window. */
function chooseColumns(wide, high) {
  foot = edge = null;
  placeAll();
  const seen = () => Math.min(wide / size[0], high / size[1]);
  let best = null, before = 1.25 * seen();
  if (before <= 1 && sides.length === 1) {
    // Columns of equal area in the shape of the window, then higher and lower columns, because open blocks have different widths.
    const area = size[0] * size[1], isWide = size[0] * high > size[1] * wide;
    for (let step = -6; step <= 2; step++) {
      if (isWide) edge = Math.max(300, Math.sqrt((area * wide) / high) * 1.35 ** step);
      else foot = Math.max(200, Math.sqrt((area * high) / wide) * 1.35 ** step);
      placeAll();
      if (seen() > before) [best, before] = [[foot, edge], seen()];
    }
  }
  [foot, edge] = best || [null, null];
  arrangeAll();
}

/** Fit the whole model to the window. */
function fit(wide = canvas.clientWidth, high = canvas.clientHeight) {
  chooseColumns(wide, high);
  at.k = Math.min(1.4, wide / size[0], high / size[1]);
  at.x = (wide - size[0] * at.k) / 2;
  at.y = Math.max(0, (high - size[1] * at.k) / 2);
  look();
}

/** The first view: the top of the model, at a readable size. */
function fromTop() {
  if (foot !== null || edge !== null) { foot = edge = null; arrangeAll(); }
  const [w, h] = [canvas.clientWidth - (size[1] > canvas.clientHeight ? mapWidth() : 0), canvas.clientHeight];
  at.k = Math.min(1, Math.max(Math.min(w / size[0], h / size[1]), Math.min(1, w / size[0]), 0.5));
  at.x = (w - size[0] * at.k) / 2;
  at.y = 0;
  look();
}
