"use strict";
// Uploads documents, loads the example, and starts a check.
(() => {
  const { ask, json, make, announce, pause } = affidavit;
  const api = "/api/v1";
  const uploads = document.getElementById("uploads");
  const form = document.getElementById("check");
  const problem = document.getElementById("problem");
  let running = 0;

  const untilRead = async (id, tell) => {
    for (;;) {
      const found = await json("GET", `${api}/documents/${id}`);
      if (found.status === "ready") { tell("✓ Ready", "ready"); return found; }
      if (found.status === "error") { tell(`✗ ${found.error.message}. ${found.error.next}`, "failed"); return found; }
      tell("Reading …");
      await pause(400);
    }
  };

  const upload = async (file) => {
    const state = make("span", { class: "soft" }, "Uploading …");
    uploads.append(make("li", {}, make("span", {}, file.name), state));
    const tell = (text, kind = "") => { state.textContent = text; state.className = `state ${kind}`; };
    running += 1;
    try {
      const name = encodeURIComponent(file.name);
      const reply = await ask("POST", `${api}/documents?filename=${name}`, file, "application/octet-stream");
      await untilRead((await reply.json()).id, tell);
    } catch (error) {
      tell(`✗ ${error.message}`, "failed");
    } finally {
      running -= 1;
    }
  };

  const drop = document.getElementById("drop");
  if (drop) {
    const files = document.getElementById("files");
    files.addEventListener("change", () => { [...files.files].forEach(upload); files.value = ""; });
    ["dragenter", "dragover"].forEach((kind) => drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over"); }));
    ["dragleave", "drop"].forEach((kind) => drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.remove("over"); }));
    drop.addEventListener("drop", (event) => [...event.dataTransfer.files].forEach(upload));
    document.getElementById("answer-file").addEventListener("change", async (event) => {
      const [file] = event.target.files;
      if (file) document.getElementById("answer").value = await file.text();
    });
  }

  const start = async (request) => {
    const made = await json("POST", `${api}/sessions`, request);
    location.assign(`/sessions/${made.id}`);
  };

  form?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = document.getElementById("run");
    const waiting = document.getElementById("waiting");
    const values = Object.fromEntries([...new FormData(form)].filter(([, value]) => value.trim()));
    if (values.question) { values.query = values.question; delete values.question; }
    problem.textContent = "";
    button.disabled = true;
    try {
      while (running) { waiting.textContent = "Waiting for the documents …"; await pause(200); }
      waiting.textContent = "";
      if (!document.querySelector('#uploads .ready, tr[data-document]')) throw new Error("Add a document first: the answer is checked against it.");
      await start(values);
    } catch (error) {
      problem.textContent = error.message;
      button.disabled = false;
    }
  });

  document.getElementById("example")?.addEventListener("click", async (event) => {
    const button = event.currentTarget;
    const state = document.getElementById("example-state");
    button.disabled = true;
    try {
      state.textContent = "Reading the documents of the example …";
      const example = await json("POST", "/example", {});
      await Promise.all(example.documents.map((id) => untilRead(id, () => {})));
      state.textContent = "Checking …";
      await start({ answer: example.answer, query: example.question });
    } catch (error) {
      state.textContent = error.message;
      button.disabled = false;
    }
  });

  document.querySelectorAll(".delete-document").forEach((button) => {
    button.addEventListener("click", async () => {
      const row = button.closest("tr");
      const name = row.querySelector(".lead").textContent;
      if (!confirm(`Delete ${name}? Citations of it will not resolve any more.`)) return;
      try {
        await ask("DELETE", `${api}/documents/${row.dataset.document}`);
        row.remove();
        announce(`${name} is deleted`);
      } catch (error) {
        button.after(make("p", { class: "problem", role: "alert" }, error.message));
      }
    });
  });

  document.querySelectorAll('tr[data-status="processing"]').forEach((row) => {
    const cell = row.querySelector('[data-label="Status"]');
    const tell = (text, kind = "soft") => cell.replaceChildren(make("span", { class: `state ${kind}` }, text));
    untilRead(row.dataset.document, tell).catch((error) => tell(error.message, "failed"));
  });
})();
