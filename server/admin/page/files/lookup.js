// One key: typed, chosen or searched for, shown with its times counting down, and
// reset by users who may.
//
// Its remaining tokens and its times come from one answer. A time that has counted down
// to zero is not shown as reached: the key is asked for again, and shown by the answer.

import * as api from "./api.js";
import { byID, element, say } from "./dom.js";
import { parse, rawOf, shown } from "./keys.js";
import { Search } from "./search.js";
import * as format from "./format.js";

/** How often times count down: as often as their last digit changes, or calmly. */
const stepMillis = 100;
const calmStepMillis = 1000;
/** The least time between questions about a key, beside the rounds of the page. */
const leastAskMillis = 500;
const unknownKey = "No record of this key: it was never used, or it is fully reset and has its whole limit. "
  + "Keys are compared byte by byte, so upper and lower case differ. Search prefix lists the keys that start with this text.";

export class Lookup {
  #raw = null; // of the key that is shown
  #key = null; // as the API has it, null if it is fully reset
  #answeredAt = 0; // performance.now of the answer
  #askedAt = 0; // performance.now of the last question
  #asking = 0; // questions without an answer yet
  #mayReset = false;
  #said = byID("lookup-said");
  #result = byID("lookup-result");
  #input = byID("lookup-key");
  #dialog = byID("reset");
  #view = null;

  /** onLoggedOut is called if a login is needed, onForbidden if a right is missing; keys gives the number of keys. */
  constructor(onLoggedOut, onForbidden, keys) {
    this.search = new Search((raw) => this.find(raw), onLoggedOut, keys);
    this.onLoggedOut = onLoggedOut;
    this.onForbidden = onForbidden;
    byID("lookup-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.find(rawOf(parse(this.#input.value)));
    });
    byID("search-submit").addEventListener("click", () => {
      this.#forget();
      this.search.begin(rawOf(parse(this.#input.value)));
    });
    this.#dialog.addEventListener("submit", (event) => {
      if (event.submitter?.value === "reset") this.#reset();
    });
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    setInterval(() => this.#count(), calm ? calmStepMillis : stepMillis);
  }

  /** Says whether the user may reset keys. */
  allow(mayReset) {
    if (mayReset === this.#mayReset) return;
    this.#mayReset = mayReset;
    if (!mayReset && this.#dialog.open) this.#dialog.close();
    if (this.#view === null) return;
    this.#view = null;
    this.#show();
  }

  /** Forgets the key, the keys that were found, and the text of the input. */
  clear() {
    this.#forget();
    this.search.clear();
    this.#input.value = "";
  }

  #forget() {
    this.#raw = this.#key = this.#view = null;
    this.#result.hidden = true;
    say(this.#said, "");
    if (this.#dialog.open) this.#dialog.close();
  }

  /** Looks a key up that somebody chose, and moves the focus there. */
  async find(raw) {
    this.#raw = raw;
    this.#view = null;
    const name = (this.#input.value = shown(raw));
    say(this.#said, "");
    if (!(await this.refresh())) return;
    if (this.#key === null) say(this.#said, unknownKey);
    if (this.#input.value !== name) return; // somebody types the next
    this.#view?.title.focus({ preventScroll: true });
    byID("lookup").scrollIntoView({ block: "nearest" });
  }

  /** Asks for the state of the key that is shown; returns whether there was an answer about it. */
  async refresh() {
    const raw = this.#raw;
    if (raw === null) return false;
    this.#askedAt = performance.now();
    this.#asking++;
    let key;
    try {
      key = await api.key(raw);
    } catch (error) {
      if (raw !== this.#raw) return false;
      if (error.status === 401) {
        this.onLoggedOut();
        return false;
      }
      say(this.#said, error.message);
      return false;
    } finally {
      this.#asking--;
    }
    if (raw !== this.#raw) return false;
    this.#key = key.found ? key : null;
    this.#answeredAt = performance.now();
    this.#show();
    return true;
  }

  #show() {
    this.#view ??= this.#build();
    const { title, limit, use, meter, bar, next, resetButton } = this.#view;
    const key = this.#key;
    say(title, shown(this.#raw));
    if (key === null) {
      say(limit, "fully reset, or never used");
      say(use, "");
    } else {
      say(limit, `${sentence(format.algorithm(key.algorithm))}: ${format.limit(key)}`);
      say(use, `${format.count(key.remaining)} of ${format.count(key.limit)} remaining`);
      say(next, key.algorithm === "LEASE" ? "Next lease" : "Next token");
      bar.style.setProperty("--part", `${Math.min(100, (100 * key.remaining) / key.limit)}%`);
    }
    meter.hidden = key === null;
    if (resetButton) resetButton.disabled = key === null;
    this.#result.hidden = false;
    this.#count();
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
      view.resetButton.addEventListener("click", () => this.#ask());
      all.push(view.resetButton);
    }
    this.#result.replaceChildren(...all);
    return view;
  }

  /** Counts the times of the last answer down. */
  #count() {
    if (this.#view === null) return;
    const { wait, reset, times } = this.#view;
    times.hidden = this.#key === null;
    if (this.#key === null) return;
    const { algorithm, remaining, wait_ms, reset_ms } = this.#key;
    const since = performance.now() - this.#answeredAt;
    const waits = wait_ms < 0 ? Infinity : Math.max(0, wait_ms - since);
    const rests = Math.max(0, reset_ms - since);
    if (remaining > 0) say(wait, algorithm === "LEAKY" && waits > 0 ? `now, held for ${format.left(waits)}` : "now");
    else say(wait, waits === Infinity ? "never" : waits > 0 ? `in ${format.left(waits)}` : "in a moment");
    wait.className = remaining > 0 ? "good" : "error";
    say(reset, rests > 0 ? `in ${format.left(rests)}` : "in a moment");
    const isOver = rests === 0 || remaining === 0 && waits === 0;
    if (isOver && this.#asking === 0 && !document.hidden && performance.now() - this.#askedAt >= leastAskMillis) this.refresh();
  }

  #ask() {
    say(byID("reset-key"), shown(this.#raw));
    this.#dialog.showModal();
  }

  async #reset() {
    const raw = this.#raw;
    const name = shown(raw);
    try {
      const { forgotten } = await api.reset(raw);
      say(this.#said, forgotten > 0 ? `Reset: ${name}` : `There was nothing to reset: ${name}`);
    } catch (error) {
      if (error.status === 401) this.onLoggedOut();
      else say(this.#said, `Not reset: ${error.message}`);
      if (error.status === 403) this.onForbidden();
      return;
    }
    if (raw === this.#raw) await this.refresh();
    this.#view?.title.focus({ preventScroll: true });
  }
}

const sentence = (text) => text[0].toUpperCase() + text.slice(1);
