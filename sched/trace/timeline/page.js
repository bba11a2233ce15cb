"use strict";
(async () => {
const $ = id => document.getElementById(id);
const root = document.documentElement;

// The trace, in the Trace Event format. Slices (X), instants (i), the ends of arrows (s and f) and the names of processes
// and threads (M) are shown. Times become nanoseconds since the recording began.
const zipped = Uint8Array.from(atob($("trace").textContent.trim()), c => c.charCodeAt(0));
$("trace").remove();
const unzipped = new Blob([zipped]).stream().pipeThrough(new DecompressionStream("gzip"));
const { traceEvents } = await new Response(unzipped).json();
const nanoseconds = us => Math.round(us * 1000) || 0;
const processes = {}, tracks = new Map(), open = new Map(), arrows = [];
const trackOf = ({ pid, tid }) => {
  const key = pid + " " + tid;
  if (!tracks.has(key)) tracks.set(key, { pid, tid, name: "thread " + tid, slices: [], instants: [] });
  return tracks.get(key);
};
for (const e of traceEvents) {
  if (e.ph === "M" && e.name === "process_name") processes[e.pid] = e.args.name;
  else if (e.ph === "M" && e.name === "thread_name") trackOf(e).name = e.args.name;
  else if (e.ph === "X") trackOf(e).slices.push(e);
  else if (e.ph === "i") trackOf(e).instants.push(e);
  else if (e.ph === "s" || e.ph === "f") { // of each arrow, either end may come first
    const arrow = open.get(e.id) || {};
    arrow[e.ph] = { track: trackOf(e), at: nanoseconds(e.ts) };
    if (arrow.s && arrow.f) arrows.push(arrow);
    open.set(e.id, arrow);
  }
}

// Lanes are the lines of the page. A track has one for each depth at which its slices nest or overlap. The slices of a
// lane stand together in slice, the earliest first, and do not overlap; its instants stand together in instant.
const lanes = [], slice = [], instant = [];
for (const track of [...tracks.values()].sort((x, y) => x.pid - y.pid || x.tid - y.tid)) {
  const depths = [[]], ends = []; // of the slices that have not ended, the outermost first
  track.lane = lanes.length;
  for (const e of track.slices.sort((x, y) => x.ts - y.ts || y.dur - x.dur)) {
    const start = nanoseconds(e.ts);
    while (ends.length && ends[ends.length - 1] <= start) ends.pop();
    (depths[ends.length] ||= []).push(e);
    ends.push(start + nanoseconds(e.dur));
  }
  const firstInstant = instant.length;
  for (const e of track.instants.sort((x, y) => x.ts - y.ts)) instant.push(e);
  depths.forEach((list, depth) => {
    const first = slice.length, process = processes[track.pid] || "process " + track.pid;
    for (const e of list) slice.push(e);
    lanes.push({ process, name: track.name, depth, first, end: slice.length, firstInstant, endInstant: depth ? firstInstant : instant.length });
  });
}
const S = slice.length, since = Float64Array.from(slice, e => nanoseconds(e.ts));
const until = Float64Array.from(slice, (e, i) => since[i] + nanoseconds(e.dur));
const I = instant.length, at = Float64Array.from(instant, e => nanoseconds(e.ts));
arrows.sort((x, y) => x.s.at - y.s.at);
const A = arrows.length, from = Float64Array.from(arrows, a => a.s.at), to = Float64Array.from(arrows, a => a.f.at);
const fromLane = arrows.map(a => a.s.track.lane), toLane = arrows.map(a => a.f.track.lane);
let last = 1;
for (let i = 0; i < S; i++) last = Math.max(last, until[i]);
for (let i = 0; i < I; i++) last = Math.max(last, at[i]);

// Classes of slices, by which they are coloured and summed up: fibers by their state. A trace of another program may have
// any number of them. Sums up to each 16th slice make any sum cheap.
const COLORS = {
  __proto__: null, // names are those of the trace, such as "constructor"
  Running: "#56b4e9", Queued: "#e69f00", Yielded: "#cc79a7", Waiting: "#2fb391", Idle: "#c4c8ce",
  run: "#56b4e9", task: "#a8d8f5", spin: "#f0e442",
};
const MOST_CLASSES = 60, classes = [], classOf = new Map();
const kind = Uint8Array.from(slice, e => {
  const k = e.cat === "state" ? e.name : e.cat || "slice";
  if (!classOf.has(k)) classOf.set(k, classes.length < MOST_CLASSES ? classes.push(k) - 1 : MOST_CLASSES);
  return classOf.get(k);
});
if (classes.length === MOST_CLASSES) classes.push("other");
const C = classes.length, STEP = 16;
const before = new Float64Array((Math.floor(S / STEP) + 2) * C), sum = new Float64Array(C);
for (let i = 0; i < S; i++) {
  sum[kind[i]] += until[i] - since[i];
  if ((i + 1) % STEP === 0) before.set(sum, (i + 1) / STEP * C);
}
const addUpTo = (i, sign) => {
  const block = Math.floor(i / STEP);
  for (let c = 0; c < C; c++) sum[c] += sign * before[block * C + c];
  for (let k = block * STEP; k < i; k++) sum[kind[k]] += sign * (until[k] - since[k]);
};
const between = (i, k) => { // leaves the sums of the slices i to k-1 in sum
  sum.fill(0);
  if (k - i <= 2 * STEP) for (; i < k; i++) sum[kind[i]] += until[i] - since[i];
  else { addUpTo(k, 1); addUpTo(i, -1); }
};
// The first of list[low..high), which ascends, that is more than t; with orEqual, that is t or more.
const search = (list, low, high, t, orEqual) => {
  while (low < high) {
    const middle = low + high >> 1;
    if (list[middle] > t || orEqual && list[middle] === t) high = middle; else low = middle + 1;
  }
  return low;
};

// The view: which time is shown, what is selected.
let t0 = 0, t1 = last, chosen = null, span = null, matches = [], match = -1, arrowsHere = 0;
const ROW = 18, RULER = 22, MOST_ARROWS = 300;
const view = $("view"), canvas = $("canvas"), pen = canvas.getContext("2d", { alpha: false });
let width = 0, height = 0, ratio = 1, gutter = 0, image, pixels, colors, paper, theme;
const frame = { bars: 0, labels: 0, ticks: 0, arrows: 0 }; // what the last picture consists of
const rgb = hex => {
  const v = parseInt(hex.slice(1), 16);
  return (255 << 24 | (v & 255) << 16 | (v >> 8 & 255) << 8 | v >> 16) >>> 0;
};
view.style.maxHeight = lanes.length * ROW + RULER + 10 + "px";
const resize = () => {
  ratio = Math.min(devicePixelRatio || 1, 2);
  width = view.clientWidth;
  height = view.clientHeight;
  gutter = width < 600 ? 84 : 150;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.height = height + "px";
  $("spacer").style.height = Math.max(0, lanes.length * ROW + RULER + 8 - height) + "px";
  image = pen.createImageData(canvas.width, canvas.height);
  pixels = new Uint32Array(image.data.buffer);
  const style = getComputedStyle(root), of = v => style.getPropertyValue(v).trim();
  theme = { paper: of("--paper"), panel: of("--panel"), ink: of("--ink"), soft: of("--soft"), edge: of("--edge"), accent: of("--accent") };
  paper = rgb(theme.paper);
  colors = classes.map(k => rgb(COLORS[k] || "#b0a8e0"));
  ask();
};
let asked = false;
const ask = () => {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    draw();
  });
};
const xOf = t => gutter + (t - t0) / (t1 - t0) * (width - gutter);
const tOf = x => t0 + (x - gutter) / (width - gutter) * (t1 - t0);
const yOf = lane => RULER + lane * ROW - view.scrollTop;

// bar fills whole pixels of the screen, x0 up to x1, of the lower part share of a line at y.
const bar = (x0, x1, y, share, color) => {
  frame.bars++;
  const tall = Math.max(3, Math.round((ROW - 3) * ratio * share)), foot = Math.round((y + ROW - 2) * ratio);
  const top = Math.max(foot - tall, Math.round(RULER * ratio)), W = canvas.width;
  for (let r = top; r < Math.min(foot, canvas.height); r++) pixels.fill(color, r * W + x0, r * W + x1);
};

// drawLane draws at most one bar for each pixel, however many slices there are: those that begin within one pixel are
// summed up, and the class with the most time gives the color, the time of all the height.
const drawLane = (lane, y, labels) => {
  const left = Math.round(gutter * ratio), right = canvas.width, scale = (right - left) / (t1 - t0);
  const x = t => left + (t - t0) * scale;
  let i = search(until, lane.first, lane.end, t0, false);
  while (i < lane.end && since[i] < t1) {
    const x0 = Math.max(left, x(since[i])), x1 = Math.min(right, x(until[i]));
    if (x1 - x0 >= 1) {
      const a = Math.floor(x0), b = Math.max(a + 1, Math.floor(x1));
      // A gap tells two slices of one class apart.
      bar(a, b - (b - a > 3 ? 1 : 0), y, 1, colors[kind[i]]);
      if ((x1 - x0) / ratio > 28) labels.push([x0 / ratio, y, (x1 - x0) / ratio, slice[i].name]);
      i++;
      continue;
    }
    const column = Math.min(Math.floor(x0), right - 1), edge = t0 + (column + 1 - left) / scale;
    const next = Math.max(i + 1, search(since, i, lane.end, edge, true));
    between(i, next);
    let most = 0, total = 0;
    for (let c = 0; c < C; c++) {
      total += sum[c];
      if (sum[c] > sum[most]) most = c;
    }
    bar(column, column + 1, y, Math.min(1, total * scale), colors[most]);
    i = next;
  }
};
const drawTicks = (lane, y) => {
  const gap = (t1 - t0) / (width - gutter) * 3;
  for (let i = search(at, lane.firstInstant, lane.endInstant, t0, true); i < lane.endInstant && at[i] <= t1;) {
    const x = xOf(at[i]);
    frame.ticks++;
    pen.beginPath();
    pen.moveTo(x, y + ROW - 8);
    pen.lineTo(x - 3.5, y + ROW - 1);
    pen.lineTo(x + 3.5, y + ROW - 1);
    pen.fill();
    i = Math.max(i + 1, search(at, i, lane.endInstant, at[i] + gap, false));
  }
};
const drawArrow = (a, strong) => {
  const x0 = xOf(from[a]), x1 = xOf(to[a]), y0 = yOf(fromLane[a]) + ROW / 2, y1 = yOf(toLane[a]) + ROW / 2;
  frame.arrows++;
  pen.lineWidth = strong ? 2.5 : 1;
  pen.beginPath();
  pen.moveTo(x0, y0);
  const bend = Math.max(8, Math.abs(x1 - x0) / 3);
  pen.bezierCurveTo(x0 + bend, y0 - (y0 === y1 ? ROW : 0), x1 - bend, y1 - (y0 === y1 ? ROW : 0), x1, y1);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(x1 + 1, y1);
  pen.lineTo(x1 - 5, y1 - 3);
  pen.lineTo(x1 - 5, y1 + 3);
  pen.fill();
};
const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const duration = ns => {
  const [unit, sign] = UNITS.find(u => Math.abs(ns) >= u[0]) || UNITS[3], v = ns / unit;
  return (unit === 1 || Math.abs(v) >= 100 ? v.toFixed(0) : v.toFixed(Math.abs(v) >= 10 ? 1 : 2)) + " " + sign;
};
const fits = (s, wide) => {
  const most = Math.floor((wide - 6) / 6.6);
  return s.length <= most ? s : most < 3 ? "" : s.slice(0, most - 1) + "…";
};
const draw = () => {
  if (!width) return;
  frame.bars = frame.labels = frame.ticks = frame.arrows = 0;
  pixels.fill(paper);
  const top = Math.max(0, Math.floor(view.scrollTop / ROW));
  const end = Math.min(lanes.length, Math.ceil((view.scrollTop + height - RULER) / ROW));
  const labels = [];
  for (let l = top; l < end; l++) drawLane(lanes[l], yOf(l), labels);
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.putImageData(image, 0, 0);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = "12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
  pen.textBaseline = "middle";
  pen.save();
  pen.beginPath();
  pen.rect(gutter, RULER, width - gutter, height - RULER);
  pen.clip();
  pen.fillStyle = "#000000";
  for (const [x, y, wide, s] of labels) {
    const short = fits(s, wide);
    if (short) {
      frame.labels++;
      pen.fillText(short, x + 3, y + ROW / 2);
    }
  }
  pen.fillStyle = theme.ink;
  for (let l = top; l < end; l++) drawTicks(lanes[l], yOf(l));
  pen.strokeStyle = pen.fillStyle = theme.ink;
  const first = search(from, 0, A, t0, true), final = search(from, 0, A, t1, false);
  arrowsHere = final - first;
  if (arrowsHere <= MOST_ARROWS) for (let a = first; a < final; a++) drawArrow(a, false);
  pen.strokeStyle = pen.fillStyle = theme.accent;
  if (chosen) {
    for (const a of chosen.arrows) drawArrow(a, true);
    const x0 = xOf(chosen.since), x1 = xOf(chosen.until);
    pen.lineWidth = 3;
    pen.strokeRect(x0 - 1.5, yOf(chosen.lane) - 1, Math.max(x1 - x0, 1) + 3, ROW);
  }
  if (span) {
    pen.globalAlpha = .18;
    pen.fillRect(xOf(span[0]), RULER, xOf(span[1]) - xOf(span[0]), height);
    pen.globalAlpha = 1;
  }
  pen.restore();
  drawRuler();
  pen.fillStyle = theme.paper;
  pen.fillRect(0, RULER, gutter - 2, height);
  for (let l = top; l < end; l++) {
    const lane = lanes[l];
    if (lane.depth > 0) continue;
    pen.fillStyle = chosen && chosen.lane === l ? theme.accent : theme.ink;
    pen.fillText(fits(width < 600 ? lane.name.replace("worker", "w").replace("fiber", "f") : lane.name, gutter), 4, yOf(l) + ROW / 2);
  }
  pen.fillStyle = theme.panel;
  pen.fillRect(0, 0, gutter - 2, RULER);
  $("status").textContent = `${duration(t1 - t0)} of ${duration(last)}, from ${duration(t0)}` +
    (arrowsHere > MOST_ARROWS ? `; ${arrowsHere} arrows: zoom in to see them` : "");
};
const drawRuler = () => {
  pen.fillStyle = theme.panel;
  pen.fillRect(gutter, 0, width - gutter, RULER);
  pen.fillStyle = pen.strokeStyle = theme.soft;
  pen.lineWidth = 1;
  const rough = (t1 - t0) / Math.max(2, (width - gutter) / 110), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find(s => s * power >= rough) * power;
  for (let t = Math.ceil(t0 / step) * step; t <= t1; t += step) {
    const x = xOf(t);
    pen.fillRect(x, 0, 1, RULER);
    pen.fillText(duration(t), x + 3, RULER / 2);
  }
  if (span) {
    pen.fillStyle = theme.accent;
    pen.fillRect(xOf(span[0]), RULER - 4, Math.max(2, xOf(span[1]) - xOf(span[0])), 4);
  }
};

// Moving.
const show = (a, b) => {
  const wide = Math.min(Math.max(b - a, 20), last);
  a = Math.min(Math.max(a - (wide - (b - a)) / 2, 0), last - wide);
  [t0, t1] = [a, a + wide];
  ask();
  later();
};
const zoom = (factor, middle) => {
  if (middle === undefined) {
    middle = chosen ? (chosen.since + chosen.until) / 2 : (t0 + t1) / 2;
    if (middle < t0 || middle > t1) middle = (t0 + t1) / 2;
  }
  const wide = Math.min((t1 - t0) * factor, last), left = middle - (middle - t0) / (t1 - t0) * wide;
  show(left, left + wide);
};
const move = part => {
  const by = (t1 - t0) * part;
  show(t0 + by, t1 + by);
};

// Selecting.
const element = (tag, content, parent) => {
  const e = document.createElement(tag);
  e.textContent = content;
  if (parent) parent.append(e);
  return e;
};
const choose = (lane, i, isInstant) => {
  chosen = isInstant ?
    { lane, instant: i, since: at[i], until: at[i], event: instant[i], arrows: [] } :
    { lane, slice: i, since: since[i], until: until[i], event: slice[i], arrows: [] };
  const base = lane - lanes[lane].depth; // the line on which arrows begin and end
  if (!isInstant) {
    for (let a = search(from, 0, A, chosen.since, true); a < A && from[a] <= chosen.until; a++)
      if (fromLane[a] === base && chosen.arrows.length < MOST_ARROWS) chosen.arrows.push(a);
    for (let a = 0; a < A && from[a] <= chosen.until; a++)
      if (toLane[a] === base && to[a] === chosen.since) chosen.arrows.unshift(a);
  }
  const list = document.createElement("dl");
  const rows = [["line", `${lanes[lane].process}: ${lanes[lane].name}`], ["from", duration(chosen.since)]];
  if (!isInstant) rows.push(["took", duration(chosen.until - chosen.since)]);
  for (const [key, value] of rows.concat(Object.entries(chosen.event.args || {}))) {
    element("dt", key, list);
    element("dd", value, list);
  }
  for (const a of chosen.arrows.slice(0, 5)) {
    const out = fromLane[a] === base && from[a] >= chosen.since;
    element("dt", "arrow", list);
    element("dd", `${out ? "to " + lanes[toLane[a]].name : "from " + lanes[fromLane[a]].name}, ${duration(to[a] - from[a])} from notify to wake`, list);
  }
  $("selected").replaceChildren(element("b", chosen.event.name), list);
  const y = yOf(lane);
  if (y < RULER) view.scrollTop = lane * ROW;
  else if (y + ROW > height) view.scrollTop = lane * ROW + RULER + ROW * 2 - height;
  if (chosen.until < t0 || chosen.since > t1) {
    const half = (t1 - t0) / 2, middle = chosen.since;
    show(middle - half, middle + half);
  }
  ask();
};
// nearest is the slice of the line at a time, or the nearest one; -1 if it has none.
const nearest = (lane, t) => {
  const { first, end } = lanes[lane];
  if (first === end) return -1;
  const i = search(until, first, end, t, true);
  if (i === end) return end - 1;
  return i > first && since[i] - t > t - until[i - 1] ? i - 1 : i;
};
const chooseAt = (lane, t) => {
  const i = nearest(lane, t);
  if (i >= 0) choose(lane, i);
  return i >= 0;
};
const step = by => {
  if (!S) return;
  if (!chosen) return chooseAt(lanes.findIndex(l => l.end > l.first), (t0 + t1) / 2);
  const lane = lanes[chosen.lane];
  const here = chosen.slice !== undefined ? chosen.slice + by : nearest(chosen.lane, chosen.since);
  if (here >= lane.first && here < lane.end) choose(chosen.lane, here);
};
const line = by => {
  if (!chosen) return step(1);
  const t = Math.min(Math.max((chosen.since + chosen.until) / 2, t0), t1);
  for (let l = chosen.lane + by; l >= 0 && l < lanes.length; l += by) if (chooseAt(l, t)) return;
};
const follow = () => {
  if (!chosen || !chosen.arrows.length) return;
  const a = chosen.arrows[0], out = from[a] >= chosen.since && fromLane[a] === chosen.lane - lanes[chosen.lane].depth;
  const lane = out ? toLane[a] : fromLane[a], t = out ? to[a] : from[a];
  const i = search(until, lanes[lane].first, lanes[lane].end, t, !out);
  if (i < lanes[lane].end) choose(lane, i);
};
const edge = which => {
  const t = chosen ? (which ? chosen.until : chosen.since) : (which ? t1 : t0);
  span = span || [0, last];
  span[which] = t;
  if (span[0] > span[1]) span[1 - which] = t;
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
    const tr = document.createElement("tr");
    row.forEach((v, i) => element(i && row !== header ? "td" : "th", v, tr));
    t.append(tr);
  }
  return t;
};
const COLUMN = { __proto__: null, task: 0, Queued: 1, Yielded: 2, Waiting: 2 }; // of the table of tasks
const summarize = () => {
  const [a, b] = span || [t0, t1], wide = Math.max(b - a, 1);
  const byProcess = new Map(), byTask = new Map(), workers = [];
  for (const lane of lanes) {
    const low = search(until, lane.first, lane.end, a, false), high = search(since, lane.first, lane.end, b, true);
    const mine = new Float64Array(C);
    for (let i = low; i < high; i++) {
      const took = Math.min(until[i], b) - Math.max(since[i], a), c = kind[i];
      mine[c] += took;
      const state = COLUMN[classes[c]], task = state === 0 ? slice[i].name : slice[i].args?.task;
      if (state !== undefined && task) {
        if (!byTask.has(task)) byTask.set(task, [0, 0, 0]);
        byTask.get(task)[state] += took;
      }
    }
    const all = byProcess.get(lane.process) || new Float64Array(C);
    for (let c = 0; c < C; c++) all[c] += mine[c];
    byProcess.set(lane.process, all);
    if (lane.process === "workers" && lane.depth === 0) {
      const part = k => classOf.has(k) ? mine[classOf.get(k)] / wide : 0;
      const percent = v => (100 * v).toFixed(1) + " %";
      workers.push([lane.name, percent(part("run")), percent(part("spin")), percent(Math.max(0, 1 - part("run") - part("spin")))]);
    }
  }
  const counts = new Map();
  for (let l = 0; l < lanes.length; l++) {
    const lane = lanes[l], high = search(at, lane.firstInstant, lane.endInstant, b, false);
    for (let i = search(at, lane.firstInstant, lane.endInstant, a, true); i < high; i++) {
      const k = instant[i].cat;
      counts.set(k, (counts.get(k) || 0) + 1);
    }
  }
  const arrows = search(from, 0, A, b, false) - search(from, 0, A, a, true);
  if (arrows) counts.set("notify to wake", arrows);
  const out = [element("p", `${duration(b - a)}, from ${duration(a)} to ${duration(b)}`)];
  if (workers.length) out.push(table("Workers", ["worker", "runs", "spins", "rest"], workers.slice(0, 64)));
  for (const [process, all] of byProcess) {
    const rows = classes.map((k, c) => [k, all[c]]).filter(r => r[1] > 0).sort((x, y) => y[1] - x[1]);
    if (process !== "workers" && rows.length) out.push(table(`All ${process}, by state`, ["state", "time"], rows.map(r => [r[0], duration(r[1])])));
  }
  const tasks = [...byTask].sort((x, y) => y[1][0] + y[1][1] + y[1][2] - x[1][0] - x[1][1] - x[1][2]).slice(0, 12);
  if (tasks.length) out.push(table("Tasks, by name", ["task", "Running", "Queued", "blocked"], tasks.map(([k, v]) => [k, ...v.map(duration)])));
  if (counts.size) out.push(table("Events", ["what", "times"], [...counts].map(([k, n]) => [k, String(n)])));
  $("sums-head").textContent = span ? "Where the time of the span went" : "Where the time in view went";
  $("sums").replaceChildren(...out);
};

// Searching: all slices, instants and lines that contain the text, in the order of time.
const find = words => {
  words = words.trim().toLowerCase();
  matches = [];
  match = -1;
  if (words) {
    const known = new Map(); // a trace has few texts, each often
    const hit = text => {
      if (!known.has(text)) known.set(text, String(text).toLowerCase().includes(words));
      return known.get(text);
    };
    const hitEvent = e => hit(e.name) || hit(e.cat) || Object.entries(e.args || {}).some(([k, v]) => hit(k) || hit(v));
    lanes.forEach((lane, l) => {
      if (lane.depth === 0 && lane.end > lane.first && hit(lane.name)) matches.push([since[lane.first], l, lane.first, false]);
      for (let i = lane.first; i < lane.end; i++) if (hitEvent(slice[i])) matches.push([since[i], l, i, false]);
      for (let i = lane.firstInstant; i < lane.endInstant; i++) if (hitEvent(instant[i])) matches.push([at[i], l, i, true]);
    });
    matches.sort((x, y) => x[0] - y[0]);
  }
  $("found").textContent = words ? `${matches.length} found` : "";
};
const next = by => {
  if (!matches.length) return;
  match = match < 0 && by < 0 ? matches.length - 1 : (match + by + matches.length) % matches.length;
  const [, lane, i, isInstant] = matches[match];
  choose(lane, i, isInstant);
  $("found").textContent = `${match + 1} of ${matches.length}`;
};

// Keys and buttons do the same.
const fit = () => {
  const [a, b] = span || (chosen ? [chosen.since, chosen.until] : [0, last]);
  const rim = Math.max((b - a) * .1, 10);
  show(a - rim, b + rim);
};
const deeds = {
  ArrowLeft: () => step(-1), ArrowRight: () => step(1), ArrowUp: () => line(-1), ArrowDown: () => line(1),
  w: () => zoom(.5), "+": () => zoom(.5), s: () => zoom(2), "-": () => zoom(2), a: () => move(-.25), d: () => move(.25),
  f: fit, 0: () => show(0, last), "[": () => edge(0), "]": () => edge(1), g: follow, n: () => next(1), p: () => next(-1),
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
    return;
  }
  if (!Object.hasOwn(deeds, e.key)) return;
  e.preventDefault();
  deeds[e.key]();
});
for (const button of document.querySelectorAll("[data-do]")) button.addEventListener("click", () => deeds[button.dataset.do]());
$("search").addEventListener("input", () => find($("search").value));
$("search").addEventListener("keydown", e => {
  if (e.key === "Enter") next(e.shiftKey ? -1 : 1);
});

// The pointer: drag to move, drag the ruler to select a span, click to select a slice; Ctrl and the wheel zoom.
let drag = null;
const place = e => {
  const box = canvas.getBoundingClientRect();
  return [e.clientX - box.left, e.clientY - box.top];
};
canvas.addEventListener("pointerdown", e => {
  const [x, y] = place(e);
  drag = { x, y, t0, t1, t: tOf(x), ruler: y < RULER, far: false };
  canvas.setPointerCapture(e.pointerId);
});
canvas.addEventListener("pointermove", e => {
  if (!drag) return;
  const [x] = place(e);
  drag.far = drag.far || Math.abs(x - drag.x) > 4;
  if (!drag.far) return;
  if (drag.ruler) {
    const t = Math.min(Math.max(tOf(x), 0), last);
    span = [Math.min(t, drag.t), Math.max(t, drag.t)];
    ask();
    later();
  } else {
    const by = (drag.x - x) / (width - gutter) * (drag.t1 - drag.t0);
    show(drag.t0 + by, drag.t1 + by);
  }
});
canvas.addEventListener("pointerup", e => {
  const [x, y] = place(e), lane = Math.floor((y - RULER + view.scrollTop) / ROW);
  if (drag && !drag.far && y >= RULER && lane < lanes.length) {
    const wide = (t1 - t0) / (width - gutter) * 4, t = tOf(x), { firstInstant, endInstant } = lanes[lane];
    const i = search(at, firstInstant, endInstant, t - wide, true);
    if (y - yOf(lane) > ROW / 2 && i < endInstant && at[i] < t + wide) choose(lane, i, true);
    else chooseAt(lane, t);
  }
  drag = null;
});
canvas.addEventListener("pointercancel", () => drag = null);
view.addEventListener("wheel", e => {
  if (e.ctrlKey || e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
    e.preventDefault();
    if (e.ctrlKey) zoom(2 ** (e.deltaY / 200), tOf(place(e)[0]));
    else move((e.deltaX || e.deltaY) / 1000);
  }
}, { passive: false });
view.addEventListener("scroll", ask);
new ResizeObserver(resize).observe(view);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", resize);
for (const k of classes) {
  const mark = document.createElement("span"), box = document.createElement("i");
  box.style.background = COLORS[k] || "#b0a8e0";
  mark.append(box, k);
  if (k !== "run" || !classOf.has("Running")) $("legend").append(mark);
}
$("counts").textContent = `Slices: ${S.toLocaleString("en")}, instants: ${I.toLocaleString("en")}, arrows: ${A.toLocaleString("en")}.`;
if (I) element("span", "▲ an event of a worker", $("legend"));
if (A) element("span", "→ from notify to wake", $("legend"));
resize();
draw();
summarize();
// For tests: what is shown, of what the last picture consists, and to draw one now.
window.timeline = { lanes, frame, draw, get view() { return { t0, t1, last, slices: S, chosen, span }; } };
root.dataset.ready = "yes";
})();
