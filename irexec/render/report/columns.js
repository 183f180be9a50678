// ---- Columns: a graph much taller than the window is fully visible if its rows are arranged in columns, like text in a newspaper.

/** The height from which on graphs stand in columns, in pixels of the drawing; null: none does. */
let foot = null;
const GUTTER = 56, LANE = 7, FOOT = 22;

/** The rows that begin a column, in `count` columns of about one height, each begun where few lines are cut. */
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

/** Where the columns of a graph that is arranged lie: for each its first row, what is added to x and y; and their size. */
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

/** The line of a value from the foot of one column to the head of the next one. */
function aroundTheCorner(from, to, x, begin, end, toX, next, lane) {
  const low = end + from.y + FOOT + lane * LANE, high = next + to.y - 10 - lane * LANE, channel = to.gap + GUTTER / 2 + lane * LANE;
  return `M${x + from.x} ${begin + from.y}V${low}H${channel}V${high}H${toX + to.x}V${next + to.y}`;
}

/** Arrange all graphs, those of open blocks too, in columns of about the height at which a window of this size shows most. */
function chooseColumns(wide, high) {
  foot = null;
  placeAll();
  const seen = () => Math.min(wide / size[0], high / size[1]);
  let best = null, before = 1.25 * seen();
  if (before <= 1 && sides.length === 1) {
    // Columns of equal area in the shape of the window, and higher and lower ones: open blocks are of uneven widths.
    const middle = Math.sqrt((size[0] * size[1] * high) / wide);
    for (let step = -6; step <= 2; step++) {
      foot = Math.max(200, middle * 1.35 ** step);
      placeAll();
      if (seen() > before) [best, before] = [foot, seen()];
    }
  }
  foot = best;
  arrangeAll();
}

/** All of the model at once. */
function fit(wide = canvas.clientWidth, high = canvas.clientHeight) {
  chooseColumns(wide, high);
  at.k = Math.min(1.4, wide / size[0], high / size[1]);
  at.x = (wide - size[0] * at.k) / 2;
  at.y = Math.max(0, (high - size[1] * at.k) / 2);
  look();
}

/** The first view: from the top, as wide as it can be read. */
function fromTop() {
  if (foot !== null) { foot = null; arrangeAll(); }
  const [w, h] = [canvas.clientWidth - (size[1] > canvas.clientHeight ? mapWidth() : 0), canvas.clientHeight];
  at.k = Math.min(1, Math.max(Math.min(w / size[0], h / size[1]), Math.min(1, w / size[0]), 0.5));
  at.x = (w - size[0] * at.k) / 2;
  at.y = 0;
  look();
}
