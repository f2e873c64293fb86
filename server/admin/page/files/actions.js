// Changes of keys, after a confirmation: reset, block, the end of a block, and the reset of all
// limits of some attributes. The page shows their buttons to users who have the right.

import * as api from "./api.js";
import { byID, element, setText } from "./dom.js";
import { databaseTag, shown } from "./keys.js";

/** The time that a message stays. */
const messageMillis = 10_000;

const texts = {
  reset: ["Reset this key?", "Its record is deleted, and its whole limit is available at once. This can't be undone.", "Reset"],
  unblock: ["End this block?", "Requests are decided by their limit again at once.", "Unblock"],
  rules: ["Reset these limits?", "On all nodes, the counters of these attributes are deleted, and their penalty boxes open. This can't be undone.", "Reset"],
};

export class Actions {
  #reset = byID("reset");
  #block = byID("block");
  #message = byID("said");
  #pending = null; // the change to be confirmed
  #origin = null; // the button of that change
  #timer = 0;

  /**
   * onChange is called after a change, with the raw name and the database of the key, if it has one.
   * onLoggedOut is called if a login is required, onForbidden if a right is missing.
   */
  constructor(onChange, onLoggedOut, onForbidden) {
    this.onChange = onChange;
    this.onLoggedOut = onLoggedOut;
    this.onForbidden = onForbidden;
    document.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-action]");
      if (button) this.#ask(button);
    });
    for (const dialog of [this.#reset, this.#block]) {
      dialog.addEventListener("submit", (event) => {
        if (event.submitter?.value !== "cancel") this.#execute();
      });
    }
  }

  /** Sets whether the user may change keys. */
  setAllowed(allowed) {
    document.body.classList.toggle("may-change", allowed);
    if (!allowed) this.close();
  }

  /** Closes the dialogs. */
  close() {
    for (const dialog of [this.#reset, this.#block]) if (dialog.open) dialog.close();
  }

  /** Asks for a confirmation of the change of a button. */
  #ask(button) {
    const { action, raw, db, domain, attributes } = button.dataset;
    this.#origin = button;
    if (action === "rules") {
      const pairs = JSON.parse(attributes);
      const name = `${shown(domain)}: ${pairs.map((pair) => pair.map(shown).join("=")).join(", ")}`;
      this.#pending = { name, send: () => api.resetRules(domain, pairs) };
    } else {
      const name = shown(raw);
      const send = action === "block" ? () => api.block(raw, Number(db), byID("block-duration").value) : () => api.reset(raw, Number(db));
      this.#pending = { name, raw, db: Number(db), send };
    }
    const dialog = action === "block" ? this.#block : this.#reset;
    dialog.querySelector(".key").replaceChildren(this.#pending.name, databaseTag(this.#pending.db ?? 0));
    if (action !== "block") {
      const [title, text, label] = texts[action];
      setText(byID("reset-title"), title);
      setText(byID("reset-text"), text);
      setText(dialog.querySelector(".danger"), label);
    }
    this.#pending.action = action;
    dialog.showModal();
  }

  async #execute() {
    const { name, raw, db, action, send } = this.#pending;
    const origin = this.#origin;
    let said;
    try {
      const { forgotten } = await send();
      said = resultOf(action, forgotten, name);
    } catch (error) {
      this.say(`${refusals[action]}: ${error.message}`);
      if (error.status === 401) this.onLoggedOut();
      if (error.status === 403) this.onForbidden();
      return;
    }
    this.say(said);
    if (origin.contains(document.activeElement)) focusPanel(origin);
    origin.dispatchEvent(new Event("changed", { bubbles: true }));
    await this.onChange(raw, db);
  }

  /** Shows a message for some seconds. */
  say(text) {
    clearTimeout(this.#timer);
    this.#message.replaceChildren(element("bdi", {}, text));
    this.#timer = setTimeout(() => this.clear(), messageMillis);
  }

  /** Removes the message. */
  clear() {
    clearTimeout(this.#timer);
    this.#message.replaceChildren();
  }
}

const refusals = { reset: "Not reset", unblock: "Not unblocked", rules: "Not reset", block: "Not blocked" };

function resultOf(action, forgotten, name) {
  if (action === "block") return `Blocked: ${name}`;
  if (action === "unblock") return forgotten > 0 ? `Unblocked: ${name}` : `Not blocked any more: ${name}`;
  if (action === "rules") return forgotten > 0 ? `Reset: ${forgotten} of ${name}` : `Nothing to reset: ${name}`;
  return forgotten > 0 ? `Reset: ${name}` : `Nothing to reset: ${name}`;
}

/** Moves the focus to the title of the panel of a button, which may be removed. */
function focusPanel(button) {
  const title = button.closest(".panel")?.querySelector("h3");
  title?.setAttribute("tabindex", "-1");
  title?.focus({ preventScroll: true });
}
