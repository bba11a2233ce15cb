// The page of one recorded run. In the order of this file: the trace is read into lanes; they are drawn; slices are
// chosen; times are summed up; events are searched; keys, buttons and the pointer ask for all of that.
const $ = id => document.getElementById(id);
const element = (tag, content, parent) => {
  const e = document.createElement(tag);
  e.append(content);
  parent?.append(e);
  return e;
};

// Kinds of slices, by which they are coloured and summed up: fibers by their state. Any other slice is of the last kind.
const COLORS = {
  Running: "#56b4e9", Queued: "#e69f00", Yielded: "#cc79a7", Waiting: "#2fb391", Idle: "#c4c8ce",
  run: "#56b4e9", task: "#a8d8f5", spin: "#f0e442", other: "#b0a8e0",
};
const KINDS = Object.keys(COLORS), RUN = KINDS.indexOf("run"), SPIN = KINDS.indexOf("spin"), OTHER = KINDS.length - 1;
const kindOf = e => {
  const kind = KINDS.indexOf(e.cat === "state" ? e.name : e.cat);
  return kind < 0 ? OTHER : kind;
};

// The trace, in the Trace Event format. Slices (X), instants (i), the ends of arrows (s and f) and the names of processes
// and threads (M) are shown. Each event gets since and until, in whole nanoseconds since the recording began.
const zipped = Uint8Array.from(atob($("trace").textContent.trim()), c => c.charCodeAt(0));
$("trace").remove();
const unzipped = new Blob([zipped]).stream().pipeThrough(new DecompressionStream("gzip"));
const { traceEvents } = await new Response(unzipped).json();
const processes = {}, tracks = new Map(), ends = new Map(), arrows = [];
const trackOf = ({ pid, tid }) => {
  const key = pid + " " + tid;
  if (!tracks.has(key)) tracks.set(key, { pid, tid, name: "thread " + tid, slices: [], instants: [] });
  return tracks.get(key);
};
let last = 1;
for (const e of traceEvents) {
  e.since = Math.round(e.ts * 1000) || 0;
  e.until = e.since + (Math.round(e.dur * 1000) || 0);
  last = Math.max(last, e.until);
  if (e.ph === "X") trackOf(e).slices.push(e);
  else if (e.ph === "M" && e.name === "process_name") processes[e.pid] = e.args.name;
  else if (e.ph === "M" && e.name === "thread_name") trackOf(e).name = e.args.name;
  else if (e.ph === "i") trackOf(e).instants.push(e);
  else if (e.ph === "s" || e.ph === "f") { // of each arrow, either end may come first
    const arrow = ends.get(e.id) || {};
    arrow[e.ph] = e;
    ends.set(e.id, arrow);
    const { s, f } = arrow;
    if (s && f) arrows.push({ from: trackOf(s), to: trackOf(f), since: s.since, until: f.since });
  }
}

// Lanes are the lines of the page. A track has one for each depth at which its slices nest or overlap; the first one, its
// base, has the instants and the ends of arrows. The slices of a lane do not overlap; the earliest stands first.
const lanes = [];
const byTime = (x, y) => x.since - y.since || y.until - x.until;
const times = (events, end) => Float64Array.from(events, e => e[end]);
for (const track of [...tracks.values()].sort((x, y) => x.pid - y.pid || x.tid - y.tid)) {
  const process = processes[track.pid] || "process " + track.pid, first = lanes.length, open = [];
  const laneAt = depth => lanes[first + depth] ||=
    { process, name: track.name, number: first + depth, depth, slices: [], instants: [] };
  track.base = laneAt(0);
  track.base.instants = track.instants.sort(byTime);
  for (const e of track.slices.sort(byTime)) {
    while (open.length && open.at(-1).until <= e.since) open.pop();
    laneAt(open.length).slices.push(e);
    open.push(e);
  }
  for (const lane of lanes.slice(first)) lane.base = track.base;
}
for (const lane of lanes) { // drawing a million slices wants arrays of numbers
  lane.since = times(lane.slices, "since");
  lane.until = times(lane.slices, "until");
  lane.kind = Uint8Array.from(lane.slices, kindOf);
  lane.at = times(lane.instants, "since");
}
for (const a of arrows.sort(byTime)) [a.from, a.to] = [a.from.base, a.to.base];
const begins = times(arrows, "since");

// The place of the first number in ascending list that is t or more.
const search = (list, t) => {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = low + high >> 1;
    if (list[middle] >= t) high = middle; else low = middle + 1;
  }
  return low;
};
const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const duration = ns => {
  const [unit, sign] = UNITS.find(u => Math.abs(ns) >= u[0]) || UNITS[3], v = ns / unit;
  return v.toFixed(unit === 1 || Math.abs(v) >= 100 ? 0 : Math.abs(v) >= 10 ? 1 : 2) + " " + sign;
};

// The view: which time is shown, and what is chosen.
let t0 = 0, t1 = last, span = null, chosen = null; // chosen: a lane, an event there, and its arrows
const ROW = 18, RULER = 22, MOST_ARROWS = 300;
const view = $("view"), canvas = $("canvas"), pen = canvas.getContext("2d", { alpha: false });
let width, height, ratio, gutter, image, pixels, scrolled = 0;
const frame = { bars: 0, arrows: 0 }; // what the last picture consists of
const theme = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const rgb = hex => { // as a pixel of the image
  const v = parseInt(hex.slice(1), 16);
  return (255 << 24 | (v & 255) << 16 | (v >> 8 & 255) << 8 | v >> 16) >>> 0;
};
const colors = Object.values(COLORS).map(rgb);
view.style.maxHeight = lanes.length * ROW + RULER + 10 + "px";
const resize = () => {
  ratio = Math.min(devicePixelRatio || 1, 2);
  [width, height] = [view.clientWidth, view.clientHeight];
  gutter = width < 600 ? 84 : 150;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.height = height + "px";
  $("spacer").style.height = Math.max(0, lanes.length * ROW + RULER + 8 - height) + "px";
  image = pen.createImageData(canvas.width, canvas.height);
  pixels = new Uint32Array(image.data.buffer);
  draw(); // now, since a canvas of another size is empty
};
let asked = false;
const ask = () => {
  if (!asked) requestAnimationFrame(() => {
    asked = false;
    draw();
  });
  asked = true;
};
const xOf = t => gutter + (t - t0) / (t1 - t0) * (width - gutter);
const tOf = x => t0 + (x - gutter) / (width - gutter) * (t1 - t0);
const yOf = lane => RULER + lane.number * ROW - scrolled;

// bar fills whole pixels of the screen, x0 up to x1, of the lower part share of a lane.
const bar = (lane, x0, x1, share, kind) => {
  frame.bars++;
  const tall = Math.max(3, Math.round((ROW - 3) * ratio * share)), foot = Math.round((yOf(lane) + ROW - 2) * ratio);
  const top = Math.max(foot - tall, Math.round(RULER * ratio)), W = canvas.width;
  for (let r = top; r < Math.min(foot, canvas.height); r++) pixels.fill(colors[kind], r * W + x0, r * W + x1);
};

// drawLane draws few bars for each pixel, however many slices there are. Slices that are narrower than a pixel and begin
// within the same one are summed up: the kind with the most time gives the colour, the time of all the height.
const drawLane = lane => {
  const { since, until, kind } = lane, left = Math.round(gutter * ratio), right = canvas.width;
  const scale = (right - left) / (t1 - t0), x = t => left + (t - t0) * scale, sums = new Float64Array(KINDS.length);
  for (let i = search(until, t0); i < since.length && since[i] < t1;) {
    const x0 = Math.max(left, x(since[i])), x1 = Math.min(right, x(until[i])), column = Math.min(Math.floor(x0), right - 1);
    if (x1 - x0 >= 1) {
      const edge = Math.max(column + 1, Math.floor(x1));
      bar(lane, column, edge - (edge - column > 3 ? 1 : 0), 1, kind[i++]); // a gap tells two slices of one kind apart
      continue;
    }
    const next = t0 + (column + 1 - left) / scale;
    sums.fill(0);
    do sums[kind[i]] += until[i] - since[i];
    while (++i < since.length && since[i] < next && (until[i] - since[i]) * scale < 1);
    let most = 0, all = 0;
    for (let k = 0; k < sums.length; k++) {
      all += sums[k];
      if (sums[k] > sums[most]) most = k;
    }
    bar(lane, column, column + 1, Math.min(1, all * scale), most);
  }
};
const fits = (text, wide) => {
  const most = Math.floor((wide - 6) / 6.6);
  return text.length <= most ? text : most < 3 ? "" : text.slice(0, most - 1) + "…";
};
const drawLabels = lane => {
  for (let i = search(lane.until, t0); i < lane.since.length && lane.since[i] < t1;) {
    const x = Math.max(gutter, xOf(lane.since[i])), wide = Math.min(width, xOf(lane.until[i])) - x;
    if (wide > 28) pen.fillText(fits(lane.slices[i].name, wide), x + 3, yOf(lane) + ROW / 2);
    i = wide > 28 ? i + 1 : Math.max(i + 1, search(lane.until, tOf(x + 28))); // none that ends before is wide enough
  }
};
const triangle = (x, y, dx, dy) => { // with its tip at x and y, and its middle that far behind
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(x - dx - dy / 2, y - dy + dx / 2);
  pen.lineTo(x - dx + dy / 2, y - dy - dx / 2);
  pen.fill();
};
const drawInstants = lane => {
  const gap = (t1 - t0) / (width - gutter) * 3;
  for (let i = search(lane.at, t0); i < lane.at.length && lane.at[i] <= t1;) {
    triangle(xOf(lane.at[i]), yOf(lane) + ROW - 8, 0, -7);
    i = Math.max(i + 1, search(lane.at, lane.at[i] + gap));
  }
};
const drawArrow = (a, thick) => {
  const x0 = xOf(a.since), x1 = xOf(a.until), y0 = yOf(a.from) + ROW / 2, y1 = yOf(a.to) + ROW / 2;
  const bend = Math.max(8, Math.abs(x1 - x0) / 3), up = y0 === y1 ? ROW : 0;
  frame.arrows++;
  pen.lineWidth = thick;
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.bezierCurveTo(x0 + bend, y0 - up, x1 - bend, y1 - up, x1, y1);
  pen.stroke();
  triangle(x1 + 1, y1, 6, 0);
};
const drawRuler = () => {
  pen.fillStyle = theme("panel");
  pen.fillRect(0, 0, width, RULER);
  pen.fillStyle = theme("soft");
  const rough = (t1 - t0) / Math.max(2, (width - gutter) / 110), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find(s => s * power >= rough) * power;
  for (let t = Math.ceil(t0 / step) * step; t <= t1; t += step) {
    pen.fillRect(xOf(t), 0, 1, RULER);
    pen.fillText(duration(t), xOf(t) + 3, RULER / 2);
  }
};
const draw = () => {
  if (!width) return;
  frame.bars = frame.arrows = 0;
  const [paper, ink, accent] = ["paper", "ink", "accent"].map(theme);
  scrolled = view.scrollTop; // to ask for it is slow
  const top = Math.floor(Math.max(0, scrolled) / ROW), seen = lanes.slice(top, top + Math.ceil(height / ROW) + 1);
  pixels.fill(rgb(paper));
  seen.forEach(drawLane);
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.putImageData(image, 0, 0);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = "12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
  pen.textBaseline = "middle";
  pen.fillStyle = "#000000";
  seen.forEach(drawLabels);
  pen.strokeStyle = pen.fillStyle = ink;
  seen.forEach(drawInstants);
  const here = arrows.slice(search(begins, t0), search(begins, t1));
  if (here.length <= MOST_ARROWS) for (const a of here) drawArrow(a, 1);
  pen.strokeStyle = pen.fillStyle = accent;
  if (chosen) {
    for (const a of chosen.arrows) drawArrow(a, 2.5);
    const x = xOf(chosen.event.since);
    pen.lineWidth = 3;
    pen.strokeRect(x - 1.5, yOf(chosen.lane) - 1, Math.max(xOf(chosen.event.until) - x, 1) + 3, ROW);
  }
  drawRuler();
  if (span) {
    pen.fillStyle = accent;
    pen.globalAlpha = .18;
    pen.fillRect(xOf(span[0]), 0, Math.max(2, xOf(span[1]) - xOf(span[0])), height);
    pen.globalAlpha = 1;
  }
  pen.fillStyle = paper;
  pen.fillRect(0, RULER, gutter - 2, height);
  for (const lane of seen) {
    pen.fillStyle = chosen?.lane === lane ? accent : ink;
    const name = width < 600 ? lane.name.replace("worker", "w").replace("fiber", "f") : lane.name;
    if (lane.depth === 0) pen.fillText(fits(name, gutter), 4, yOf(lane) + ROW / 2);
  }
  pen.fillStyle = theme("panel");
  pen.fillRect(0, 0, gutter - 2, RULER);
  $("status").textContent = `${duration(t1 - t0)} of ${duration(last)}, from ${duration(t0)}` +
    (here.length > MOST_ARROWS ? `; ${here.length} arrows: zoom in to see them` : "");
};

// Moving.
const show = (a, b) => {
  const wide = Math.min(Math.max(b - a, 20), last);
  t0 = Math.min(Math.max(a - (wide - (b - a)) / 2, 0), last - wide);
  t1 = t0 + wide;
  ask();
  later();
};
const zoom = (factor, middle) => {
  middle ??= chosen ? (chosen.event.since + chosen.event.until) / 2 : (t0 + t1) / 2;
  if (middle < t0 || middle > t1) middle = (t0 + t1) / 2;
  show(middle - (middle - t0) * factor, middle + (t1 - middle) * factor);
};
const move = part => show(t0 + (t1 - t0) * part, t1 + (t1 - t0) * part);
const fit = () => {
  const [a, b] = span || (chosen ? [chosen.event.since, chosen.event.until] : [0, last]), rim = Math.max((b - a) * .1, 10);
  show(a - rim, b + rim);
};

// Choosing. An arrow into a slice stands before those that leave it.
const leaves = a => a.from === chosen.lane.base && a.since >= chosen.event.since;
const choose = (lane, event) => {
  const into = a => a.to === lane.base && a.until === event.since;
  const out = a => a.from === lane.base && a.since >= event.since && a.since <= event.until;
  chosen = { lane, event, arrows: event.ph === "X" ? arrows.filter(into).concat(arrows.filter(out)).slice(0, MOST_ARROWS) : [] };
  const list = document.createElement("dl"), rows = [["line", `${lane.process}: ${lane.name}`], ["from", duration(event.since)]];
  if (event.ph === "X") rows.push(["took", duration(event.until - event.since)]);
  rows.push(...Object.entries(event.args || {}));
  for (const a of chosen.arrows.slice(0, 5)) {
    const where = leaves(a) ? "to " + a.to.name : "from " + a.from.name;
    rows.push(["arrow", `${where}, ${duration(a.until - a.since)} from notify to wake`]);
  }
  for (const [key, value] of rows) {
    element("dt", key, list);
    element("dd", value, list);
  }
  $("selected").replaceChildren(element("b", event.name), list);
  if (yOf(lane) < RULER) view.scrollTop = lane.number * ROW;
  else if (yOf(lane) + ROW > height) view.scrollTop = lane.number * ROW + RULER + ROW * 2 - height;
  if (event.until < t0 || event.since > t1) show(event.since - (t1 - t0) / 2, event.since + (t1 - t0) / 2);
  ask();
};
const chooseAt = (lane, t) => { // the slice at that time, or the nearest one
  const i = search(lane.until, t), before = lane.slices[i - 1], after = lane.slices[i];
  const event = after && !(before && after.since - t > t - before.until) ? after : before;
  if (event) choose(lane, event);
  return event;
};
const step = by => {
  const lane = chosen ? chosen.lane : lanes.find(l => l.slices.length), i = chosen ? lane.slices.indexOf(chosen.event) : -1;
  if (i < 0) lane && chooseAt(lane, chosen ? chosen.event.since : (t0 + t1) / 2);
  else if (lane.slices[i + by]) choose(lane, lane.slices[i + by]);
};
const line = by => {
  if (!chosen) return step(by);
  const t = Math.min(Math.max((chosen.event.since + chosen.event.until) / 2, t0), t1);
  for (let l = chosen.lane.number + by; lanes[l]; l += by) if (chooseAt(lanes[l], t)) return;
};
const follow = () => {
  const a = chosen?.arrows[0];
  if (!a) return;
  const lane = leaves(a) ? a.to : a.from;
  const event = lane.slices[search(lane.until, leaves(a) ? a.until + 1 : a.since)]; // it begins at its wake-up
  if (event) choose(lane, event);
};
const spanAt = which => {
  span ||= [0, last];
  span[which] = chosen ? [chosen.event.since, chosen.event.until][which] : [t0, t1][which];
  if (span[0] > span[1]) span[1 - which] = span[which];
  ask();
  summarize();
};

// Sums: of the span, or of what is shown.
let timer;
const later = () => {
  clearTimeout(timer);
  timer = setTimeout(summarize, 200);
};
const table = (title, header, rows) => {
  const t = document.createElement("table");
  element("caption", title, t);
  for (const row of [header, ...rows]) {
    const tr = element("tr", "", t);
    row.forEach((v, i) => element(i && row !== header ? "td" : "th", v, tr));
  }
  return t;
};
const COLUMN = { task: 0, Queued: 1, Yielded: 2, Waiting: 2 }; // of the table of tasks
const columns = KINDS.map(k => COLUMN[k]);
const summarize = () => {
  const [a, b] = span || [t0, t1], wide = Math.max(b - a, 1), percent = v => (100 * v / wide).toFixed(1) + " %";
  const processTimes = {}, tasks = new Map(), workers = new Map(), counts = new Map();
  for (const lane of lanes) {
    const all = processTimes[lane.process] ||= new Float64Array(KINDS.length), mine = new Float64Array(KINDS.length);
    for (let i = search(lane.until, a); i < lane.since.length && lane.since[i] < b; i++) {
      const took = Math.min(lane.until[i], b) - Math.max(lane.since[i], a), column = columns[lane.kind[i]];
      mine[lane.kind[i]] += took;
      all[lane.kind[i]] += took;
      const task = column === 0 ? lane.slices[i].name : lane.slices[i].args?.task;
      if (column === undefined || !task || !took) continue;
      if (!tasks.has(task)) tasks.set(task, [0, 0, 0]);
      tasks.get(task)[column] += took;
    }
    if (lane.process === "workers") {
      const name = lane.name.replace(" spins", ""), [runs, spins] = workers.get(name) || [0, 0];
      workers.set(name, [runs + mine[RUN], spins + mine[SPIN]]);
    }
    for (const { cat } of lane.instants.slice(search(lane.at, a), search(lane.at, b + 1)))
      counts.set(cat, (counts.get(cat) || 0) + 1);
  }
  const woken = search(begins, b + 1) - search(begins, a);
  if (woken) counts.set("notify to wake", woken);
  const out = [element("p", `${duration(b - a)}, from ${duration(a)} to ${duration(b)}`)], sum = v => v[0] + v[1] + v[2];
  const shares = [...workers].slice(0, 64).map(([name, [runs, spins]]) =>
    [name, ...[runs, spins, Math.max(0, wide - runs - spins)].map(percent)]);
  if (shares.length) out.push(table("Workers", ["worker", "runs", "spins", "rest"], shares));
  for (const [process, all] of Object.entries(processTimes)) {
    const rows = KINDS.map((k, i) => [k, all[i]]).filter(r => r[1] > 0).sort((x, y) => y[1] - x[1]);
    if (process !== "workers" && rows.length)
      out.push(table(`All ${process}, by state`, ["state", "time"], rows.map(r => [r[0], duration(r[1])])));
  }
  const longest = [...tasks].sort((x, y) => sum(y[1]) - sum(x[1])).slice(0, 12).map(([k, v]) => [k, ...v.map(duration)]);
  if (longest.length) out.push(table("Tasks, by name", ["task", "Running", "Queued", "blocked"], longest));
  if (counts.size) out.push(table("Events", ["what", "times"], [...counts]));
  $("sums-head").textContent = span ? "Where the time of the span went" : "Where the time in view went";
  $("sums").replaceChildren(...out);
};

// Searching: all slices, instants and lines that contain the text, in the order of time.
let matches = [], match = -1;
const find = () => {
  const words = $("search").value.trim().toLowerCase(), known = new Map(); // a trace has few texts, each often
  const hit = text => {
    if (!known.has(text)) known.set(text, String(text).toLowerCase().includes(words));
    return known.get(text);
  };
  const hits = e => hit(e.name) || hit(e.cat) || Object.entries(e.args || {}).some(([k, v]) => hit(k) || hit(v));
  const inLane = lane => lane.slices.concat(lane.instants).filter((e, i) => hits(e) || i + lane.depth === 0 && hit(lane.name));
  matches = words ? lanes.flatMap(lane => inLane(lane).map(event => ({ lane, event }))) : [];
  matches.sort((x, y) => byTime(x.event, y.event));
  match = -1;
  $("found").textContent = words ? `${matches.length} found` : "";
};
const next = by => {
  if (!matches.length) return;
  match = match < 0 && by < 0 ? matches.length - 1 : (match + by + matches.length) % matches.length;
  choose(matches[match].lane, matches[match].event);
  $("found").textContent = `${match + 1} of ${matches.length}`;
};

// Keys and buttons do the same.
const deeds = {
  ArrowLeft: () => step(-1), ArrowRight: () => step(1), ArrowUp: () => line(-1), ArrowDown: () => line(1),
  w: () => zoom(.5), "+": () => zoom(.5), s: () => zoom(2), "-": () => zoom(2), a: () => move(-.25), d: () => move(.25),
  f: fit, 0: () => show(0, last), "[": () => spanAt(0), "]": () => spanAt(1), g: follow, n: () => next(1), p: () => next(-1),
  "/": () => $("search").focus(),
  Escape: () => {
    span = null;
    ask();
    summarize();
  },
};
addEventListener("keydown", e => {
  if (e.ctrlKey || e.altKey || e.metaKey) return;
  if (e.target === $("search")) {
    if (e.key === "Escape") view.focus();
    if (e.key === "Enter") next(e.shiftKey ? -1 : 1);
  } else if (Object.hasOwn(deeds, e.key)) {
    e.preventDefault();
    deeds[e.key]();
  }
});
for (const button of document.querySelectorAll("[data-do]")) button.addEventListener("click", deeds[button.dataset.do]);
$("search").addEventListener("input", find);

// The pointer: drag to move, drag the ruler to select a span, click to choose a slice; Ctrl and the wheel zoom.
let drag = null;
canvas.addEventListener("pointerdown", e => {
  drag = { x: e.offsetX, t0, t1, t: tOf(e.offsetX), ruler: e.offsetY < RULER, far: false };
  canvas.setPointerCapture(e.pointerId);
});
canvas.addEventListener("pointermove", e => {
  if (!drag) return;
  drag.far ||= Math.abs(e.offsetX - drag.x) > 4;
  if (drag.far && drag.ruler) {
    span = [drag.t, Math.min(Math.max(tOf(e.offsetX), 0), last)].sort((x, y) => x - y);
    ask();
    later();
  } else if (drag.far) {
    const by = (drag.x - e.offsetX) / (width - gutter) * (drag.t1 - drag.t0);
    show(drag.t0 + by, drag.t1 + by);
  }
});
canvas.addEventListener("pointerup", e => {
  const lane = lanes[Math.floor((e.offsetY - RULER + view.scrollTop) / ROW)];
  if (drag && !drag.far && !drag.ruler && lane) {
    const t = tOf(e.offsetX), wide = tOf(e.offsetX + 4) - t, i = search(lane.at, t - wide);
    if (e.offsetY - yOf(lane) > ROW / 2 && lane.at[i] < t + wide) choose(lane, lane.instants[i]);
    else chooseAt(lane, t);
  }
  drag = null;
});
canvas.addEventListener("pointercancel", () => drag = null);
canvas.addEventListener("wheel", e => {
  if (!e.ctrlKey && !e.shiftKey && Math.abs(e.deltaX) <= Math.abs(e.deltaY)) return;
  e.preventDefault();
  if (e.ctrlKey) zoom(2 ** (e.deltaY / 200), tOf(e.offsetX));
  else move((e.deltaX || e.deltaY) / 1000);
}, { passive: false });
view.addEventListener("scroll", ask);
new ResizeObserver(resize).observe(view);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ask);

const number = (sum, n) => sum + n, slices = lanes.map(l => l.slices.length).reduce(number, 0);
const instants = lanes.map(l => l.instants.length).reduce(number, 0), shown = new Set(lanes.flatMap(l => [...new Set(l.kind)]));
for (const kind of [...shown].sort((x, y) => x - y)) {
  if (kind === RUN && shown.has(0)) continue; // it has the colour of Running
  const mark = element("span", element("i", ""), $("legend"));
  mark.firstChild.style.background = COLORS[KINDS[kind]];
  mark.append(KINDS[kind]);
}
$("counts").textContent = `Slices: ${slices.toLocaleString("en")}, instants: ${instants.toLocaleString("en")}, ` +
  `arrows: ${arrows.length.toLocaleString("en")}.`;
if (instants) element("span", "▲ an event of a worker", $("legend"));
if (arrows.length) element("span", "→ from notify to wake", $("legend"));
resize();
summarize();
// For tests: what is shown, of what the last picture consists, and to draw one now.
window.timeline = { lanes, frame, draw, get view() { return { t0, t1, last, slices, chosen, span }; } };
document.documentElement.dataset.ready = "yes";
