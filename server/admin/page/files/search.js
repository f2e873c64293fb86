// The search for keys by prefix: in steps of the API, until a list is full, all keys
// were looked at, or another search begins.

import * as api from "./api.js";
import { byID, element, say } from "./dom.js";
import { shown } from "./keys.js";
import * as format from "./format.js";

/** How many keys a list grows by, and how many answers without one end a step. */
const listed = 20;
const patientAnswers = 200;

export class Search {
  #said = byID("search-said");
  #list = byID("search-list");
  #more = byID("search-more");
  #prefix = "";
  #cursor = "0";
  #looked = 0;
  #turn = 0; // of the search that may show something
  #all = () => 0;

  /** A key that is chosen is given to onChoice by its raw name; all gives the number of keys. */
  constructor(onChoice, onLoggedOut, all) {
    this.#all = all;
    this.onLoggedOut = onLoggedOut;
    this.#list.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) onChoice(button.dataset.raw);
    });
    this.#more.addEventListener("click", () => this.#step());
  }

  /** Searches from the start. prefix is base64url. */
  begin(prefix) {
    this.clear();
    this.#prefix = prefix;
    return this.#step();
  }

  /** Forgets the keys that were found, and ends a search that runs. */
  clear() {
    this.#turn++;
    this.#cursor = "0";
    this.#looked = 0;
    this.#list.replaceChildren();
    this.#more.hidden = true;
    say(this.#said, "");
  }

  async #step() {
    const turn = ++this.#turn;
    const before = this.#list.children.length;
    this.#more.hidden = true;
    try {
      for (let asked = 0; asked < patientAnswers; asked++) {
        say(this.#said, `Searching… ${format.count(this.#looked)} of about ${format.count(this.#all())} keys`);
        const { keys, searched, cursor } = await api.keys(this.#prefix, this.#cursor, listed);
        if (turn !== this.#turn) return;
        this.#list.append(...keys.map(rowOf));
        this.#looked += searched;
        this.#cursor = cursor;
        if (cursor === "0" || this.#list.children.length >= before + listed) break;
      }
      this.#end();
    } catch (error) {
      if (turn !== this.#turn) return;
      if (error.status === 401) this.onLoggedOut();
      else say(this.#said, `Not searched: ${error.message}`);
    }
  }

  #end() {
    const found = this.#list.children.length;
    const name = this.#prefix === "" ? "" : ` ${found === 1 ? "starts" : "start"} with “${shown(this.#prefix)}”`;
    const done = this.#cursor === "0";
    this.#more.hidden = done;
    if (!done) say(this.#said, `${format.count(found)} ${found === 1 ? "key" : "keys"}${name} so far, ${format.count(this.#looked)} keys searched.`);
    else if (found > 0) say(this.#said, `${format.count(found)} ${found === 1 ? "key" : "keys"}${name}.`);
    else if (this.#prefix === "") say(this.#said, "There are no keys.");
    else say(this.#said, `No key starts with “${shown(this.#prefix)}”. Fully reset keys are not stored.`);
  }
}

function rowOf({ raw, algorithm }) {
  const name = shown(raw);
  const button = element("button", { type: "button", class: "key", title: name.length > 40 ? name : null }, element("bdi", {}, name));
  button.dataset.raw = raw;
  return element("li", {}, button, element("span", { class: "faint" }, format.algorithm(algorithm)));
}
