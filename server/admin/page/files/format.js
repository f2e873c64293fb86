// Formats numbers, times and limits.

import { algorithms } from "./algorithms.js";

const second = 1e9;
const units = [
  ["second", second],
  ["minute", 60 * second],
  ["hour", 3600 * second],
  ["day", 86400 * second],
];

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const fine = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** A count in full: 12,345. */
export const count = (n) => whole.format(n);

/** A short count: 12.3K. */
export const compact = (n) => (Math.abs(n) < 1000 ? fine.format(n) : short.format(n));

/** Bytes in the units of the options: 1 MB is 1024 KB. */
export function bytes(n) {
  let size = n;
  for (const unit of ["B", "KB", "MB", "GB"]) {
    if (size < 1000) return `${size < 100 ? fine.format(size) : whole.format(size)} ${unit}`;
    size /= 1024;
  }
  return `${fine.format(size)} TB`;
}

/** A part of a whole in percent; a positive part is never shown as 0 %. */
export function percent(part, all) {
  if (all === 0 || part === 0) return "0 %";
  const share = (100 * part) / all;
  if (share < 0.1) return "< 0.1 %";
  if (share > 99.9 && part < all) return "> 99.9 %";
  return `${share < 10 ? share.toFixed(1) : whole.format(share)} %`;
}

/** Microseconds: 85 µs, 1.2 ms. */
export function micros(n) {
  if (n < 1000) return `${fine.format(n)} µs`;
  if (n < 1e6) return `${fine.format(n / 1e3)} ms`;
  return `${fine.format(n / 1e6)} s`;
}

/** Milliseconds of a countdown, in at most two units: 0.3 s, 12.4 s, 3 min 20 s, 2 d 4 h. */
export function left(millis) {
  if (millis < 60_000) return `${(Math.ceil(millis / 100) / 10).toFixed(1)} s`;
  return span(Math.ceil(millis / 1000));
}

/** Seconds in at most two units: 45 s, 3 min 20 s, 2 d 4 h. */
export function span(seconds) {
  const parts = [];
  let rest = Math.floor(seconds);
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]]) {
    const n = Math.floor(rest / size);
    rest -= n * size;
    if (n > 0) parts.push(`${n} ${unit}`);
    else if (parts.length > 0) break;
  }
  return parts.slice(0, 2).join(" ") || "0 s";
}

/** Nanoseconds, exact: 1 minute, 90 seconds, 1.5 ms. */
export function length(nanos) {
  for (const [name, size] of units.toReversed()) {
    if (nanos % size === 0) return `${count(nanos / size)} ${name}${nanos === size ? "" : "s"}`;
  }
  if (nanos > second) return `${nanos / second} seconds`;
  return `${nanos / 1e6} ms`;
}

/** A rate in the shortest unit in which it is an integer: 5 per second, 100 per minute. */
export function rate({ count: n, period_ns: period }) {
  for (const [name, size] of units) {
    const each = (n * size) / period;
    if (Number.isInteger(each)) return `${count(each)} per ${name}`;
  }
  return `${count(n)} per ${length(period)}`;
}

const tokens = (n) => `${count(n)} ${n === 1 ? "token" : "tokens"}`;

/** The parts of a key's limit, by their names in the forms of algorithms.js. */
const parts = {
  limit: (k) => count(k.limit),
  tokens: (k) => tokens(k.limit),
  denials: (k) => `${count(k.limit)} ${k.limit === 1 ? "denial" : "denials"}`,
  rate: (k) => rate(k.rate),
  window: (k) => length(k.window_ns),
  period: (k) => (k.calendar ? `calendar ${k.calendar} (UTC)` : `window of ${length(k.window_ns)}`),
};

/** The description of an algorithm. */
export const algorithm = (name) => algorithms[name]?.title ?? name.toLowerCase();

/** The description of a key's parameters, as the API returns them. */
export const limit = (key) => key.blocked ? "blocked by RL.BLOCK or on this page" : (algorithms[key.algorithm]?.form ?? "{tokens}").replace(/{(\w+)}/g, (_, part) => parts[part](key));

/** A local time of day: 18:03:09. */
export const clock = (millis) => new Date(millis).toTimeString().slice(0, 8);

const day = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" });

/** The local time after some milliseconds, with the day unless it is today: 18:03:09, Nov 28, 2026 18:03:09. */
export function until(left, now = Date.now()) {
  const at = now + left;
  return day.format(at) === day.format(now) ? clock(at) : `${day.format(at)} ${clock(at)}`;
}
