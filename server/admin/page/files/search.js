// The search for keys by prefix, in requests to the API, until a page of results is full,
// all keys were searched, or another search begins.

import * as api from "./api.js";
import { byID, element, setText } from "./dom.js";
import { shown } from "./keys.js";
import { firstRows, keyActions, keyButton, onKeyChoice } from "./widgets.js";
import * as format from "./format.js";

/** The bound of requests for a page of results. */
const maxRequests = 200;

export class Search {
  #message = byID("search-said");
  #list = byID("search-list");
  #more = byID("search-more");
  #prefix = "";
  #cursor = "0";
  #searched = 0;
  #search = 0; // identifies the current search
  #keyCount = () => 0;

  /** onChoice is called with the raw name of a chosen key; all returns the number of keys. */
  constructor(onChoice, onLoggedOut, all) {
    this.#keyCount = all;
    this.onLoggedOut = onLoggedOut;
    onKeyChoice(this.#list, (raw) => onChoice(raw));
    this.#more.addEventListener("click", () => this.#step());
  }

  /** Searches from the start. prefix is base64url. */
  begin(prefix) {
    this.clear();
    this.#prefix = prefix;
    return this.#step();
  }

  /** Clears the results, and cancels a running search. */
  clear() {
    this.#search++;
    this.#cursor = "0";
    this.#searched = 0;
    this.#list.replaceChildren();
    this.#more.hidden = true;
    setText(this.#message, "");
  }

  async #step() {
    const search = ++this.#search;
    const before = this.#list.children.length;
    this.#more.hidden = true;
    try {
      for (let requests = 0; requests < maxRequests; requests++) {
        setText(this.#message, `Searching… ${format.count(this.#searched)} of about ${format.count(this.#keyCount())} keys`);
        const { keys, searched, cursor } = await api.keys(this.#prefix, this.#cursor, firstRows);
        if (search !== this.#search) return;
        this.#list.append(...keys.map(rowOf));
        this.#searched += searched;
        this.#cursor = cursor;
        if (cursor === "0" || this.#list.children.length >= before + firstRows) break;
      }
      this.#end();
    } catch (error) {
      if (search !== this.#search) return;
      if (error.status === 401) this.onLoggedOut();
      else setText(this.#message, `Not searched: ${error.message}`);
    }
  }

  #end() {
    const found = this.#list.children.length;
    const name = this.#prefix === "" ? "" : ` ${found === 1 ? "starts" : "start"} with “${shown(this.#prefix)}”`;
    const done = this.#cursor === "0";
    this.#more.hidden = done;
    if (!done) setText(this.#message, `${format.count(found)} ${found === 1 ? "key" : "keys"}${name} so far, ${format.count(this.#searched)} keys searched.`);
    else if (found > 0) setText(this.#message, `${format.count(found)} ${found === 1 ? "key" : "keys"}${name}.`);
    else if (this.#prefix === "") setText(this.#message, "There are no keys.");
    else setText(this.#message, `No key starts with “${shown(this.#prefix)}”. Fully reset keys are not stored.`);
  }
}

const rowOf = ({ raw, algorithm }) =>
  element("li", {}, keyButton(raw), element("span", { class: "faint" }, format.algorithm(algorithm)), keyActions(raw));
