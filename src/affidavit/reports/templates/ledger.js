"use strict";
(() => {
  const rows = [...document.querySelectorAll("tr.entry")];
  const body = document.querySelector("#entries tbody");
  const detailOf = (row) => document.getElementById(row.dataset.detail);
  const show = (row, open) => {
    row.classList.toggle("open", open);
    row.querySelector("[aria-expanded]").setAttribute("aria-expanded", String(open));
    detailOf(row).hidden = !open || row.hidden;
  };
  const isOpen = (row) => row.classList.contains("open");
  rows.forEach((row) => {
    row.addEventListener("click", () => show(row, !isOpen(row)));
    row.querySelector("[aria-expanded]").addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); show(row, !isOpen(row)); }
    });
  });

  const search = document.getElementById("search");
  const importance = document.getElementById("importance");
  const boxes = [...document.querySelectorAll(".filters input[type=checkbox]")];
  const shown = document.getElementById("shown");
  const filter = () => {
    const verdicts = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const words = search.value.trim().toLowerCase();
    let count = 0;
    rows.forEach((row) => {
      const fits = verdicts.has(row.dataset.verdict)
        && (!importance.value || row.dataset.importance === importance.value)
        && (!words || (row.textContent + detailOf(row).textContent).toLowerCase().includes(words));
      row.hidden = !fits;
      detailOf(row).hidden = !fits || !isOpen(row);
      count += fits ? 1 : 0;
    });
    shown.textContent = `${count} of ${rows.length} shown`;
  };
  [search, importance, ...boxes].forEach((input) => input.addEventListener("input", filter));

  const heads = [...document.querySelectorAll("th[data-key]")];
  const order = document.getElementById("order");
  const sort = (key, numeric, up) => {
    heads.forEach((head) => {
      if (head.dataset.key === key) head.setAttribute("aria-sort", up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    const value = (row) => row.dataset[key];
    const sorted = [...rows].sort((a, b) => {
      const by = numeric ? Number(value(a)) - Number(value(b)) : value(a).localeCompare(value(b));
      return (up ? by : -by) || Number(a.dataset.number) - Number(b.dataset.number);
    });
    sorted.forEach((row) => body.append(row, detailOf(row)));
  };
  heads.forEach((head) => {
    head.querySelector("button").addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      order.value = head.dataset.key === "number" && up ? "number" : "";
      sort(head.dataset.key, head.dataset.kind === "number", up);
    });
  });
  order.addEventListener("input", () => sort(order.value, true, true));

  const openAll = document.getElementById("open-all");
  openAll.addEventListener("click", () => {
    const open = rows.some((row) => !isOpen(row));
    rows.forEach((row) => show(row, open));
    openAll.textContent = open ? "Close all" : "Open all";
  });

  document.querySelectorAll("button.copy").forEach((button) => {
    button.addEventListener("click", async (event) => {
      event.stopPropagation();
      const label = button.textContent;
      try {
        await navigator.clipboard.writeText(button.dataset.text);
      } catch {
        // Files opened from disk have no clipboard in some browsers; a selection always works.
        const area = Object.assign(document.createElement("textarea"), { value: button.dataset.text });
        document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
      }
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = label; }, 1200);
    });
  });

  const reveal = () => {
    const row = rows.find((candidate) => candidate.id === location.hash.slice(1));
    if (row) { row.hidden = false; show(row, true); row.scrollIntoView({ block: "center" }); }
  };
  addEventListener("hashchange", reveal);
  addEventListener("beforeprint", () => rows.forEach((row) => { detailOf(row).hidden = row.hidden; }));
  addEventListener("afterprint", filter);
  filter();
  reveal();
})();
