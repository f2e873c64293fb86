// The state of one key, typed, chosen or found, with times that count down, and its reset
// for users who have the right.
//
// The remaining tokens and the times come from one reply. When a time has counted down to
// zero, the key is requested again and its new state is shown.

import * as api from "./api.js";
import { byID, element, setText } from "./dom.js";
import { databaseTag, parse, rawOf, shown } from "./keys.js";
import { Search } from "./search.js";
import * as format from "./format.js";

/** Intervals of the countdown: the last digit's, or slower for reduced motion. */
const stepMillis = 100;
const slowStepMillis = 1000;
/** The shortest time between two requests about a key, besides the polls of the page. */
const minRefreshMillis = 500;
const unknownKey = "No record of this key: it was never used, or it is fully reset and has its whole limit. "
  + "Keys are compared byte by byte, so upper and lower case differ. Search prefix lists the keys that start with this text.";

export class Lookup {
  #raw = null; // of the displayed key
  #db = 0;
  #key = null; // the API's reply, null if the key is fully reset
  #repliedAt = 0; // performance.now of the reply
  #requestedAt = 0; // performance.now of the last request
  #pending = 0; // requests without a reply yet
  #mayReset = false;
  #message = byID("lookup-said");
  #result = byID("lookup-result");
  #input = byID("lookup-key");
  #dialog = byID("reset");
  #view = null;

  /**
   * onLoggedOut is called if a login is required, onForbidden if a right is missing; keys
   * returns the number of keys.
   */
  constructor(onLoggedOut, onForbidden, keys) {
    this.search = new Search((raw) => this.find(raw), onLoggedOut, keys);
    this.onLoggedOut = onLoggedOut;
    this.onForbidden = onForbidden;
    byID("lookup-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.find(rawOf(parse(this.#input.value)));
    });
    byID("search-submit").addEventListener("click", () => {
      this.#clearKey();
      this.search.begin(rawOf(parse(this.#input.value)));
    });
    this.#dialog.addEventListener("submit", (event) => {
      if (event.submitter?.value === "reset") this.#reset();
    });
    const slow = matchMedia("(prefers-reduced-motion: reduce)").matches;
    setInterval(() => this.#countDown(), slow ? slowStepMillis : stepMillis);
  }

  /** Sets whether the user may reset keys. */
  setMayReset(mayReset) {
    if (mayReset === this.#mayReset) return;
    this.#mayReset = mayReset;
    if (!mayReset && this.#dialog.open) this.#dialog.close();
    if (this.#view === null) return;
    this.#view = null;
    this.#show();
  }

  /** Clears the key, the search results and the input. */
  clear() {
    this.#clearKey();
    this.search.clear();
    this.#input.value = "";
  }

  #clearKey() {
    this.#raw = this.#key = this.#view = null;
    this.#result.hidden = true;
    setText(this.#message, "");
    if (this.#dialog.open) this.#dialog.close();
  }

  /** Looks up a key in a database and moves the focus to it. */
  async find(raw, db = 0) {
    this.#raw = raw;
    this.#db = db;
    this.#view = null;
    const name = (this.#input.value = shown(raw));
    setText(this.#message, "");
    if (!(await this.refresh())) return;
    if (this.#key === null) setText(this.#message, unknownKey);
    if (this.#input.value !== name) return; // the user is typing the next key
    this.#view?.title.focus({ preventScroll: true });
    byID("lookup").scrollIntoView({ block: "nearest" });
  }

  /** Requests the state of the displayed key; resolves to true if that succeeded. */
  async refresh() {
    const raw = this.#raw;
    const db = this.#db;
    if (raw === null) return false;
    this.#requestedAt = performance.now();
    this.#pending++;
    let key;
    try {
      key = await api.key(raw, db);
    } catch (error) {
      if (raw !== this.#raw || db !== this.#db) return false;
      if (error.status === 401) {
        this.onLoggedOut();
        return false;
      }
      setText(this.#message, error.message);
      return false;
    } finally {
      this.#pending--;
    }
    if (raw !== this.#raw || db !== this.#db) return false;
    this.#key = key.found ? key : null;
    this.#repliedAt = performance.now();
    this.#show();
    return true;
  }

  #show() {
    this.#view ??= this.#build();
    const { title, limit, use, meter, bar, next, resetButton } = this.#view;
    const key = this.#key;
    title.replaceChildren(shown(this.#raw), databaseTag(this.#db));
    if (key === null) {
      setText(limit, "fully reset, or never used");
      setText(use, "");
    } else {
      setText(limit, `${capitalized(format.algorithm(key.algorithm))}: ${format.limit(key)}`);
      setText(use, useOf(key));
      setText(next, nexts[key.algorithm] ?? "Next token");
      bar.style.setProperty("--part", `${Math.min(100, (100 * key.remaining) / key.limit)}%`);
    }
    meter.hidden = key === null;
    if (resetButton) resetButton.disabled = key === null;
    this.#result.hidden = false;
    this.#countDown();
  }

  #build() {
    const view = {
      title: element("bdi", { class: "key", tabindex: "-1", id: "found-key" }),
      limit: element("p", { id: "found-limit" }),
      use: element("span", { id: "found-use" }),
      bar: element("i"),
      next: element("dt"),
      wait: element("dd", { id: "found-wait" }),
      reset: element("dd", { id: "found-reset" }),
      resetButton: null,
    };
    view.meter = element("div", { class: "meter" }, view.bar);
    view.times = element("dl", { class: "times" },
      element("div", {}, view.next, view.wait), element("div", {}, element("dt", {}, "Fully reset"), view.reset));
    const all = [element("h4", {}, view.title), view.limit, element("p", { class: "use" }, view.use), view.meter, view.times];
    if (this.#mayReset) {
      view.resetButton = element("button", { type: "button", id: "reset-open", class: "danger", "aria-haspopup": "dialog" }, "Reset…");
      view.resetButton.addEventListener("click", () => this.#confirmReset());
      all.push(view.resetButton);
    }
    this.#result.replaceChildren(...all);
    return view;
  }

  /** Updates the countdowns. */
  #countDown() {
    if (this.#view === null) return;
    const { wait, reset, times } = this.#view;
    times.hidden = this.#key === null;
    if (this.#key === null) return;
    const { remaining, wait_ms, reset_ms } = this.#key;
    const since = performance.now() - this.#repliedAt;
    const untilNext = wait_ms < 0 ? Infinity : Math.max(0, wait_ms - since);
    const untilReset = Math.max(0, reset_ms - since);
    if (remaining > 0) setText(wait, untilNext > 0 ? `now, held for ${format.left(untilNext)}` : "now");
    else setText(wait, untilNext === Infinity ? "never" : untilNext > 0 ? `in ${format.left(untilNext)}` : "in a moment");
    wait.className = remaining > 0 ? "good" : "error";
    setText(reset, untilReset > 0 ? `in ${format.left(untilReset)}` : "in a moment");
    const isOver = untilReset === 0 || remaining === 0 && untilNext === 0;
    if (isOver && this.#pending === 0 && !document.hidden && performance.now() - this.#requestedAt >= minRefreshMillis) this.refresh();
  }

  #confirmReset() {
    byID("reset-key").replaceChildren(shown(this.#raw), databaseTag(this.#db));
    this.#dialog.showModal();
  }

  async #reset() {
    const raw = this.#raw;
    const db = this.#db;
    const name = shown(raw);
    try {
      const { forgotten } = await api.reset(raw, db);
      setText(this.#message, forgotten > 0 ? `Reset: ${name}` : `Nothing to reset: ${name}`);
    } catch (error) {
      if (error.status === 401) this.onLoggedOut();
      else setText(this.#message, `Not reset: ${error.message}`);
      if (error.status === 403) this.onForbidden();
      return;
    }
    if (raw === this.#raw && db === this.#db) await this.refresh();
    this.#view?.title.focus({ preventScroll: true });
  }
}

const nexts = { LEASE: "Next lease", PENALTY: "Opens" };

function useOf({ algorithm, remaining, limit, level }) {
  if (algorithm !== "PENALTY") return `${format.count(remaining)} of ${format.count(limit)} remaining`;
  return remaining > 0 ? `open, closes after ${format.count(remaining)} more` : `closed, level ${format.count(level)}`;
}

const capitalized = (text) => text[0].toUpperCase() + text.slice(1);
