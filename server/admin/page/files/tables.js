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
  #rows;
  #empty;
  #failed;

  constructor(where, what, onChoice) {
    const body = element("tbody");
    const held = element("span", { class: "note", hidden: true }, "paused while you choose");
    this.#rows = new Held(body, (holds) => {
      held.hidden = !holds;
    });
    this.#empty = element("p", { class: "empty", hidden: true }, `No key was ${what} in this time.`);
    this.#failed = element("p", { class: "error", hidden: true });
    where.querySelector("h3").append(" ", held);
    const table = element("table", { class: "keys" },
      element("colgroup", {}, element("col"), element("col", { class: "count" }), element("col", { class: "count-error" })),
      element("thead", { class: "away" }, element("tr", {},
        element("th", { scope: "col" }, "Key"), element("th", { scope: "col" }, `Times ${what}`), element("th", { scope: "col" }, "Too high by at most"))),
      body);
    where.append(table, this.#empty, this.#failed);
    body.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) onChoice(button.dataset.raw, Number(button.dataset.db));
    });
  }

  /** Shows rows of the API, once the user is not choosing. */
  show(keys) {
    const most = keys[0]?.count ?? 0;
    this.#failed.hidden = true;
    this.#rows.show(keys.map((row) => rowOf(row, most)), () => {
      this.#empty.hidden = keys.length > 0;
    });
  }

  /** Shows an error until there are rows. */
  fail(message) {
    setText(this.#failed, message);
    this.#failed.hidden = false;
    this.#empty.hidden = true;
  }

  /** Clears the rows, because they are of another time window. */
  clear() {
    this.#rows.clear();
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

/** Shows the requests to this node since the start, each once for any number of limits. */
export function showRequests(where, requests) {
  if (requests.length === 0) {
    where.replaceChildren(element("p", { class: "empty" }, "No requests yet."));
    return;
  }
  const rows = [...requests].sort((a, b) => b.allowed + b.denied - a.allowed - a.denied);
  const shadow = rows.reduce((n, r) => n + r.shadow_denied, 0);
  where.replaceChildren(table(["By", "Allowed", "Denied", "Share denied", "Errors"], rows.map((r) => [
    [element("code", {}, r.via)], [format.count(r.allowed)], [format.count(r.denied)], [format.percent(r.denied, r.allowed + r.denied)], [format.count(r.error)],
  ]), "narrow"), ...(shadow > 0 ? [element("p", { class: "hint" }, `${format.count(shadow)} of the allowed requests were denied in shadow.`)] : []));
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
 * The content of an element. It is not updated while it has the pointer or the focus, so that
 * nothing moves while the user chooses.
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
    body.addEventListener("focusin", () => this.#replace());
    body.addEventListener("focusout", () => queueMicrotask(() => this.#replace()));
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
    this.#next.shown();
    this.#body.replaceChildren(...this.#next.nodes);
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
