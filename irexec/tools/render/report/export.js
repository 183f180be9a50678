// ---- Export: the whole drawing as a separate file, with the visible blocks, columns, colours and overlay.

const PROPERTIES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "paint-order",
  "font-family", "font-size", "font-weight", "text-anchor"];
const LARGEST = 8192;

/** A copy of the drawing without a style sheet: every element has its computed style as attributes. */
function standalone() {
  // Texts that are hidden at a small scale are part of the drawing.
  const sizes = ["small", "tiny"].filter((name) => graph.classList.contains(name));
  graph.classList.remove(...sizes);
  const paper = getComputedStyle(document.body).backgroundColor;
  const copy = draw("svg", { xmlns: SVG, viewBox: `0 0 ${size[0]} ${size[1]}`, width: size[0], height: size[1] });
  copy.append(draw("rect", { width: "100%", height: "100%", fill: paper }));
  const copied = (element, into) => {
    const style = getComputedStyle(element);
    if (style.display === "none") return;
    const made = document.createElementNS(SVG, element.tagName);
    for (const name of ["x", "y", "width", "height", "rx", "d", "transform"])
      if (element.hasAttribute(name)) made.setAttribute(name, element.getAttribute(name));
    if (element.tagName !== "g") for (const name of PROPERTIES) {
      const value = style.getPropertyValue(name);
      if (value && value !== "none" && value !== "normal" || name === "fill") made.setAttribute(name, value);
    } else if (style.opacity !== "1") made.setAttribute("opacity", style.opacity);
    for (const child of element.childNodes) {
      if (child.nodeType === Node.TEXT_NODE && child.textContent.trim()) made.append(visible(child.textContent));
      else if (child.nodeType === Node.ELEMENT_NODE) copied(child, made);
    }
    into.append(made);
  };
  for (const side of sides) copied(side, copy);
  graph.classList.add(...sizes);
  return new XMLSerializer().serializeToString(copy);
}

function save(blob, ending) {
  const address = URL.createObjectURL(blob), name = (data.models[0].name || "model").replace(/[^\w.-]+/g, "_");
  make("a", { href: address, download: `${name}.${ending}` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  say(`saved ${name}.${ending}`);
}

const asSvg = () => new Blob([standalone()], { type: "image/svg+xml" });

/** The drawing in pixels: at twice its size, or smaller if a picture of this size is not possible. */
async function asPng() {
  const address = URL.createObjectURL(asSvg()), picture = new Image();
  picture.src = address;
  await picture.decode();
  const scale = Math.min(2, LARGEST / size[0], LARGEST / size[1]);
  const sheet = make("canvas", { width: Math.ceil(size[0] * scale), height: Math.ceil(size[1] * scale) });
  sheet.getContext("2d").drawImage(picture, 0, 0, sheet.width, sheet.height);
  URL.revokeObjectURL(address);
  return new Promise((done) => sheet.toBlob(done, "image/png"));
}

$("svg").onclick = () => save(asSvg(), "svg");
$("png").onclick = () => asPng().then((blob) => save(blob, "png"));
