"use strict";
(() => {
  const data = JSON.parse(document.getElementById("recording").textContent);
  const last = data.steps.length - 1;
  const element = (id) => document.getElementById(id);
  let at = 0;

  // make returns a new element of a class, with children that are texts or elements.
  function make(tag, className, ...children) {
    const e = document.createElement(tag);
    if (className) e.className = className;
    e.append(...children);
    return e;
  }

  // state replays the steps up to a position.
  function state(position) {
    const registers = new Map(data.registers.map((name, i) => [name, data.values[i]]));
    const regions = data.regions.map((r) => r.words.slice());
    for (const step of data.steps.slice(1, position + 1)) {
      for (const [name, value] of step.registers || []) registers.set(name, value);
      for (const [region, word, value] of step.words || []) regions[region][word] = value;
    }
    return { registers, regions };
  }

  const number = (digits) => BigInt("0x" + digits);
  const inside = (region, address) => {
    const first = number(region.address);
    return address >= first && address <= first + 8n * BigInt(region.words.length);
  };

  // pointers returns what points to the words of a stack, by word: the stack pointer, or a pointer that a context holds.
  function pointers(region, now) {
    const found = new Map();
    const point = (digits, name) => {
      const address = number(digits);
      if (inside(region, address)) {
        const word = Number((address - number(region.address)) / 8n);
        if (found.get(word) !== data.sp) found.set(word, name);
      }
    };
    point(now.registers.get(data.sp), data.sp);
    data.regions.forEach((other, i) => {
      if (!other.stack) now.regions[i].forEach((digits) => point(digits, "saved"));
    });
    return found;
  }

  function showNow(step) {
    const parts = [make("p", "head", `Step ${at}: ${step.head}`)];
    if (step.findings) parts.push(make("ul", "findings", ...step.findings.map((f) => make("li", "", f))));
    if (step.effects) parts.push(make("ul", "", ...step.effects.map((e) => make("li", "", e))));
    element("now").replaceChildren(...parts);
  }

  let file = null;
  function showSource(step) {
    const box = element("source");
    let shown = step; // at the start, and between calls, what comes next
    for (let i = at; !shown.file && i < last; i++) shown = data.steps[i + 1];
    const lines = data.sources[shown.file] || [];
    if (file !== shown.file) {
      file = shown.file;
      element("source-name").textContent = file || "Source";
      box.replaceChildren(...lines.map((line, i) => make("span", "", make("b", "", String(i + 1)), line)));
    }
    for (const old of box.querySelectorAll(".here")) {
      old.className = "";
      old.removeAttribute("aria-current");
    }
    const line = box.children[shown.line - 1];
    if (!line) return;
    if (shown === step) {
      line.className = step.findings ? "here wrong" : "here";
      line.setAttribute("aria-current", "true");
    }
    box.scrollTop = line.offsetTop - box.clientHeight / 2;
  }

  function showRegisters(step, now) {
    const changed = new Set((step.registers || []).map(([name]) => name));
    element("registers").replaceChildren(...data.registers.map((name) => {
      const value = now.registers.get(name);
      const marked = changed.has(name) && name !== data.pc;
      const row = make("div", marked ? "changed" : "", make("b", "", (marked ? "*" : " ") + name), make("code", "", value),
        make("i", "", data.meanings[value] || ""));
      row.title = data.meanings[value] || "";
      return row;
    }));
  }

  function showMemory(step, now) {
    if (!element("memory")) return; // the page of a schedule has none
    const sp = number(now.registers.get(data.sp));
    element("memory").replaceChildren(...data.regions.map((region, i) => {
      const pointing = region.stack ? pointers(region, now) : new Map();
      const running = region.stack && inside(region, sp);
      const changed = new Set((step.words || []).filter((w) => w[0] === i).map((w) => w[1]));
      const read = new Set((step.read || []).filter((w) => w[0] === i).map((w) => w[1]));
      const rows = region.order.map((word) => {
        if (word < 0) return make("tr", "left-out", make("td", "pointer"), make("td", "mark"), make("th", ""), make("td", "", "…"));
        if (word === region.words.length) return wordRow(pointing.get(word) === data.sp ? "end top" : "end", pointing.get(word), "", word, "end", "");
        const value = now.regions[i][word];
        const classes = [];
        let mark = "";
        if (changed.has(word)) [mark] = ["*", classes.push("changed")];
        else if (read.has(word)) [mark] = ["<", classes.push("read")];
        if (running && number(region.address) + 8n * BigInt(word) < sp) classes.push("free");
        if (pointing.get(word) === data.sp) classes.push("top");
        return wordRow(classes.join(" "), pointing.get(word), mark, word, value, data.meanings[value] || "");
      });
      const where = make("small", "", "at 0x" + region.address.replace(/^0+(?=.)/, ""));
      return make("table", "region" + (region.stack ? " stack" : "") + (running ? " running" : ""), make("caption", "", region.name + " ", where),
        make("tbody", "", ...rows));
    }));
  }

  function wordRow(className, pointer, mark, word, value, meaning) {
    const offset = make("th", "", "+0x" + (8 * word).toString(16));
    offset.scope = "row";
    const row = make("tr", className, make("td", "pointer", pointer ? pointer + " >" : ""), make("td", "mark", mark), offset,
      make("td", "value", make("code", "", value), " ", make("i", "", meaning)));
    row.title = meaning;
    return row;
  }

  const items = [...document.querySelectorAll("#all [id^='step=']")];

  function go(position, keepAddress) {
    at = Math.max(0, Math.min(last, position));
    const step = data.steps[at], now = state(at);
    showNow(step);
    showSource(step);
    showRegisters(step, now);
    showMemory(step, now);
    element("slider").value = at;
    element("counter").textContent = `step ${at} of ${last}`;
    for (const button of document.querySelectorAll("[data-go]")) {
      const there = { first: 0, back: 0, forward: last, last }[button.dataset.go];
      button.setAttribute("aria-disabled", String(at === there));
    }
    items.forEach((item, i) => item.classList.toggle("here", i === at));
    if (!keepAddress) history.replaceState(null, "", "#step=" + at);
  }

  function goToWrong() {
    for (let i = 1; i <= last + 1; i++) {
      const position = (at + i) % (last + 1);
      if (data.steps[position].findings) return go(position);
    }
  }

  const moves = {
    first: () => go(0), back: () => go(at - 1), forward: () => go(at + 1), last: () => go(last), wrong: goToWrong,
  };

  // asked returns the step that the address names, or -1.
  function asked() {
    const match = /^#step=(\d+)$/.exec(location.hash);
    return match ? Number(match[1]) : -1;
  }

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  function nameTheme() {
    element("theme").textContent = isDark() ? "light" : "dark";
  }
  function toggleTheme() {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
    try {
      localStorage.setItem("theme", document.documentElement.dataset.theme);
    } catch { /* a page from a file may be refused it */ }
  }

  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch { /* as above */ }
  nameTheme();
  dark.addEventListener("change", nameTheme);
  element("theme").addEventListener("click", toggleTheme);

  for (const button of document.querySelectorAll("[data-go]")) button.addEventListener("click", moves[button.dataset.go]);
  element("slider").max = last;
  element("slider").addEventListener("input", (event) => go(Number(event.target.value)));
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const own = event.target === element("slider") || event.target === element("source"); // they have the arrow keys themselves
    const move = {
      ArrowRight: "forward", ArrowLeft: "back", Home: "first", End: "last", n: "forward", p: "back", f: "wrong",
    }[event.key];
    if (event.key === "t") toggleTheme();
    else if (move && !(own && event.key.length > 1)) moves[move]();
    else return;
    event.preventDefault();
  });
  addEventListener("hashchange", () => {
    if (asked() < 0) return;
    go(asked());
    element("explorer").scrollIntoView();
  });

  // With the ids, the address of a step would lead to the list.
  for (const [i, item] of items.entries()) {
    item.removeAttribute("id");
    item.dataset.step = i;
  }
  document.documentElement.classList.add("js");
  element("explorer").hidden = element("theme").hidden = false;
  go(Math.max(0, asked()), asked() < 0);
})();
