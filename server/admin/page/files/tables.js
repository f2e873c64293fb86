// The tables: keys that are denied or requested most, decisions by algorithm, members.

import { element, setText } from "./dom.js";
import { memberName, votes } from "./status.js";
import { firstRows, Held, keyActions, keyButton, More, onKeyChoice, table } from "./widgets.js";
import * as format from "./format.js";

const moreRequests = new More();

/** The number of keys that an extended table requests. */
const allKeys = 100;

/**
 * The keys with the highest counts, in an element. onChoice is called with the raw name and the
 * database of a chosen key, onMore if other rows are needed.
 */
export class TopKeys {
  #what;
  #body = element("div");
  #rows;
  #more;
  #empty;
  #failed;

  constructor(where, what, onChoice, onMore) {
    this.#what = what;
    const held = element("span", { class: "note", hidden: true }, "paused while you choose");
    this.#rows = new Held(this.#body, (holds) => {
      held.hidden = !holds;
    });
    this.#more = new More(onMore);
    this.#empty = element("p", { class: "empty", hidden: true }, `No key was ${what} in this time.`);
    this.#failed = element("p", { class: "error", hidden: true });
    where.querySelector("h3").append(" ", held);
    where.append(this.#body, this.#more.button, this.#empty, this.#failed);
    onKeyChoice(this.#body, onChoice);
  }

  /** The number of rows that show needs: one more than it shows at first tells if there are more. */
  get count() {
    return this.#more.extended ? allKeys : firstRows + 1;
  }

  /** Shows rows of the API, once the user is not choosing. */
  show(keys) {
    const most = keys[0]?.count ?? 0;
    this.#failed.hidden = true;
    const shown = keys.length === 0 ? [] : [table(["Key", `Times ${this.#what}`, ""], keys.map(cellsOf), "keys")];
    const rows = shown.flatMap((made) => [...made.querySelectorAll("tbody tr")]);
    rows.forEach((row, i) => row.style.setProperty("--part", `${(100 * keys[i].count) / most}%`));
    this.#rows.show(shown, () => {
      this.#empty.hidden = keys.length > 0;
      this.#more.set(rows, this.#more.extended || keys.length <= firstRows ? keys.length : Infinity);
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
    this.#more.clear();
  }
}

const cellsOf = ({ raw, db, count, error }) => [
  [keyButton(raw, db)],
  [format.count(count), error === 0 ? "" : element("span", { class: "faint" }, ` −${format.count(error)}`)],
  [keyActions(raw, db)],
];

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
  const made = table(["By", "Allowed", "Denied", "Share denied", "Errors"], rows.map((r) => [
    [element("code", {}, r.via)], [format.count(r.allowed)], [format.count(r.denied)], [format.percent(r.denied, r.allowed + r.denied)], [format.count(r.error)],
  ]), "narrow");
  moreRequests.set([...made.querySelectorAll("tbody tr")]);
  if (!moreRequests.button.isConnected) where.after(moreRequests.button);
  where.replaceChildren(made, ...(shadow > 0 ? [element("p", { class: "hint" }, `${format.count(shadow)} of the allowed requests were denied in shadow.`)] : []));
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
    !cluster.has_quorum ? "no decisions are made" : leads ? `${memberName(leads)} leads` : "this member knows no leader",
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
  where.replaceChildren(table(["Member", "For clients", "Role", "State", "Behind by", "Last contact", "Version"], rows, "members"));
}

/** The first eight of the forty digits of a member's ID. */
const shortID = (id) => id.slice(0, 8);
