"use strict";
// Decisions of people: override, approve, export; and what others decided meanwhile.
(() => {
  const { json, make, announce, pause } = affidavit;
  const { root, session } = ledger;
  const api = `/api/v1/sessions/${session}`;
  const problem = document.getElementById("problem");
  const POLL_MS = 3000;
  let version = null;

  const hasDraft = (row) => [...(ledger.detailOf(row)?.querySelectorAll("form.decide") ?? [])].some((form) => isDraft(form));
  const isDraft = (form) => form.elements.reason.value.trim() !== ""
    || form.elements.verdict.value !== form.dataset.verdict
    || form.elements.claim_type.value !== form.dataset.type
    || form.elements.importance.value !== form.dataset.importance;

  const refresh = async () => {
    const headers = version ? { "if-none-match": version } : {};
    const reply = await fetch(ledger.address(), { headers }).catch(() => null);
    if (!reply || reply.status === 304 || !reply.ok) return [];
    const first = version === null;
    version = reply.headers.get("etag");
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    if (!page.getElementById("ledger")) return [];
    const changed = ledger.update(page);
    changed.forEach((row) => {
      if (!ledger.detailOf(row)) return;
      if (!hasDraft(row)) { ledger.load(row); return; }
      // Somebody is writing here: the text stays, and what it is compared with is told.
      const form = ledger.detailOf(row).querySelector("form.decide");
      form.dataset.verdict = row.dataset.verdict;
      form.querySelector(".problem").textContent = `Somebody else decided about this claim: it is ${row.querySelector(".verdict").textContent.trim()} now.`;
    });
    if (changed.length && !first) announce(`${changed.length === 1 ? "A claim was" : `${changed.length} claims were`} changed by a reviewer`);
    return changed;
  };

  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("form.decide");
    if (!form) return;
    event.preventDefault();
    const said = form.querySelector(".problem");
    const button = form.querySelector("button");
    const { verdict, claim_type: type, importance, reason } = form.elements;
    const request = { reason: reason.value };
    if (type.value !== form.dataset.type) request.claim_type = type.value;
    if (importance.value !== form.dataset.importance) request.importance = importance.value;
    if (verdict.value !== form.dataset.verdict || Object.keys(request).length === 1) {
      Object.assign(request, { verdict: verdict.value, expected: form.dataset.verdict });
    }
    said.textContent = "";
    button.disabled = true;
    try {
      await json("PATCH", `${api}/claims/${form.dataset.claim}`, request);
      form.reset();
      const row = document.getElementById(form.dataset.key);
      await refresh();
      await ledger.load(row);
      announce("The decision is saved");
    } catch (error) {
      button.disabled = false;
      said.textContent = error.message;
      if (error.status === 409) {
        await refresh();
        said.textContent = `${error.message} Your text is kept.`;
      }
    }
  });

  const dialog = document.getElementById("approval");
  document.querySelectorAll(".toolbar [data-approval]").forEach((button) => button.addEventListener("click", () => {
    dialog.dataset.decision = button.dataset.approval;
    document.getElementById("approval-title").textContent = button.dataset.approval === "approved" ? "Approve the answer" : "Reject the answer";
    dialog.querySelector(".problem").textContent = "";
    dialog.showModal();
  }));
  document.getElementById("approval-form")?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const reason = document.getElementById("approval-reason");
    try {
      await json("POST", `${api}/approval`, { decision: dialog.dataset.decision, reason: reason.value, expected: root.dataset.approval });
      dialog.close();
      reason.value = "";
      await refresh();
      announce("The decision is saved");
    } catch (error) {
      const said = dialog.querySelector(".problem");
      said.textContent = error.message;
      if (error.status === 409) {
        await refresh();
        said.textContent = `${error.message} Your text is kept.`;
      }
    }
  });

  document.querySelectorAll("[data-export]").forEach((button) => button.addEventListener("click", async () => {
    button.closest("details").open = false;
    problem.textContent = "";
    announce("The export is being made");
    try {
      const made = await json("POST", `${api}/ledger/export`, { format: button.dataset.export });
      for (let tries = 0; ; tries += 1) {
        const reply = await fetch(made.download_url);
        if (reply.ok) { await save(await reply.blob(), reply.headers.get("content-disposition")); break; }
        if (reply.status !== 503 || tries > 120) throw new Error("The export could not be made. Try it again.");
        await pause(500);
      }
    } catch (error) {
      problem.textContent = error.message;
    }
  }));
  const save = async (blob, disposition) => {
    const name = /filename="([^"]+)"/.exec(disposition ?? "")?.[1] ?? "ledger";
    const link = make("a", { href: URL.createObjectURL(blob), download: name });
    document.body.append(link); link.click(); link.remove();
    announce(`${name} is saved`);
  };

  const poll = async () => {
    await pause(POLL_MS);
    if (!document.hidden) await refresh();
    poll();
  };
  if (root.dataset.newest === "1") poll();
})();
