// The state of one key, typed, chosen or found, with times that count down.
//
// The remaining tokens and the times come from one reply. When a time has counted down to
// zero, the key is requested again and its new state is shown.

import * as api from "./api.js";
import { byID, element, setText } from "./dom.js";
import { databaseTag, parse, rawOf, shown } from "./keys.js";
import { Search } from "./search.js";
import { keyActions, keyText } from "./widgets.js";
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
  #message = byID("lookup-said");
  #result = byID("lookup-result");
  #input = byID("lookup-key");
  #view = null;

  /** onLoggedOut is called if a login is required; keys returns the number of keys. */
  constructor(onLoggedOut, keys) {
    this.search = new Search((raw) => this.find(raw), onLoggedOut, keys);
    this.onLoggedOut = onLoggedOut;
    byID("lookup-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.find(rawOf(parse(this.#input.value)));
    });
    byID("search-submit").addEventListener("click", () => {
      this.#clearKey();
      this.search.begin(rawOf(parse(this.#input.value)));
    });
    const slow = matchMedia("(prefers-reduced-motion: reduce)").matches;
    setInterval(() => this.#countDown(), slow ? slowStepMillis : stepMillis);
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
    const { title, limit, use, meter, bar, next, actions } = this.#view;
    const key = this.#key;
    title.replaceChildren(keyText(shown(this.#raw)), databaseTag(this.#db));
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
    this.#showActions(actions, key);
    this.#result.hidden = false;
    this.#countDown();
  }

  #build() {
    const view = {
      title: element("span", { class: "key", tabindex: "-1", id: "found-key" }),
      limit: element("p", { id: "found-limit" }),
      use: element("span", { id: "found-use" }),
      bar: element("i"),
      next: element("dt"),
      wait: element("dd", { id: "found-wait" }),
      reset: element("dd", { id: "found-reset" }),
      actions: element("span"),
      copy: element("button", { type: "button", id: "found-copy", class: "small" }, "Copy key"),
    };
    view.meter = element("div", { class: "meter" }, view.bar);
    view.times = element("dl", { class: "times" },
      element("div", {}, view.next, view.wait), element("div", {}, element("dt", {}, "Fully reset"), view.reset));
    view.copy.addEventListener("click", () => this.#copy());
    this.#result.replaceChildren(element("h4", {}, view.title), view.limit, element("p", { class: "use" }, view.use), view.meter, view.times,
      element("p", { class: "buttons" }, view.copy, view.actions));
    return view;
  }

  /** Shows the buttons that change the key, unless they are shown. */
  #showActions(where, key) {
    const blocked = isBlocked(key);
    if (where.dataset.blocked !== String(blocked)) {
      where.dataset.blocked = blocked;
      where.replaceChildren(keyActions(this.#raw, this.#db, blocked));
    }
    const reset = where.querySelector("[data-action=reset]");
    if (reset) reset.disabled = key === null;
  }

  /** Copies the displayed text of the key, or else selects it. */
  async #copy() {
    const { copy, title } = this.#view;
    try {
      await navigator.clipboard.writeText(shown(this.#raw));
      setText(copy, "Copied");
    } catch { // browsers forbid it without TLS
      getSelection().selectAllChildren(title);
      setText(copy, document.execCommand("copy") ? "Copied" : "Selected");
    }
    setTimeout(() => setText(copy, "Copy key"), 2000);
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

  /** Requests the key again if it has changed. */
  async changed(raw, db) {
    if (raw === this.#raw && db === this.#db) await this.refresh();
  }
}

const nexts = { LEASE: "Next lease", PENALTY: "Block ends" };

const isBlocked = (key) => key?.algorithm === "PENALTY" && key.remaining === 0;

function useOf(key) {
  const { algorithm, remaining, limit, level, wait_ms: wait } = key;
  if (algorithm !== "PENALTY") return `${format.count(remaining)} of ${format.count(limit)} remaining`;
  if (!isBlocked(key)) return `not blocked, until ${format.count(remaining)} more ${remaining === 1 ? "denial" : "denials"}`;
  return `blocked until ${format.until(wait)}${level > 1 ? `, level ${format.count(level)}` : ""}`;
}

const capitalized = (text) => text[0].toUpperCase() + text.slice(1);
