"use strict";
/* What moves: the progress of runs, the count of chosen runs, and the keys: / finds, arrows turn, 1, 5 and 0 label. Every page works without it. */
(() => {
  const choose = document.querySelector("form.choosing");
  if (choose) {
    const button = choose.querySelector(".choose button");
    const said = choose.querySelector(".choose [role=status]");
    const count = () => {
      const n = choose.querySelectorAll("input[name=run_ids]:checked").length;
      button.disabled = n < 2 || n > 4;
      said.textContent = n > 4 ? `${n} chosen, at most 4` : n ? `${n} chosen` : "choose 2 to 4 runs";
    };
    choose.addEventListener("change", count);
    addEventListener("pageshow", count);
    count();
  }

  for (const form of document.querySelectorAll("form.controls:not([method=post])")) {
    // Empty fields say nothing: they stay out of the address.
    form.addEventListener("submit", () => {
      for (const field of form.querySelectorAll("input, select")) field.disabled = field.value === "";
    });
    addEventListener("pageshow", () => {
      for (const field of form.querySelectorAll("input, select")) field.disabled = false;
    });
    for (const field of form.querySelectorAll("select")) field.addEventListener("change", () => form.requestSubmit());
  }

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, summary, .scroll")) return;
    if (event.key === "/") {
      const field = document.querySelector("input[type=search]");
      if (field) { event.preventDefault(); field.focus(); field.select(); }
    }
    const labels = document.querySelector("#label select");
    const label = { 1: "1", 5: "0.5", 0: "0" }[event.key];
    if (labels && label) { labels.value = label; labels.form.requestSubmit(); }
    const way = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    const link = way && document.querySelector(`a[rel=${way}]`);
    if (link) link.click();
  });

  const live = document.querySelector("[data-live]");
  if (!live || !window.EventSource) return;
  const rows = () => new Map([...document.querySelectorAll("[data-run]")].map((row) => [row.dataset.run, row]));
  const busy = () => document.querySelector("input:checked") || document.activeElement?.matches("input, select") || scrollY > 200;
  const news = () => {
    if (!busy()) return location.reload();
    const place = document.getElementById("es-news");
    if (place) place.hidden = false;
  };
  const events = new EventSource("/events");
  events.addEventListener("changed", news);
  events.addEventListener("progress", (event) => {
    const runs = JSON.parse(event.data);
    const shown = rows();
    for (const run of runs) {
      const row = shown.get(run.id);
      if (!row) {
        if (live.dataset.live === "" || live.dataset.live === run.suite_name) return news();
        continue;
      }
      if (row.dataset.state !== run.state) return news();
      const bar = row.querySelector("progress");
      if (bar && run.n_total) bar.value = run.n_done;
      row.querySelector(".done").textContent = run.n_total ? `${run.n_done} of ${run.n_total}` : `${run.n_done}`;
      const score = row.querySelector(".so-far");
      if (score && run.score_text) score.textContent = run.score_text;
      shown.delete(run.id);
    }
    // One that was shown and is gone has ended.
    if (shown.size) news();
  });
  addEventListener("pagehide", () => events.close());
})();
