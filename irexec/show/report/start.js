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

canvas.addEventListener("focus", () => { if (!view.querySelector(".selected")) say("Graph. The arrow keys go from layer to layer."); });

const ready = unpacked($("data").textContent).then((facts) => {
  data = facts;
  relate();
  for (const box of view.querySelectorAll(".box")) {
    box.setAttribute("role", "button");
    box.setAttribute("tabindex", "-1");
    if (box.classList.contains("opens")) box.setAttribute("aria-expanded", "false");
  }
  choice.append(make("option", { value: "" }, "types"), ...data.overlays.map((o) => make("option", { value: o.key }, o.title)));
  tellModel();
  fit(false);
  if (data.models.length > 1 && data.overlays.some((overlay) => overlay.key === "diff")) {
    choice.value = "diff";
    lay("diff");
  }
});
