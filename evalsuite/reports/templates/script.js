"use strict";
/* The list of instances of a report: filters, order, pages and links to one instance. The rows wait in JSON blocks; only one page of
   them is ever in the document. Texts enter as text; the opened bodies are HTML that the report's own templates escaped. */
(() => {
  const block = document.getElementById("es-index");
  if (!block) return;
  const PAGE = 50;
  const index = JSON.parse(block.textContent);
  const list = document.getElementById("es-list");
  const form = document.getElementById("es-controls");
  const pages = document.getElementById("es-pages");
  const shown = document.getElementById("es-shown");
  const pattern = document.getElementById("es-row").content.firstElementChild;
  const buttons = [...document.querySelectorAll(".list-head [data-sort]")];
  const blocks = [...document.querySelectorAll(".es-bodies")];
  const known = new Map();
  const rows = index.rows.map(([id, kind, official, strict, scorer, groups, flip, why, at, signs, more], gold) => ({
    id, kind: index.kinds[kind].name, rank: kind, official, strict, scorer: index.scorers[scorer], groups: groups.map((g) => index.groups[g]),
    flip, why, at, signs, more, gold, text: [id, why, flip, ...more].join("\n").toLowerCase(),
  }));
  const byId = new Map(rows.map((row) => [row.id, row]));
  const state = { text: "", kind: "", scorer: "", group: "", sort: "kind", way: "up", page: 0 };
  let found = rows;

  const body = (row) => {
    const part = Math.floor(row.at / index.per_block);
    if (!known.has(part)) known.set(part, JSON.parse(blocks[part].textContent));
    return known.get(part)[row.at % index.per_block];
  };

  const fits = (row) =>
    (!state.text || row.text.includes(state.text.toLowerCase())) &&
    (!state.kind || row.kind === state.kind || (state.kind === "flips" && row.flip)) &&
    (!state.scorer || row.scorer === state.scorer) &&
    (!state.group || row.groups.includes(state.group));

  const keys = {
    kind: (row) => row.rank, gold: (row) => row.gold, id: (row) => row.id, scorer: (row) => row.scorer,
    official: (row) => row.official ?? -1, strict: (row) => row.strict ?? -1,
  };

  const search = () => {
    const key = keys[state.sort];
    const sign = state.way === "up" ? 1 : -1;
    found = rows.filter(fits).sort((a, b) => {
      const x = key(a), y = key(b);
      return x < y ? -sign : x > y ? sign : a.gold - b.gold;
    });
  };

  const element = (row) => {
    const made = pattern.cloneNode(true);
    const kind = index.kinds[row.rank];
    const [official, strict] = made.querySelectorAll(".value");
    made.id = row.id;
    made.className = "instance k-" + row.kind;
    made.querySelector(".sign").title = kind.words;
    made.querySelector(".sign [aria-hidden]").textContent = kind.sign;
    made.querySelector(".sign .unseen").textContent = kind.words;
    made.querySelector(".id").textContent = row.id;
    made.querySelector(".scorer").textContent = row.scorer;
    official.lastChild.textContent = " " + row.signs[0];
    strict.lastChild.textContent = " " + row.signs[1];
    const why = made.querySelector(".why");
    why.textContent = row.why;
    if (row.flip) {
      const flip = document.createElement("span");
      flip.className = "flip";
      flip.title = "official and strict differ";
      flip.textContent = "flip";
      why.prepend(flip, " ");
    }
    row.more.forEach((text, column) => {
      if (!text) return;
      const title = document.createElement("span");
      title.className = "quiet";
      title.textContent = index.more[column];
      why.append(" · ", title, ` ${text}`);
    });
    const fill = () => {
      const place = made.querySelector(".body");
      if (!place.hasChildNodes()) place.innerHTML = body(row);
    };
    made.addEventListener("toggle", () => made.open && fill());
    made.fill = fill;
    return made;
  };

  const show = () => {
    const last = Math.max(0, Math.ceil(found.length / PAGE) - 1);
    state.page = Math.min(Math.max(0, state.page), last);
    const from = state.page * PAGE;
    const part = found.slice(from, from + PAGE);
    list.replaceChildren(...part.map(element));
    if (!part.length) {
      const nothing = document.createElement("p");
      nothing.className = "empty";
      nothing.textContent = "No instance matches.";
      list.append(nothing);
    }
    const of = found.length === rows.length ? `${rows.length} instances` : `${found.length} of ${rows.length} instances`;
    shown.textContent = last ? `${from + 1} to ${from + part.length} of ${of}` : of;
    pages.hidden = !last;
    pages.querySelector("span").textContent = `Page ${state.page + 1} of ${last + 1}`;
    const [back, next] = pages.querySelectorAll("button");
    back.disabled = state.page === 0;
    next.disabled = state.page === last;
    for (const button of buttons) {
      const on = button.dataset.sort === state.sort;
      button.setAttribute("aria-pressed", String(on));
      if (on) button.dataset.way = state.way; else delete button.dataset.way;
    }
  };

  const remember = () => {
    const said = new URLSearchParams();
    for (const [key, default_] of [["text", ""], ["kind", ""], ["scorer", ""], ["group", ""], ["sort", "kind"], ["way", "up"], ["page", 0]]) {
      if (state[key] !== default_) said.set(key, state[key]);
    }
    const hash = said.toString();
    history.replaceState(null, "", hash ? "#?" + hash : location.href.split("#")[0] + "#");
  };
  const update = (change) => {
    Object.assign(state, change);
    search();
    show();
    remember();
  };

  const open = (row) => {
    let at = found.indexOf(row);
    if (at < 0) {
      Object.assign(state, { text: "", kind: "", scorer: "", group: "" });
      form.reset();
      search();
      at = found.indexOf(row);
    }
    state.page = Math.floor(at / PAGE);
    show();
    const made = document.getElementById(row.id);
    made.fill();
    made.open = true;
    made.classList.add("target");
    made.scrollIntoView({ block: "start" });
    made.querySelector("summary").focus({ preventScroll: true });
  };

  const follow = () => {
    const hash = location.hash.slice(1);
    if (hash.startsWith("?")) {
      for (const [key, said] of new URLSearchParams(hash.slice(1))) {
        if (key === "page") state.page = Number.parseInt(said, 10) || 0;
        else if (key === "sort" ? Object.hasOwn(keys, said) : Object.hasOwn(state, key)) state[key] = said;
      }
      for (const key of ["text", "kind", "scorer", "group"]) if (form.elements[key]) form.elements[key].value = state[key];
      return null;
    }
    let id = hash;
    try { id = decodeURIComponent(hash); } catch { /* not an encoded id: taken as it stands */ }
    return byId.get(id) ?? null;
  };

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  const narrow = (event) => update({ [event.target.name]: event.target.value, page: 0 });
  form.elements.text.addEventListener("input", narrow);
  for (const select of form.querySelectorAll("select")) select.addEventListener("change", narrow);
  form.addEventListener("reset", () => update({ text: "", kind: "", scorer: "", group: "", page: 0 }));
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const same = button.dataset.sort === state.sort;
      update({ sort: button.dataset.sort, way: same && state.way === "up" ? "down" : "up", page: 0 });
    });
  }
  pages.addEventListener("click", (event) => {
    const step = Number(event.target.dataset.page);
    if (!step) return;
    update({ page: state.page + step });
    list.querySelector("summary")?.focus();
    document.getElementById("es-instances").scrollIntoView();
  });
  addEventListener("hashchange", () => {
    const row = follow();
    if (row) return open(row);
    search();
    show();
  });
  const row = follow();
  search();
  if (row) open(row); else show();
})();
