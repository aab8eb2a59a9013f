"use strict";
// What all pages share. Every change goes through the API as JSON, which no other origin can send.
const affidavit = (() => {
  const token = document.querySelector('meta[name="csrf-token"]')?.content;

  class Problem extends Error {
    constructor(status, document) {
      const next = document.next ? ` ${document.next[0].toUpperCase()}${document.next.slice(1)}.` : "";
      super(`${document.detail[0].toUpperCase()}${document.detail.slice(1)}.${next}`);
      this.status = status;
      this.code = document.code;
    }
  }

  const ask = async (method, path, body, type = "application/json") => {
    const headers = {};
    if (body !== undefined) headers["content-type"] = type;
    if (token) headers["x-csrf-token"] = token;
    let reply;
    try {
      reply = await fetch(path, { method, headers, body });
    } catch {
      throw new Problem(0, { detail: "the service does not answer", next: "see whether it still runs" });
    }
    if (!reply.ok) {
      const told = await reply.json().catch(() => ({ detail: `the service answered ${reply.status}` }));
      throw new Problem(reply.status, told);
    }
    return reply;
  };

  const json = async (method, path, value) =>
    (await ask(method, path, value === undefined ? undefined : JSON.stringify(value))).json();

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
    element.append(...children);
    return element;
  };

  const announce = (text) => { document.getElementById("announcer").textContent = text; };
  const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

  const copy = async (text, button) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without a secure context there is no clipboard; a selection always works.
      const area = make("textarea", { class: "hidden" });
      area.value = text;
      document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
    }
    const label = button.textContent;
    button.textContent = "Copied";
    announce("Copied");
    setTimeout(() => { button.textContent = label; }, 1200);
  };

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-close]")) event.target.closest("dialog").close();
    document.querySelectorAll("details.menu[open]").forEach((menu) => {
      if (!menu.contains(event.target)) menu.open = false;
    });
  });

  document.getElementById("again")?.addEventListener("click", async (event) => {
    const button = event.currentTarget;
    button.disabled = true;
    try {
      await json("POST", `/api/v1/sessions/${button.dataset.session}/runs`, {});
      location.assign(`/sessions/${button.dataset.session}`);
    } catch (problem) {
      button.disabled = false;
      button.after(make("p", { class: "problem", role: "alert" }, problem.message));
    }
  });

  return { ask, json, make, announce, pause, copy };
})();
