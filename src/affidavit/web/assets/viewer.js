"use strict";
// View in Document: the page of a PDF with the quote marked, or the passage in its context.
(() => {
  const { json, make } = affidavit;
  const dialog = document.getElementById("viewer");
  const title = document.getElementById("viewer-title");
  const body = document.getElementById("viewer-body");
  const svg = (tag, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    return element;
  };

  const sheet = (documentId, filename, page) => {
    const label = `Page ${page.page} of ${filename}, with the quote marked`;
    const width = Math.min(2400, Math.ceil(Math.min(920, innerWidth - 64) * devicePixelRatio));
    const image = make("img", { src: `/api/v1/documents/${documentId}/pages/${page.page}.png?width=${width}`, alt: label });
    // Known before the image is there, so that nothing moves.
    image.width = Math.round(page.width);
    image.height = Math.round(page.height);
    const marks = svg("svg", { viewBox: "0 0 1 1", preserveAspectRatio: "none", "aria-hidden": "true" });
    page.boxes.forEach(([left, top, right, bottom]) => marks.append(svg("rect", { x: left, y: top, width: right - left, height: bottom - top })));
    return make("figure", {}, make("figcaption", {}, `Page ${page.page}`), make("div", { class: "sheet" }, image, marks));
  };

  const passage = (found) => {
    const text = make("div", { class: "passage" });
    text.append(found.before, make("mark", {}, found.quote), found.after);
    const path = found.heading_path.join(" › ");
    return path ? [make("p", { class: "soft" }, path), text] : [text];
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.view");
    if (!button) return;
    const { document: documentId, start, end } = button.dataset;
    title.textContent = button.dataset.title;
    body.replaceChildren(make("p", { class: "soft" }, "Loading …"));
    dialog.showModal();
    try {
      const found = await json("GET", `/api/v1/documents/${documentId}/quote?start=${start}&end=${end}`);
      body.replaceChildren(...(found.pages.length ? found.pages.map((page) => sheet(found.document_id, found.filename, page)) : passage(found)));
      const mark = body.querySelector("rect, mark");
      mark?.scrollIntoView({ block: "center" });
    } catch (problem) {
      body.replaceChildren(make("p", { class: "problem", role: "alert" }, problem.message));
    }
  });
})();
