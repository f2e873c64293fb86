// The rules: their version, the requests of each limit in the last hour, overrides, closed
// penalty boxes, and the limits that a request would meet.

import * as api from "./api.js";
import { byID, element, setText } from "./dom.js";
import { parse, rawOf, shown, visible } from "./keys.js";
import { Held, table } from "./tables.js";
import * as format from "./format.js";

const name = (text) => element("bdi", {}, visible(text));

/** Held content at the end of an element. */
function heldIn(id) {
  const body = element("div");
  byID(id).append(body);
  return new Held(body);
}

export class Rules {
  #limits = byID("rules-limits");
  #overrides;
  #boxes;
  #onLoggedOut;

  /** onKey is called with the raw name of a chosen key, onLoggedOut if a login is required. */
  constructor(onKey, onLoggedOut) {
    this.#onLoggedOut = onLoggedOut;
    this.#overrides = heldIn("overrides");
    this.#boxes = heldIn("boxes");
    const choose = (event) => {
      const button = event.target.closest("button[data-raw]");
      if (button) onKey(button.dataset.raw, Number(button.dataset.db));
    };
    for (const id of ["boxes", "match-result"]) byID(id).addEventListener("click", choose);
    byID("match-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#match();
    });
  }

  /** Requests and shows the rules. */
  async refresh() {
    let rules;
    try {
      rules = await api.rules();
    } catch (error) {
      if (error.status === 0 || error.status === 401) throw error;
      setText(byID("rules-state"), error.message);
      return null;
    }
    setText(byID("rules-state"), stateOf(rules));
    this.#limits.replaceChildren(...limitsOf(rules));
    this.#overrides.show(overridesOf(rules));
    this.#boxes.show(boxesOf(rules));
    return rules;
  }

  /** Clears all figures and inputs. */
  clear() {
    for (const id of ["rules-limits", "match-result"]) byID(id).replaceChildren();
    for (const id of ["rules-state", "match-said"]) setText(byID(id), "");
    for (const id of ["match-domain", "match-attributes"]) byID(id).value = "";
    this.#overrides.clear();
    this.#boxes.clear();
  }

  async #match() {
    const said = byID("match-said");
    const where = byID("match-result");
    const attributes = byID("match-attributes").value.split("\n").filter((line) => line.trim() !== "").map(attributeOf);
    setText(said, "");
    try {
      const found = await api.match(rawOf(parse(byID("match-domain").value)), attributes);
      setText(said, sentences[found.verdict] ?? found.verdict);
      where.replaceChildren(...matchOf(found));
    } catch (error) {
      where.replaceChildren();
      if (error.status === 401) this.#onLoggedOut();
      else setText(said, error.message);
    }
  }
}

/** The key and the value of a line KEY=VALUE, in base64url. */
function attributeOf(line) {
  const at = line.indexOf("=");
  const [key, value] = at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
  return [key.trim(), value.trim()].map((text) => rawOf(parse(text)));
}

const sentences = {
  ok: "The request passes if all of these pass.",
  denied: "The request is denied: a list or an override denies.",
  allowed: "The request is allowed: a list or an override allows.",
  unlimited: "The request is allowed: the rule has no limit.",
  none: "The request is allowed: no limit applies.",
  unmatched: "The request is denied: no rule matches, and the domain denies such requests.",
};

const times = (n, noun) => `${format.count(n)} ${noun}${n === 1 ? "" : "s"}`;

function stateOf(rules) {
  if (rules.version === 0) return "No rules were loaded. --rules FILE or RL.RULES LOAD loads some.";
  const by = rules.user === "" ? "" : ` by ${visible(rules.user)}`;
  const note = rules.note === "" ? "" : `, note: ${visible(rules.note)}`;
  const parts = [`Version ${format.count(rules.version)}, loaded ${new Date(rules.loaded_ms).toLocaleString()}${by}${note}.`,
    `${times(rules.domains, "domain")}, ${times(rules.rules, "rule")}, ${times(rules.limits, "limit")}.`];
  if (rules.unmatched > 0) parts.push(`${times(rules.unmatched, "request")} since start that no rule matched.`);
  return parts.join(" ");
}

function limitsOf({ rows, limits }) {
  if (rows.length === 0) return [element("p", { class: "empty" }, "No limits.")];
  const cells = rows.map((row) => [
    [name(row.domain)],
    [name(row.name), row.tier === "" ? "" : element("span", { class: "tag" }, name(row.tier))],
    [visible(row.limit), row.mode === "enforced" ? "" : element("span", { class: "tag" }, row.mode)],
    [format.count(row.allowed)],
    [element("span", { class: row.denied > 0 ? "error" : null }, format.count(row.denied))],
    [element("span", { class: row.shadow_denied > 0 ? "warn" : null }, format.count(row.shadow_denied))],
  ]);
  const all = [table(["Domain", "Limit", "Allows", "Allowed", "Limited", "In shadow"], cells, "counts")];
  if (limits > rows.length) all.push(element("p", { class: "hint" }, `${times(limits - rows.length, "limit")} with fewer requests not shown.`));
  return all;
}

function overridesOf({ overrides, override_count: all }) {
  if (overrides === null) return [element("p", { class: "empty" }, `${times(all, "override")}. The group rules may see them.`)];
  if (overrides.length === 0) return [element("p", { class: "empty" }, "No overrides.")];
  const cells = overrides.map((o) => [
    [name(o.domain), " ", element("bdi", { class: "key" }, o.path.map(({ key, value }) => `${shown(key)}=${shown(value)}`).join("/") || "all")],
    [o.effect, o.limit === "" ? "" : ` ${visible(o.limit)}`, o.rule === "" ? "" : ` of ${visible(o.rule)}`],
    [o.left_ms < 0 ? "for ever" : `${format.left(o.left_ms)} left`],
    [visible(o.user), o.note === "" ? "" : `${o.user === "" ? "" : ": "}${visible(o.note)}`],
  ]);
  return [table(["For", "Effect", "Ends", "Set by"], cells, "plain"), ...more(all - overrides.length)];
}

function boxesOf({ boxes, box_count: all, penalties }) {
  const since = element("p", { class: "hint" }, `Closed by requests to this node since start: ${format.count(penalties)}.`);
  if (boxes === null) return [element("p", { class: "empty" }, "Keys may be listed by users with the key pattern *."), since];
  if (boxes.length === 0) return [element("p", { class: "empty" }, "No penalty box is closed."), since];
  const cells = boxes.map((b) => [[keyButton(b.raw, b.db)], [format.count(b.level)], [format.left(b.left_ms)]]);
  return [table(["Box", "Level", "Opens in"], cells, "plain"), ...more(all - boxes.length), since];
}

const more = (n) => (n > 0 ? [element("p", { class: "hint" }, `${format.count(n)} more not shown.`)] : []);

function keyButton(raw, db = 0) {
  const button = element("button", { type: "button", class: "key link" }, element("bdi", {}, shown(raw)));
  Object.assign(button.dataset, { raw, db });
  return button;
}

function matchOf({ limits, boxes, explained }) {
  const all = [];
  if (limits.length > 0) {
    all.push(table(["Limit", "Allows", "Counter"], limits.map((l) => [
      [name(l.name)], [visible(l.limit), l.mode === "enforced" ? "" : element("span", { class: "tag" }, l.mode)], [keyButton(l.raw)],
    ]), "plain"));
  }
  for (const raw of boxes) all.push(element("p", {}, "Penalty box: ", keyButton(raw)));
  all.push(element("ul", { class: "why" }, ...explained.map((e) =>
    element("li", { class: e.matches ? null : "faint" }, e.matches ? "✓ " : "✕ ", name(e.rule), `: ${visible(e.reason)}`))));
  return all;
}
