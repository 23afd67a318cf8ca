"use strict";
// Everything is read from the page and put back as text nodes: nothing of a patch is ever parsed as HTML.
(() => {
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  const one = (what, where = document) => where.querySelector(what);
  const query = one("#query"), found = one("#found");
  const patches = all(".patch").map((box) => ({
    box, row: box.parentElement, summary: one("summary", box), hit: one(".hit", box), diff: one(".diff", box),
    raw: null, parts: null, coloured: false,
  }));
  const byBox = new Map(patches.map((p) => [p.box, p]));
  const shown = () => patches.filter((p) => !p.row.hidden);
  one(".search").hidden = one(".keys").hidden = false;

  // The text of a diff, as long as it stands there whole.
  const text = (p) => (p.raw ??= p.diff.textContent.replace(/^\n/, ""));

  // A diff in lines, by file, with line numbers. Within a hunk its counts say what a line is, not its looks.
  function colour(p) {
    if (p.coloured) return;
    p.coloured = true;
    const label = one("pre", p.diff).getAttribute("aria-label");
    const box = document.createDocumentFragment();
    let pre = null, old = 0, now = 0, oldLeft = 0, nowLeft = 0, name = "";
    const begin = () => {
      const section = document.createElement("section");
      pre = document.createElement("pre");
      pre.className = "coloured";
      pre.tabIndex = 0;
      pre.setAttribute("role", "group");
      section.append(document.createElement("h4"), pre);
      box.append(section);
      name = "";
    };
    const called = (what) => {
      if (!pre || name) return;
      name = what;
      pre.previousSibling.textContent = what;
      pre.setAttribute("aria-label", what + ", " + label);
    };
    const put = (kind, line, number) => {
      const row = document.createElement("span");
      if (kind) row.className = kind;
      if (number) row.dataset.n = number;
      row.textContent = line + "\n";
      pre.append(row);
    };
    const lines = text(p).split("\n");
    lines.forEach((line, at) => {
      if (oldLeft > 0 || nowLeft > 0) {
        const sign = line[0];
        if (sign === "+") { put("a", line, now++); nowLeft--; return; }
        if (sign === "-") { put("d", line, old++); oldLeft--; return; }
        if (sign === "\\") { put("m", line); return; }
        put("", line, now++); old++; oldLeft--; nowLeft--;
        return;
      }
      const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
      const plain = line.startsWith("--- ") && (lines[at + 1] || "").startsWith("+++ ");
      const dashed = plain && pre && !pre.dataset.hunks && pre.dataset.git;
      if (line.startsWith("diff --git ") || (plain && !dashed) || !pre) begin();
      if (line.startsWith("diff --git ")) pre.dataset.git = "1";
      if (hunk) {
        pre.dataset.hunks = "1";
        [old, now] = [+hunk[1], +hunk[3]];
        [oldLeft, nowLeft] = [+(hunk[2] ?? 1), +(hunk[4] ?? 1)];
        put("h", line);
        return;
      }
      const to = /^(?:\+\+\+ |rename to |copy to )(?:b\/)?([^\t]+)/.exec(line), from = /^--- (?:a\/)?([^\t]+)/.exec(line);
      if (to && to[1] !== "/dev/null") called(to[1]);
      else if (from && from[1] !== "/dev/null" && (lines[at + 1] || "").startsWith("+++ /dev/null")) called(from[1]);
      put("m", line);
    });
    all("section", box).forEach((section) => {
      if (section.firstChild.textContent) return;
      const first = section.lastChild.textContent.split("\n")[0];
      section.firstChild.textContent = (/ b\/(.+)$/.exec(first) || [0, first])[1];
      section.lastChild.setAttribute("aria-label", section.firstChild.textContent + ", " + label);
    });
    p.diff.replaceChildren(box);
  }

  // Search
  const parts = (p) => (p.parts ??= [
    ["name", one(".title", p.box).textContent + "\n" + one(".file code", p.box).textContent + "\n" + one(".tags", p.box).textContent],
    ["header", one(".header", p.box)?.textContent ?? ""],
    ["files", all(".touches code", p.box).map((c) => c.textContent).join("\n")],
    ["diff", text(p)],
  ].map(([where, what]) => [where, what.toLowerCase()]));
  const many = (n, what) => n + " " + what + (n === 1 ? "" : what.endsWith("ch") ? "es" : "s");
  const times = (what, needle) => what.split(needle).length - 1;

  function search() {
    const needle = query.value.trim().toLowerCase();
    let n = 0;
    for (const p of patches) {
      const hits = needle ? parts(p).map(([where, what]) => [where, times(what, needle)]).filter(([, k]) => k) : [];
      p.row.hidden = needle !== "" && hits.length === 0;
      p.hit.textContent = hits.map(([where, k]) => where + " " + k).join(" · ");
      n += !p.row.hidden;
    }
    found.textContent = needle ? n + " of " + many(patches.length, "patch") : "";
    mark(needle);
  }

  function mark(needle) {
    if (!window.CSS || !CSS.highlights) return;
    CSS.highlights.delete("found");
    if (!needle) return;
    const ranges = [];
    for (const p of shown().filter((p) => p.box.open)) {
      const walk = document.createTreeWalker(p.box, NodeFilter.SHOW_TEXT);
      for (let node = walk.nextNode(); node && ranges.length < 2000; node = walk.nextNode()) {
        const low = node.data.toLowerCase();
        if (low.length !== node.data.length) continue;
        for (let at = low.indexOf(needle); at >= 0; at = low.indexOf(needle, at + needle.length)) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + needle.length);
          ranges.push(range);
        }
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  }

  let waiting = 0;
  query.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 60);
  });

  for (const p of patches)
    p.box.addEventListener("toggle", () => {
      if (p.box.open) colour(p);
      if (query.value) mark(query.value.trim().toLowerCase());
    });

  // A link to a patch opens it, also when it was followed before or the search has put the patch away.
  function visit(id, focus) {
    const p = byBox.get(document.getElementById(id));
    if (!p) return false;
    if (p.row.hidden) { query.value = ""; search(); }
    p.box.open = true;
    colour(p);
    if (focus) p.summary.focus({ preventScroll: true });
    p.box.scrollIntoView({ block: "start" });
    return true;
  }
  addEventListener("hashchange", () => visit(location.hash.slice(1), true));
  document.addEventListener("click", (event) => {
    const to = event.target.closest?.("a[href^='#p']")?.getAttribute("href") ?? "#" + event.target.dataset?.id;
    if (to === location.hash) visit(to.slice(1), true);
    else if (event.target.dataset?.id) location.hash = to;
  });

  // Keys
  const here = () => byBox.get(document.activeElement?.closest?.(".patch"));
  function step(by) {
    const list = shown();
    if (!list.length) return;
    const at = list.indexOf(here());
    const next = at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, at + by));
    list[next].summary.focus({ preventScroll: true });
    list[next].row.scrollIntoView({ block: list[next].box.open ? "start" : "nearest" });
  }
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key, typing = event.target === query, single = one("#keys").checked;
    const act = (what) => { event.preventDefault(); what(); };
    if (key === "Escape") {
      const p = here();
      if (typing || query.value) act(() => { query.value = ""; clearTimeout(waiting); search(); if (typing) query.blur(); });
      else if (p && p.box.open) act(() => { p.box.open = false; p.summary.focus(); });
    } else if (typing) {
      if (key === "ArrowDown") act(() => { query.blur(); step(1); });
      else if (key === "Enter") act(() => { clearTimeout(waiting); search(); const p = shown()[0]; if (p) visit(p.box.id, true); });
    } else if (event.target.localName === "summary" && (key === "ArrowDown" || key === "ArrowUp")) act(() => step(key === "ArrowDown" ? 1 : -1));
    else if (single && key === "j") act(() => step(1));
    else if (single && key === "k") act(() => step(-1));
    else if (single && key === "/") act(() => { query.focus(); query.select(); });
  });

  // Graph: the arcs of the patch under the pointer or the focus
  const rows = all(".graph li"), lines = all(".graph path");
  const light = (row) => {
    const at = row?.dataset.at;
    for (const line of lines) line.classList.toggle("lit", at !== undefined && (line.dataset.on === at || line.dataset.to === at));
  };
  for (const row of rows) {
    row.addEventListener("pointerenter", () => light(row));
    row.addEventListener("focusin", () => light(row));
    row.addEventListener("pointerleave", () => light(null));
    row.addEventListener("focusout", () => light(null));
  }

  visit(location.hash.slice(1), false);
})();
