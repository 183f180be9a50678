// ---- Buttons, colours, paper.

$("in").onclick = () => zoom(1.25);
$("out").onclick = () => zoom(0.8);
$("fit").onclick = () => fit();
$("top").onclick = () => fromTop();
$("all").onclick = () => openAll($("all").getAttribute("aria-pressed") !== "true");
$("help").onclick = () => { $("keys").hidden = !$("keys").hidden; $("help").setAttribute("aria-expanded", String(!$("keys").hidden)); };
const themes = ["", "light", "dark"], signs = { "": "◐", light: "☀", dark: "☾" };
$("theme").onclick = () => {
  const root = document.documentElement;
  const next = themes[(themes.indexOf(root.dataset.theme || "") + 1) % 3];
  if (next) root.dataset.theme = next; else delete root.dataset.theme;
  $("theme").textContent = signs[next];
  $("theme").setAttribute("aria-label", `Colours: ${next || "system"}`);
  say(`colours: ${next || "system"}`);
  redraw();
};
// Print the whole graph, in as many columns as suit a page.
addEventListener("beforeprint", () => {
  fit(1000, 1300);
  view.removeAttribute("transform");
  graph.setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`);
});
addEventListener("afterprint", () => { graph.removeAttribute("viewBox"); fromTop(); });
addEventListener("resize", redraw);

canvas.addEventListener("focus", () => { if (!view.querySelector(".selected")) say("Graph. The arrow keys go from layer to layer."); });

/** The description of the boxes for a screen reader: a tree, whose items have a name, a level, and may be open. */
function describe() {
  const level = (graph_, depth) => {
    graph_.setAttribute("role", depth > 1 ? "group" : "none");
    for (const item of graph_.children) {
      if (item.tagName === "path") continue;
      item.setAttribute("role", "treeitem");
      item.setAttribute("tabindex", "-1");
      item.setAttribute("aria-level", depth);
      item.setAttribute("aria-selected", "false");
      item.setAttribute("aria-label", spoken(item));
      if (!item.classList.contains("opens")) continue;
      swing(item, false);
      for (const branch of item.querySelectorAll(":scope > .inside > .branch")) level(branch.lastElementChild, depth + 1);
    }
  };
  for (const plain of [view, ...view.querySelectorAll(".side, .closed, .inside, .branch")]) plain.setAttribute("role", "none");
  for (const shown of view.querySelectorAll(".box text, .stub text")) shown.setAttribute("aria-hidden", "true");
  for (const side of sides) level(side.lastElementChild, 1);
}

/** A box in words: its type, its name, its outputs and its findings. */
function spoken(box) {
  if (box.classList.contains("stub")) return `${box.classList.contains("enters") ? "enters from" : "leaves to"} ${box.textContent.slice(2)}`;
  const place = box.querySelector(":scope > .closed") || box;
  const words = [".type", ".name", ".shape", ".flag"].map((kind) => place.querySelector(`:scope > ${kind}`)?.textContent.replace(/^[▸✖▲●] /, ""));
  if (box.id[0] === "l") words[1] = label(layerAt(Number(box.id.slice(1))));
  return words.filter(Boolean).join(", ");
}

const ready = unpacked($("data").textContent).then((facts) => {
  data = facts;
  relate();
  describe();
  choice.append(make("option", { value: "" }, "types"), ...data.overlays.map((o) => make("option", { value: o.key }, o.title)));
  tellModel();
  arrangeAll();
  fromTop();
  // Recorded data that was requested is shown immediately.
  const asked = ["diff", "error", "sensitivity", "device"].find((key) => data.overlays.some((overlay) => overlay.key === key));
  if (asked) {
    choice.value = asked;
    lay(asked);
  }
  chooseNamed();
});
