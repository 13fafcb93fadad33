// Hides and shows. All that has a key in `data-k` is hidden while one of its keys is off; nothing is computed here.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const off = new Set();
  const keyed = [...document.querySelectorAll("[data-k]")].map((element) => [element, element.dataset.k.split(" ")]);

  const apply = () => {
    for (const [element, keys] of keyed) {
      element.toggleAttribute("hidden", keys.some((key) => off.has(key)));
    }
    for (const said of document.querySelectorAll("[data-shown]")) {
      const rows = [...document.querySelectorAll(`#throughput-${Number(said.dataset.shown) + 1} tbody tr`)];
      const shown = rows.filter((row) => !row.hidden).length;
      said.textContent = shown === rows.length ? "" : `${shown} of ${rows.length} lines are shown.`;
    }
  };

  const choice = (value) => {
    const label = document.createElement("label");
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = true;
    box.dataset.key = value.key;
    box.addEventListener("change", () => {
      if (box.checked) off.delete(value.key);
      else off.add(value.key);
      apply();
    });
    label.append(box, value.text);
    return label;
  };

  const group = (name, values) => {
    const set = document.createElement("fieldset");
    const legend = document.createElement("legend");
    legend.textContent = name;
    set.append(legend, ...values.map(choice));
    return set;
  };

  data.studies.forEach((study, number) => {
    const place = document.querySelector(`.filters[data-study="${number}"]`);
    const groups = [{ name: "scheme", values: study.schemes }, ...study.axes].filter((of) => of.values.length > 1);
    if (!place || groups.length === 0 || !document.getElementById(`throughput-${number + 1}`)) return;
    place.append(...groups.map((of) => group(of.name, of.values)));
    const all = document.createElement("button");
    all.type = "button";
    all.textContent = "Show all";
    all.addEventListener("click", () => {
      for (const box of place.querySelectorAll("input")) {
        box.checked = true;
        off.delete(box.dataset.key);
      }
      apply();
    });
    place.append(all);
    place.hidden = false;
  });

  // On paper nothing can be unfolded.
  addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details")) folded.open = true;
  });
})();
