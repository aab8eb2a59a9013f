"use strict";
// The table of claims: expand in place, filter, search, sort, keyboard, deep links.
const ledger = (() => {
  const { make, announce, copy } = affidavit;
  const root = document.getElementById("ledger");
  const body = document.querySelector("#entries tbody");
  const session = root.dataset.session;
  const run = new URLSearchParams(location.search).get("run");
  const address = (path = "") => `/sessions/${session}${path}${run ? `?run=${run}` : ""}`;
  let rows = [...body.querySelectorAll("tr.entry")];
  let texts = new Map();

  const detailOf = (row) => document.getElementById(`detail-${row.id}`);
  const isOpen = (row) => row.classList.contains("open");

  const load = async (row) => {
    const cell = detailOf(row).firstElementChild;
    try {
      const reply = await affidavit.ask("GET", address(`/claims/${encodeURIComponent(row.id)}`));
      const parsed = new DOMParser().parseFromString(await reply.text(), "text/html");
      cell.replaceChildren(...parsed.body.childNodes);
      texts.delete(row);
    } catch (problem) {
      cell.replaceChildren(make("p", { class: "problem", role: "alert" }, problem.message));
    }
  };

  const show = (row, open) => {
    row.classList.toggle("open", open);
    row.querySelector(".expand").setAttribute("aria-expanded", String(open));
    let detail = detailOf(row);
    if (open && !detail) {
      const loading = make("div", { class: "loading" }, "Loading …");
      detail = make("tr", { class: "detail", id: `detail-${row.id}` }, make("td", { colspan: "7" }, loading));
      row.after(detail);
      row.loaded = load(row);
    }
    if (detail) detail.hidden = !open || row.hidden;
    return row.loaded;
  };

  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr.entry");
    if (row) { current(row, false); show(row, !isOpen(row)); }
    const button = event.target.closest("button.copy");
    if (button) copy(button.dataset.text, button);
  });

  // Filters, search and order are part of the address, so a view can be sent to somebody.
  const search = document.getElementById("search");
  const boxes = [...document.querySelectorAll('input[name="verdict"]')];
  const selects = ["importance", "type"].map((id) => document.getElementById(id));
  const order = document.getElementById("order");
  const shown = document.getElementById("shown");
  const textOf = (row) => {
    if (!texts.has(row)) {
      const detail = detailOf(row)?.textContent ?? "";
      texts.set(row, `${row.textContent} ${row.dataset.search} ${detail}`.toLowerCase());
    }
    return texts.get(row);
  };
  const filter = () => {
    const verdicts = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    const words = search.value.trim().toLowerCase();
    let count = 0;
    rows.forEach((row) => {
      const fits = verdicts.has(row.dataset.verdict)
        && selects.every((select) => !select.value || row.dataset[select.id] === select.value)
        && (!words || textOf(row).includes(words));
      row.hidden = !fits;
      const detail = detailOf(row);
      if (detail) detail.hidden = !fits || !isOpen(row);
      count += fits ? 1 : 0;
    });
    shown.textContent = `${count} of ${rows.length} shown`;
  };
  const remember = () => {
    const query = new URLSearchParams();
    if (run) query.set("run", run);
    if (boxes.some((box) => !box.checked)) query.set("verdict", boxes.filter((box) => box.checked).map((box) => box.value).join("."));
    selects.forEach((select) => { if (select.value) query.set(select.id, select.value); });
    if (search.value.trim()) query.set("q", search.value.trim());
    if (order.value === "number") query.set("order", "answer");
    const text = query.toString();
    history.replaceState(null, "", `${location.pathname}${text ? `?${text}` : ""}${location.hash}`);
  };
  const recall = () => {
    const query = new URLSearchParams(location.search);
    if (query.has("verdict")) {
      const wanted = new Set(query.get("verdict").split("."));
      boxes.forEach((box) => { box.checked = wanted.has(box.value); });
    }
    selects.forEach((select) => { select.value = query.get(select.id) ?? ""; });
    search.value = query.get("q") ?? "";
    if (query.get("order") === "answer") order.value = "number";
  };
  [search, ...selects, ...boxes].forEach((input) => input.addEventListener("input", () => { filter(); remember(); }));

  const heads = [...document.querySelectorAll("th[data-key]")];
  let sorted = { key: "reviewRank", numeric: true, up: true };
  const sort = (key, numeric, up) => {
    sorted = { key, numeric, up };
    heads.forEach((head) => {
      if (head.dataset.key === key) head.setAttribute("aria-sort", up ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    rows.sort((a, b) => {
      const by = numeric ? Number(a.dataset[key]) - Number(b.dataset[key]) : a.dataset[key].localeCompare(b.dataset[key]);
      return (up ? by : -by) || Number(a.dataset.number) - Number(b.dataset.number);
    });
    body.append(...rows.flatMap((row) => [row, detailOf(row)].filter(Boolean)));
  };
  heads.forEach((head) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    order.value = head.dataset.key === "number" && up ? "number" : "";
    sort(head.dataset.key, head.dataset.kind === "number", up);
  }));
  order.addEventListener("input", () => { sort(order.value, true, true); remember(); });

  // The claim that the keyboard is at.
  let at = null;
  const current = (row, focus = true) => {
    if (!row) return;
    at?.classList.remove("current");
    at = row;
    row.classList.add("current");
    if (focus) row.querySelector(".expand").focus();
  };
  const move = (step) => {
    const visible = rows.filter((row) => !row.hidden);
    const next = at && !at.hidden ? visible.indexOf(at) + step : 0;
    current(visible[Math.min(Math.max(next, 0), visible.length - 1)]);
  };
  const act = async (selector) => {
    if (!at) return;
    if (!isOpen(at)) await show(at, true);
    await at.loaded;
    const found = detailOf(at).querySelector(selector);
    if (found?.tagName === "SELECT") found.focus(); else found?.click();
  };
  const help = document.getElementById("help");
  document.getElementById("help-button").addEventListener("click", () => help.showModal());
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    v: () => act("button.view"),
    c: () => act("button.copy"),
    e: () => act('select[name="verdict"]'),
    "/": () => search.focus(),
    "?": () => help.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, dialog");
    if (event.key === "Escape" && event.target === search) { search.value = ""; filter(); remember(); search.blur(); }
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });

  document.getElementById("copy-link").addEventListener("click", (event) => {
    const place = at ? `${location.pathname}${location.search}#${at.id}` : location.pathname + location.search;
    copy(location.origin + place, event.currentTarget);
  });

  const reveal = () => {
    const row = rows.find((each) => each.id === decodeURIComponent(location.hash.slice(1)));
    if (!row) return;
    row.hidden = false;
    show(row, true);
    current(row, false);
    row.scrollIntoView({ block: "start" });
  };
  addEventListener("hashchange", reveal);
  // A second click on the same claim changes no hash.
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.getAttribute("href") === location.hash) { event.preventDefault(); reveal(); }
  });

  // Take over what changed on the server, and keep what is open, filtered and being written.
  const update = (page) => {
    document.querySelectorAll(".live").forEach((part) => {
      const fresh = page.getElementById(part.id);
      if (fresh && fresh.innerHTML !== part.innerHTML) part.replaceChildren(...fresh.childNodes);
    });
    root.dataset.approval = page.getElementById("ledger").dataset.approval;
    const changed = [];
    rows.forEach((row) => {
      const fresh = page.getElementById(row.id);
      if (!fresh) return;
      const expanded = row.querySelector(".expand").getAttribute("aria-expanded");
      const before = row.innerHTML.replace(/aria-expanded="\w+"/, "");
      if (before === fresh.innerHTML.replace(/aria-expanded="\w+"/, "")) { row.dataset.reviewRank = fresh.dataset.reviewRank; return; }
      changed.push(row);
      Object.assign(row.dataset, fresh.dataset);
      const focused = row.contains(document.activeElement);
      row.replaceChildren(...fresh.childNodes);
      row.querySelector(".expand").setAttribute("aria-expanded", expanded);
      if (focused) row.querySelector(".expand").focus();
      texts.delete(row);
    });
    filter();
    return changed;
  };

  recall();
  sort(order.value === "number" ? "number" : "reviewRank", true, true);
  filter();
  reveal();
  return { root, session, run, address, rows: () => rows, detailOf, load, show, isOpen, update, announce };
})();
