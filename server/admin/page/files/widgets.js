// Parts of which the page is made: names of keys, buttons that change keys, tables, and lists that
// show ten rows until the user asks for more.

import { element, setText } from "./dom.js";
import { databaseTag, shown } from "./keys.js";

/** The number of rows of a list before it is extended. */
export const firstRows = 10;

/** Names up to this length stay whole; the end of a longer name, of tailLength, is always shown. */
const wholeLength = 12;
const tailLength = 9;

/**
 * The displayed text of a key. A long text is cut in the middle, as far as its place is too narrow; its
 * title is the whole text, and copying copies the whole text.
 */
export function keyText(text) {
  const characters = Array.from(text === "" ? "(empty)" : text);
  if (characters.length <= wholeLength) return element("bdi", { class: "cut" }, characters.join(""));
  const tail = characters.splice(-tailLength).join("");
  const wide = /[^\x20-\x7e]/.test(tail);
  return element("bdi", { class: wide ? "cut wide" : "cut", title: text },
    element("span", { class: "head" }, characters.join("")), element("span", { class: "tail" }, tail));
}

/** A button with the name of a key, which chooses the key. */
export function keyButton(raw, db = 0) {
  const button = element("button", { type: "button", class: "key", "data-choose": true });
  Object.assign(button.dataset, { raw, db });
  button.append(keyText(shown(raw)), databaseTag(db));
  return button;
}

/** Whether a key is a penalty box of rules. RL.BLOCK blocks the keys of limits only. */
const isBox = (name) => name.startsWith("rule:") && name.endsWith("#penalty");

/** Buttons that change a key: reset, and block unless it is a penalty box; or "unblock" alone. */
export function keyActions(raw, db = 0, blocked = false) {
  const name = shown(raw);
  const button = (action, text) => {
    const made = element("button", { type: "button", class: "small", "data-action": action, "aria-haspopup": "dialog", "aria-label": `${text} ${name}` }, text);
    Object.assign(made.dataset, { raw, db });
    return made;
  };
  if (blocked) return element("span", { class: "actions" }, button("unblock", "Unblock"));
  return element("span", { class: "actions" }, isBox(name) ? "" : button("block", "Block"), button("reset", "Reset"));
}

/** Calls onChoice with the raw name and the database of a key whose button in an element is pressed. */
export function onKeyChoice(where, onChoice) {
  where.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-choose]");
    if (button) onChoice(button.dataset.raw, Number(button.dataset.db));
  });
}

/** A button that extends a list, and reduces it again. */
export class More {
  #rows = [];
  #count = 0;
  #onToggle;
  extended = false;
  button = element("button", { type: "button", class: "more", "aria-expanded": "false", hidden: true });

  /** onToggle is called after the user has extended or reduced the list. */
  constructor(onToggle = () => {}) {
    this.#onToggle = onToggle;
    this.button.addEventListener("click", () => {
      this.extended = !this.extended;
      this.#show();
      this.#onToggle();
    });
  }

  /** Sets the rows of the list; count is their number, or Infinity if there may be more. */
  set(rows, count = rows.length) {
    this.#rows = rows;
    this.#count = count;
    this.#show();
  }

  /** Reduces the list. */
  clear() {
    this.extended = false;
    this.set([]);
  }

  #show() {
    this.#rows.forEach((row, i) => {
      row.hidden = !this.extended && i >= firstRows;
    });
    const more = this.#count - firstRows;
    this.button.hidden = !this.extended && more <= 0;
    this.button.setAttribute("aria-expanded", String(this.extended));
    setText(this.button, this.extended ? `Show ${firstRows} only` : more === Infinity ? "Show more" : `Show ${more} more`);
  }
}

/**
 * The content of an element. It is not updated while it has the pointer or the focus, so that
 * nothing moves while the user chooses, until the event "changed" says that a key of it has changed.
 */
export class Held {
  #body;
  #onHold;
  #pointed = false;
  #next = null; // the nodes to be shown, and a function to call then

  /** onHold is called with whether the content is held. */
  constructor(body, onHold = () => {}) {
    this.#body = body;
    this.#onHold = onHold;
    body.addEventListener("pointerenter", (event) => this.#point(event.pointerType === "mouse"));
    body.addEventListener("pointerleave", () => this.#point(false));
    body.addEventListener("changed", () => this.#point(false));
    body.addEventListener("focusin", () => this.#replace());
    body.addEventListener("focusout", (event) => {
      if (!body.contains(event.relatedTarget)) queueMicrotask(() => this.#replace());
    });
  }

  /** Shows nodes, and calls shown, once the user is not choosing. */
  show(nodes, shown = () => {}) {
    this.#next = { nodes, shown };
    this.#replace();
  }

  clear() {
    this.#next = null;
    this.#body.replaceChildren();
  }

  #point(pointed) {
    this.#pointed = pointed;
    this.#replace();
  }

  #replace() {
    const holds = this.#body.hasChildNodes() && (this.#pointed || this.#body.contains(document.activeElement));
    this.#onHold(holds);
    if (holds || this.#next === null) return;
    const { nodes, shown } = this.#next;
    this.#next = null;
    this.#body.replaceChildren(...nodes);
    shown();
  }
}

/**
 * A table of cells, each of nodes and strings; on a phone each row is a card. A head that is empty
 * belongs to buttons.
 */
export function table(heads, rows, kind) {
  const head = (text) => element("th", { scope: "col", role: "columnheader", class: text === "" ? "acts" : null },
    text === "" ? element("span", { class: "away" }, "Actions") : text);
  return element("table", { class: kind, role: "table" },
    element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, ...heads.map(head))),
    element("tbody", { role: "rowgroup" }, ...rows.map((cells) => rowOf(heads, cells))));
}

/** A row of a table. */
export function rowOf(heads, cells) {
  return element("tr", { role: "row" }, ...cells.map((cell, i) =>
    element(i === 0 ? "th" : "td", {
      scope: i === 0 ? "row" : null, role: i === 0 ? "rowheader" : "cell", class: heads[i] === "" ? "acts" : null, "data-head": heads[i],
    }, ...cell)));
}
