// The charts: lines over time, drawn by uPlot, each with a legend of numbers that follows
// the pointer, or the arrow keys, on all charts at once.

import { element, setText } from "./dom.js";
import * as format from "./format.js";

const uPlot = window.uPlot;
const sync = "time";
const axisFont = "11px system-ui, sans-serif";

/** The bound of memory is drawn from this share of it on. */
const boundShownFrom = 0.25;

/**
 * The specification of each chart. A line has a column of the history, a color (a CSS
 * variable), and a mark that does not depend on color: a hatched area, dashes. Lines that are
 * stacked lie above each other: the last line is the sum of all. It is drawn first.
 */
const charts = [
  {
    title: "Requests per second", wide: true, stacked: true, least: 10, value: format.count, axis: format.compact,
    lines: [
      { name: "allowed", column: "allowed", color: "--allowed", area: "plain" },
      { name: "denied", column: "denied", color: "--denied", area: "hatched", part: ["denied", "allowed"] },
    ],
  },
  {
    title: "Latency", log: true, value: format.micros, axis: format.micros,
    lines: [
      { name: "p99", column: "p99_us", color: "--allowed" },
      { name: "p50", column: "p50_us", color: "--second", dash: [5, 4] },
    ],
  },
  {
    title: "Keys", least: 10, value: format.count, axis: format.compact,
    lines: [{ name: "held", column: "keys", color: "--allowed", area: "plain" }],
  },
  {
    title: "Memory", least: 1 << 20, value: format.bytes, axis: format.bytes, powersOfTwo: true,
    lines: [
      { name: "used", column: "memory_bytes", color: "--allowed", area: "plain" },
      { name: "bound", column: "bound", color: "--text", dash: [2, 4], constant: true },
    ],
  },
  {
    title: "Connections", least: 10, value: format.count, axis: format.compact,
    lines: [{ name: "open", column: "connections", color: "--allowed", area: "plain" }],
  },
];

/** The charts in an element; show draws a part of a history. */
export class Charts {
  #charts;

  constructor(where) {
    this.#charts = charts.map((spec) => new Chart(spec, where));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      for (const chart of this.#charts) chart.redraw();
    });
  }

  /**
   * Draws samples over a span that ends with the last; bound is the bound of memory, 0
   * for none.
   */
  show(samples, spanMillis, bound) {
    const most = samples.memory_bytes.reduce((a, b) => Math.max(a, b ?? 0), 0);
    const shown = bound > 0 && most >= bound * boundShownFrom ? bound : null;
    const all = { ...samples, bound: samples.time_ms.map(() => shown) };
    for (const chart of this.#charts) chart.show(all, spanMillis);
  }

  /** Shows a text beside the title of a chart; its kind is "warn" or empty. */
  note(title, text, kind = "") {
    const { noted } = this.#charts.find((chart) => chart.title === title);
    setText(noted, text);
    noted.className = `note ${kind}`;
  }
}

class Chart {
  #spec;
  #plot;
  #area;
  #values = new Map(); // legend values, by line
  #time;
  #spanMillis = 0;
  #samples = null; // the columns that the legend shows

  constructor(spec, where) {
    this.#spec = spec;
    this.title = spec.title;
    this.noted = element("span", { class: "note" });
    this.#time = element("span", { class: "at" });
    const legend = element("dl", { class: "legend" });
    for (const line of spec.lines) {
      if (line.constant) continue;
      const value = element("dd", { "data-column": line.column });
      this.#values.set(line, value);
      legend.append(element("div", {}, element("dt", {}, element("i", { class: `mark ${markOf(line)}` }), line.name), value));
    }
    this.#area = element("div", {
      class: "plot", tabindex: "0", role: "slider", "aria-label": `${spec.title}, over time`,
      "aria-valuemin": "0", "aria-valuemax": "0", "aria-valuenow": "0", "aria-valuetext": "now",
    });
    where.append(element("figure", { class: spec.wide ? "panel chart wide" : "panel chart" },
      element("figcaption", {}, element("h3", {}, spec.title), this.noted, this.#time, legend), this.#area));
    this.#plot = new uPlot(this.#options(), [[], ...spec.lines.map(() => [])], this.#area);
    this.#area.addEventListener("keydown", (event) => this.#onKey(event));
    this.#area.addEventListener("blur", () => this.#point(null));
    new ResizeObserver(() => this.#resize()).observe(this.#area);
  }

  show(samples, spanMillis) {
    this.#spanMillis = spanMillis;
    this.#samples = samples;
    const { log, stacked } = this.#spec;
    const data = this.#spec.lines.map((line) =>
      log ? samples[line.column].map((v) => (v === null ? null : Math.max(v, 1))) : samples[line.column]);
    this.#plot.setData([samples.time_ms, ...(stacked ? sums(data).toReversed() : data)]);
    this.#legend();
  }

  redraw() {
    this.#plot.redraw(false, true);
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.#area;
    if (width > 0 && (width !== this.#plot.width || height !== this.#plot.height)) this.#plot.setSize({ width, height });
  }

  /** Updates the legend to the selected sample, or to the last. */
  #legend() {
    const times = this.#plot.data[0];
    const pointed = this.#plot.cursor.idx ?? null;
    const at = pointed === null ? times.length - 1 : Math.min(pointed, times.length - 1);
    setText(this.#time, pointed === null || at < 0 ? "" : format.clock(times[at]));
    for (const line of this.#spec.lines) {
      if (line.constant) continue;
      const value = this.#samples?.[line.column][at] ?? null;
      let text = value === null ? "–" : this.#spec.value(value);
      if (line.part && value !== null) {
        const sum = line.part.reduce((all, column) => all + this.#samples[column][at], 0);
        text += ` · ${format.percent(value, sum)}`;
      }
      setText(this.#values.get(line), text);
    }
  }

  /** The arrow keys, Home and End select a sample, Escape none. */
  #onKey(event) {
    const times = this.#plot.data[0];
    const last = times.length - 1;
    if (last < 0) return;
    const first = Math.max(0, times.findIndex((t) => t >= times[last] - this.#spanMillis));
    const at = this.#plot.cursor.idx ?? last;
    const to = {
      ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1,
      PageDown: at - 10, PageUp: at + 10, Home: first, End: last, Escape: null,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.#point(to === null ? null : Math.min(Math.max(to, first), last));
  }

  /** Selects a sample, or none, on all charts through the shared cursor. */
  #point(at) {
    const plot = this.#plot;
    if (at === null) {
      plot.setCursor({ left: -10, top: -10 }, true, true);
      this.#announce("now", 0, 0);
      return;
    }
    plot.setCursor({ left: plot.valToPos(plot.data[0][at], "x"), top: 1 }, true, true);
    const numbers = [...this.#values].map(([line, value]) => `${line.name} ${value.textContent}`);
    this.#announce(`${format.clock(plot.data[0][at])}: ${numbers.join(", ")}`, at, plot.data[0].length - 1);
  }

  #announce(text, at, most) {
    this.#area.setAttribute("aria-valuemax", most);
    this.#area.setAttribute("aria-valuenow", at);
    this.#area.setAttribute("aria-valuetext", text);
  }

  #options() {
    const { least, log, axis, powersOfTwo, stacked } = this.#spec;
    const lines = stacked ? this.#spec.lines.toReversed() : this.#spec.lines;
    return {
      width: 320, height: 150, ms: 1, padding: [8, 16, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, sync: { key: sync }, points: { size: 7 } },
      scales: {
        x: { time: true, range: (_, min, max) => (max === null ? [0, 1] : [max - (this.#spanMillis || 1), max]) },
        y: log ? { distr: 3, log: 10, range: rangeOfLog } : { range: (_, min, max) => [0, Math.max(least, (max ?? 0) * 1.08)] },
      },
      axes: [
        { ...axisStyle(), size: 24, gap: 4, space: 70, grid: { show: false },
          values: (_, splits) => splits.map((t) => format.clock(t).slice(0, 5)), incrs: [60_000, 120_000, 300_000, 600_000, 1_200_000, 1_800_000] },
        { ...axisStyle(), size: 58, gap: 6, space: 34,
          ...(powersOfTwo ? { incrs: Array.from({ length: 50 }, (_, i) => 2 ** i) } : {}),
          ...(log ? { filter: decades, grid: { ...axisStyle().grid, filter: decades } } : {}),
          values: (_, splits) => splits.map((v) => (v === null ? null : axis(v))) },
      ],
      series: [{}, ...lines.map((line) => ({
        stroke: () => colorOf(line.color), width: 1.6, dash: line.dash, points: { show: false, filter: isolated },
        fill: line.area ? (plot) => fillOf(plot, line) : undefined,
      }))],
      bands: stacked ? lines.slice(1).map((_, i) => ({ series: [i + 1, i + 2] })) : [],
      hooks: { setCursor: [() => this.#plot && this.#legend()] },
    };
  }
}

/** Columns of numbers, each with the columns before it added; null if one of them is null. */
export function sums(columns) {
  const add = (a, b) => (a === null || b === null ? null : a + b);
  return columns.map((_, i) => columns[i].map((_, at) => columns.slice(0, i + 1).reduce((all, column) => add(all, column[at]), 0)));
}

const markOf = (line) => `${line.color.slice(2)} ${line.area === "hatched" ? "hatched" : line.dash ? "dashed" : "full"}`;

const colorOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function axisStyle() {
  return {
    stroke: () => colorOf("--muted"), font: axisFont, ticks: { show: false },
    grid: { stroke: () => colorOf("--grid"), width: 1 },
  };
}

/** Whole decades around the values. */
function rangeOfLog(_, min, max) {
  if (min === null) return [10, 10_000];
  const low = 10 ** Math.floor(Math.log10(min));
  return [low, Math.max(10 ** Math.ceil(Math.log10(max * 1.001)), low * 100)];
}

const decades = (_, splits) => splits.map((v) => (Number.isInteger(Math.round(1e6 * Math.log10(v)) / 1e6) ? v : null));

/** The points to draw: values without neighbors, which no line would show. */
export function isolated(plot, series) {
  const values = plot.data[series];
  return [...values.keys()].filter((i) => values[i] !== null && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null);
}

/** The fill of the area below a line: a pale color, or hatches. */
function fillOf(plot, line) {
  const color = colorOf(line.color);
  if (line.area === "plain") return `color-mix(in srgb, ${color} 14%, transparent)`;
  const size = 6 * devicePixelRatio;
  const tile = new OffscreenCanvas(size, size);
  const draw = tile.getContext("2d");
  draw.strokeStyle = color;
  draw.lineWidth = 1.3 * devicePixelRatio;
  for (const shift of [-size, 0, size]) {
    draw.moveTo(shift, size);
    draw.lineTo(shift + size, 0);
  }
  draw.stroke();
  return plot.ctx.createPattern(tile, "repeat");
}
