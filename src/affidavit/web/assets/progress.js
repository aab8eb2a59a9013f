"use strict";
// Follows a check by the server-sent events of the API, and shows the ledger when it is done.
(() => {
  const place = document.getElementById("progress");
  if (!place) return;
  const bar = document.getElementById("bar");
  const state = document.getElementById("state");
  const address = `/sessions/${place.dataset.session}`;
  const source = new EventSource(`/api/v1${address}/progress`);
  source.addEventListener("progress", (event) => {
    const run = JSON.parse(event.data);
    if (run.status === "done" || run.status === "error") {
      source.close();
      if (location.pathname === address && !location.search) location.reload();
      else location.assign(address);
      return;
    }
    if (run.total) {
      bar.max = run.total;
      bar.value = run.done;
      state.textContent = `${run.done} of ${run.total} claims`;
    } else if (run.status === "queued") state.textContent = "Waiting for a worker …";
    else state.textContent = "Reading the answer …";
  });
})();
