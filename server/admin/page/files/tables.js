// The tables: keys that are denied or requested most, decisions by algorithm, members.

import { element, setText } from "./dom.js";
import { databaseTag, shown } from "./keys.js";
import { votes } from "./status.js";
import * as format from "./format.js";

/** The number of keys in a table. */
export const topCount = 10;

/**
 * The keys with the highest counts, in an element. onChoice is called with the raw name
 * and the database of a chosen key. The rows are not updated while the table has the pointer or the focus,
 * so that none moves while the user chooses.
 */
export class TopKeys {
  #body;
  #empty;
  #held;
  #failed;
  #pointed = false;
  #next = null;

  constructor(where, what, onChoice) {
    this.#body = element("tbody");
    this.#empty = element("p", { class: "empty", hidden: true }, `No key was ${what} in this time.`);
    this.#held = element("span", { class: "note", hidden: true }, "paused while you choose");
    this.#failed = element("p", { class: "error", hidden: true });
    where.querySelector("h3").append(" ", this.#held);
    const table = element("table", { class: "keys" },
      element("colgroup", {}, element("col"), element("col", { class: "count" }), element("col", { class: "count-error" })),
      element("thead", { class: "away" }, element("tr", {},
        element("th", { scope: "col" }, "Key"), element("th", { scope: "col" }, `Times ${what}`), element("th", { scope: "col" }, "Too high by at most"))),
      this.#body);
    where.append(table, this.#empty, this.#failed);
    this.#body.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) onChoice(button.dataset.raw, Number(button.dataset.db));
    });
    this.#body.addEventListener("pointerenter", (event) => this.#point(event.pointerType === "mouse"));
    this.#body.addEventListener("pointerleave", () => this.#point(false));
    this.#body.addEventListener("focusin", () => this.#hold());
    this.#body.addEventListener("focusout", () => queueMicrotask(() => this.#hold()));
  }

  /** Shows rows of the API, once the user is not choosing. */
  show(keys) {
    this.#next = keys;
    this.#failed.hidden = true;
    this.#hold();
  }

  /** Shows an error until there are rows. */
  fail(message) {
    setText(this.#failed, message);
    this.#failed.hidden = false;
    this.#empty.hidden = true;
  }

  /** Clears the rows, because they are of another time window. */
  clear() {
    this.#next = null;
    this.#body.replaceChildren();
  }

  #point(pointed) {
    this.#pointed = pointed;
    this.#hold();
  }

  #hold() {
    const held = this.#body.rows.length > 0 && (this.#pointed || this.#body.contains(document.activeElement));
    this.#held.hidden = !held;
    if (held || this.#next === null) return;
    const most = this.#next[0]?.count ?? 0;
    this.#empty.hidden = this.#next.length > 0;
    this.#body.replaceChildren(...this.#next.map((row) => rowOf(row, most)));
    this.#next = null;
  }
}

function rowOf({ raw, db, count, error }, most) {
  const name = shown(raw);
  const button = element("button", { type: "button", class: "key", title: name.length > 40 ? name : null });
  Object.assign(button.dataset, { raw, db });
  button.append(element("bdi", {}, name === "" ? "(empty)" : name), databaseTag(db));
  const row = element("tr", {},
    element("th", { scope: "row" }, button),
    element("td", { class: "number" }, format.count(count)),
    element("td", { class: "number faint" }, error === 0 ? "exact" : `−${format.count(error)}`));
  row.style.setProperty("--part", `${(100 * count) / most}%`);
  return row;
}

/** Shows the first steps while there are no decisions and no keys. */
export function showEmpty(where, { keys, decisions, port }) {
  where.hidden = keys > 0 || Object.values(decisions).some(({ allowed, denied }) => allowed + denied > 0);
  setText(where.querySelector("code"), `redis-cli${port ? ` -p ${port}` : ""} RL.TOKEN user:42 10 5`);
}

/** Shows the decisions by algorithm since the start, and the number of denials in shadow. */
export function showAlgorithms(where, decisions, shadow) {
  const rows = Object.entries(decisions)
    .filter(([, { allowed, denied }]) => allowed + denied > 0)
    .sort(([, a], [, b]) => b.allowed + b.denied - a.allowed - a.denied);
  if (rows.length === 0) {
    where.replaceChildren(element("p", { class: "empty" }, "No decisions yet."));
    return;
  }
  where.replaceChildren(table(["Algorithm", "Allowed", "Denied", "Share denied"], rows.map(([name, { allowed, denied }]) => [
    [element("code", {}, name), " ", element("span", { class: "faint" }, format.algorithm(name))],
    [format.count(allowed)], [format.count(denied)], [format.percent(denied, allowed + denied)],
  ]), "narrow"), ...(shadow > 0 ? [element("p", { class: "hint" }, `${format.count(shadow)} of those denied were answered as allowed because of SHADOW.`)] : []));
}

/** Shows the members of a cluster, with a sentence on its state. */
export function showCluster(state, where, cluster) {
  const members = cluster.members.filter((m) => m.online).length;
  const { online, needed } = votes(cluster);
  const leads = cluster.members.find((m) => m.leader);
  const sentence = [
    cluster.has_quorum ? "Makes decisions:" : online < needed ? "No majority:" : "No leader:",
    `${members} of ${cluster.members.length} members online,`,
    !cluster.has_quorum ? "no decisions are made" : leads ? `${leads.client || shortID(leads.id)} leads` : "this member knows no leader",
    `${cluster.has_quorum ? "in" : "since"} term ${format.count(cluster.term)}; this one is ${cluster.role === "leader" ? "the" : "a"} ${cluster.role}.`,
  ].join(" ");
  setText(state, sentence);
  state.className = cluster.has_quorum ? "" : "error";
  const leading = (m) => m.leader && cluster.has_quorum;
  const rows = cluster.members.map((m) => [
    [element("code", { title: m.id }, shortID(m.id)), m.self ? element("span", { class: "tag" }, "this one") : ""],
    [element("code", {}, m.client || "?")],
    [leading(m) ? "leader" : m.voter ? "follower" : "no vote yet"],
    [m.online ? element("span", { class: "good" }, "● online") : element("span", { class: "error" }, "○ offline")],
    [leading(m) ? "–" : m.lag < 0 ? "unknown" : `${m.lag > 0 && !m.self ? "at most " : ""}${format.count(m.lag)} ${m.lag === 1 ? "entry" : "entries"}`],
    [m.self ? "–" : m.last_contact_ms < 0 ? "never" : `${format.left(m.last_contact_ms)} ago`],
    [m.version || "?"],
  ]);
  where.replaceChildren(table(["Member", "For clients", "Role", "State", "Behind by", "Last contact", "Version"], rows, "cards"));
}

/** The first eight of the forty digits of a member's ID. */
const shortID = (id) => id.slice(0, 8);

/**
 * The content of an element below its title. It is not updated while it has the pointer or the
 * focus, so that nothing moves while the user chooses.
 */
export class Held {
  #body = element("div");
  #pointed = false;
  #next = null;

  constructor(where) {
    where.append(this.#body);
    this.#body.addEventListener("pointerenter", (event) => this.#point(event.pointerType === "mouse"));
    this.#body.addEventListener("pointerleave", () => this.#point(false));
    this.#body.addEventListener("focusout", () => queueMicrotask(() => this.#replace()));
  }

  /** Shows nodes, once the user is not choosing. */
  show(nodes) {
    this.#next = nodes;
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
    if (this.#next === null || this.#pointed || this.#body.contains(document.activeElement)) return;
    this.#body.replaceChildren(...this.#next);
    this.#next = null;
  }
}

/**
 * A table of cells, each of nodes and strings; with kind "cards" each row is a card on a
 * phone.
 */
export function table(heads, rows, kind) {
  return element("table", { class: kind, role: "table" },
    element("thead", {}, element("tr", { role: "row" }, ...heads.map((head) => element("th", { scope: "col", role: "columnheader" }, head)))),
    element("tbody", {}, ...rows.map((cells) => element("tr", { role: "row" }, ...cells.map((cell, i) =>
      element(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, role: i === 0 ? "rowheader" : "cell", "data-head": heads[i] }, ...cell))))));
}
