// The samples of the last hour, one a second, in the API's form: columns of the same
// length, in which null is unknown. A gap in the samples, for example while the server
// was down, becomes a row of nulls, so that lines have gaps there.

const keptMillis = 3600_000;
const gapMillis = 2500;

export const columns = ["allowed", "denied", "shadow_denied", "evicted", "refused_for_memory", "p50_us", "p99_us", "keys", "memory_bytes", "connections"];

export class History {
  constructor() {
    this.clear();
  }

  clear() {
    this.time_ms = [];
    for (const name of columns) this[name] = [];
  }

  /** The time of the last sample, 0 if there is none. */
  get last() {
    return this.time_ms.at(-1) ?? 0;
  }

  /** Adds the samples that are later than the last. */
  add(samples) {
    samples.time_ms.forEach((time, i) => {
      if (time <= this.last) return;
      if (this.last > 0 && time - this.last > gapMillis) this.#push(this.last + 1000, () => null);
      this.#push(time, (name) => samples[name][i] ?? null);
    });
    const old = this.#indexOf(this.last - keptMillis);
    for (const name of ["time_ms", ...columns]) this[name].splice(0, old);
  }

  /** The columns of a span of milliseconds up to the last sample. */
  since(spanMillis) {
    const from = Math.max(0, this.#indexOf(this.last - spanMillis) - 1);
    const part = { time_ms: this.time_ms.slice(from) };
    for (const name of columns) part[name] = this[name].slice(from);
    return part;
  }

  /** The sum of a column of numbers per second over a span up to the last sample. */
  sum(column, spanMillis) {
    return this[column].slice(this.#indexOf(this.last - spanMillis + 1)).reduce((all, n) => all + (n ?? 0), 0);
  }

  #push(time, valueOf) {
    this.time_ms.push(time);
    for (const name of columns) this[name].push(valueOf(name));
  }

  /** The index of the first sample that is not before a time. */
  #indexOf(time) {
    let low = 0;
    let high = this.time_ms.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.time_ms[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
