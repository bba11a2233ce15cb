// Draws the plots of the page from the data in the element "plots". A slider below each plot walks along it. The text
// below the slider is the row of the table at that place.
"use strict";

const plots = JSON.parse(document.getElementById("plots").textContent);
document.querySelectorAll("figure").forEach((figure, i) => { // whose parts are found in this order
  [plots[i].box, plots[i].slider, plots[i].said] = figure.querySelectorAll(".plot, .slider, .said");
  plots[i].table = figure.parentElement.querySelector("table");
});

// color returns a colour of the style sheet, in light or dark.
const color = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const font = "12px system-ui, sans-serif";

// Each series has a colour, a shape and a dash of its own, so that it can be known without its colour.
const looks = [{ color: "series-1", dash: [], square: false }, { color: "series-2", dash: [6, 3], square: true }];

function dot(ctx, x, y, r, square) {
  ctx.beginPath();
  if (square) ctx.rect(x - r, y - r, 2 * r, 2 * r);
  else ctx.arc(x, y, r, 0, 2 * Math.PI);
  ctx.fill();
}

function line(ctx, x1, y1, x2, y2) {
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x2, y2);
  ctx.stroke();
}

function axis(more) {
  const grid = { stroke: color("grid"), width: 1 };
  return Object.assign({ stroke: color("ink"), font, labelFont: font, grid, ticks: grid }, more);
}

// span is the range of a logarithmic axis that shows all of the values, with some room at both ends.
function span(values) {
  const shown = values.filter(v => v > 0);
  return [Math.min(...shown) * .8, Math.max(...shown) * 1.25];
}

// logarithmic says where the numbers of such an axis stand: the longer it is, the fewer. uPlot's own begin at the end
// of the axis, and along the width they are powers of ten alone.
const logarithmic = {
  splits: (u, axis, min, max) => {
    const ratio = max / min, all = [];
    const steps = ratio > 300 ? [1] : ratio > 20 ? [1, 3] : ratio > 3 ? [1, 2, 3, 5, 7] : [1, 2, 3, 4, 5, 6, 7, 8, 9];
    for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max); power++)
      all.push(...steps.map(step => Number(step + "e" + power)));
    return all.filter(at => at >= min && at <= max);
  },
  filter: (u, splits) => splits,
  values: (u, splits) => splits.map(v => v.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 2 })),
};

// walked is what both kinds of plots have: a cursor along one axis. What is there is said below the plot.
const walked = (plot, draw, cursor) => ({
  legend: { show: false },
  cursor: { drag: { x: false, y: false }, points: { show: false }, ...cursor },
  hooks: { draw: [draw], setCursor: [u => u.cursor.event && u.cursor.idx !== null && say(plot, u.cursor.idx)] },
});

// rowsPlot lays each row of figures along one line: a dot for each sample, a box for the interval, a bar at the median.
function rowsPlot(plot, width) {
  const { rows, floor } = plot;
  const names = Math.min(Math.max(...rows.map(r => r.name.length)) * 7 + 16, width * .42);
  const all = rows.flatMap(r => [r.low, r.high, r.median, ...r.samples]);
  if (floor) all.push(floor.at);
  const draw = u => {
    const { ctx } = u, x = v => u.valToPos(v, "y", true), ratio = devicePixelRatio;
    ctx.save();
    if (floor) {
      ctx.strokeStyle = color("series-2");
      ctx.setLineDash([5 * ratio, 4 * ratio]);
      ctx.lineWidth = 1.5 * ratio;
      line(ctx, x(floor.at), u.bbox.top, x(floor.at), u.bbox.top + u.bbox.height);
      ctx.setLineDash([]);
    }
    rows.forEach((row, i) => {
      const y = u.valToPos(i, "x", true);
      ctx.globalAlpha = .45;
      ctx.fillStyle = color("series-1");
      // A dot's height is a fixed sequence that spreads evenly, so that equal samples stay apart.
      const size = (row.samples.length > 40 ? 1.7 : 2.7) * ratio;
      row.samples.forEach((v, k) => dot(ctx, x(v), y + ((k * .618) % 1 - .5) * 12 * ratio, size));
      ctx.globalAlpha = 1;
      ctx.fillStyle = ctx.strokeStyle = color("ink");
      ctx.lineWidth = 1.5 * ratio;
      ctx.strokeRect(x(row.low), y - 8 * ratio, Math.max(x(row.high) - x(row.low), 1), 16 * ratio);
      ctx.fillRect(x(row.median) - 1.5 * ratio, y - 10 * ratio, 3 * ratio, 20 * ratio);
    });
    ctx.restore();
  };
  return new uPlot({
    width, height: rows.length * 32 + 60,
    scales: {
      x: { time: false, ori: 1, dir: -1, range: [-.6, rows.length - .4] },
      y: { distr: 3, ori: 0, dir: 1, range: span(all) },
    },
    axes: [
      axis({
        scale: "x", side: 3, size: names, grid: { show: false },
        splits: () => rows.map((_, i) => i), values: () => rows.map(r => r.name),
      }),
      axis({ scale: "y", side: 2, label: plot.x, ...logarithmic }),
    ],
    series: [{}, { paths: () => null, points: { show: false } }],
    ...walked(plot, draw, { x: false, y: true }),
  }, [rows.map((_, i) => i), rows.map(r => r.median)], plot.box);
}

// linesPlot draws series of figures, both axes logarithmic, with labelled lines at the plot's marks.
function linesPlot(plot, width) {
  const { at: xs, marks = [] } = plot, height = Math.min(Math.max(width * .55, 260), 420);
  const all = plot.series.flatMap(s => s.values.concat(s.low, s.high));
  const draw = u => {
    const { ctx } = u, ratio = devicePixelRatio, labels = [];
    ctx.save();
    ctx.font = `${12 * ratio}px system-ui, sans-serif`;
    marks.forEach((m, i) => {
      const x = u.valToPos(m.at, "x", true);
      ctx.strokeStyle = color("soft");
      ctx.lineWidth = ratio;
      ctx.setLineDash([4 * ratio, 4 * ratio]);
      line(ctx, x, u.bbox.top, x, u.bbox.top + u.bbox.height);
      labels.push([m.label.split(":")[0], x + 3 * ratio, u.bbox.top + (12 + 15 * (i % 4)) * ratio]);
    });
    ctx.setLineDash([]);
    plot.series.forEach((s, k) => {
      ctx.fillStyle = ctx.strokeStyle = color(looks[k % 2].color);
      ctx.lineWidth = 1.5 * ratio;
      s.values.forEach((v, i) => {
        const x = u.valToPos(xs[i], "x", true);
        line(ctx, x, u.valToPos(s.low[i], "y", true), x, u.valToPos(s.high[i], "y", true));
        dot(ctx, x, u.valToPos(v, "y", true), 3.5 * ratio, looks[k % 2].square);
      });
    });
    ctx.textAlign = "left"; // uPlot leaves another value
    for (const [text, x, y] of labels) { // over the lines, each on a patch of paper
      const at = Math.max(u.bbox.left, Math.min(x, u.bbox.left + u.bbox.width - ctx.measureText(text).width));
      ctx.fillStyle = color("paper");
      ctx.fillRect(at, y - 11 * ratio, ctx.measureText(text).width, 14 * ratio);
      ctx.fillStyle = color("ink");
      ctx.fillText(text, at, y);
    }
    ctx.restore();
  };
  return new uPlot({
    width, height,
    scales: {
      x: { time: false, distr: 3, range: span(xs.concat(marks.map(m => m.at))) },
      y: { distr: 3, range: span(all) },
    },
    axes: [axis({ label: plot.x, ...logarithmic }), axis({ label: plot.y, ...logarithmic })],
    series: [{}].concat(plot.series.map((s, k) => ({
      stroke: color(looks[k % 2].color), width: 1.5, dash: looks[k % 2].dash, points: { show: false },
    }))),
    ...walked(plot, draw, { x: true, y: false }),
  }, [xs].concat(plot.series.map(s => s.values)), plot.box);
}

// say says, below the plot and to a screen reader, what is at a place of it.
function say(plot, at) {
  const head = plot.table.tHead.rows[0].cells, [place, ...cells] = plot.table.tBodies[0].rows[at].cells;
  const unit = plot.kind === "lines" ? " " + plot.x : "";
  const figures = cells.map((cell, i) => head[i + 1].textContent + " " + cell.textContent).filter(f => !f.endsWith("–"));
  plot.said.textContent = place.textContent + unit + ": " + figures.join(", ");
  plot.slider.value = at;
  plot.slider.setAttribute("aria-valuetext", plot.said.textContent);
}

// follow moves the cursor of the plot to where the slider is.
function follow(plot) {
  const at = Number(plot.slider.value);
  if (plot.kind === "rows") plot.drawn.setCursor({ left: 10, top: plot.drawn.valToPos(at, "x") }, false);
  else plot.drawn.setCursor({ left: plot.drawn.valToPos(plot.at[at], "x"), top: 10 }, false);
  say(plot, at);
}

function draw(plot) {
  plot.drawn?.destroy();
  plot.width = plot.box.clientWidth;
  plot.drawn = (plot.kind === "rows" ? rowsPlot : linesPlot)(plot, Math.max(plot.width, 200));
}

document.documentElement.classList.add("script");
for (const plot of plots) {
  plot.slider.max = plot.table.tBodies[0].rows.length - 1;
  plot.slider.addEventListener("input", () => follow(plot));
  draw(plot);
  say(plot, 0);
  new ResizeObserver(() => { if (plot.box.clientWidth !== plot.width) draw(plot); }).observe(plot.box);
}
for (const media of ["(prefers-color-scheme: dark)", "print"])
  matchMedia(media).addEventListener("change", () => plots.forEach(draw));
