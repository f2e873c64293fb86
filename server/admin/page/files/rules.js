// The rules: their version, the requests of each limit in the last hour, overrides, blocked keys, and
// the limits that a request would meet, with the answer that it would get now.

import * as api from "./api.js";
import { byID, element, setText } from "./dom.js";
import { parse, rawOf, shown, visible } from "./keys.js";
import { Held, keyActions, keyButton, keyText, More, onKeyChoice, table } from "./widgets.js";
import * as format from "./format.js";

const name = (text) => keyText(visible(text));

/** A list at the end of an element, of ten rows and more, which is held while the user chooses. */
class HeldList {
  #held;
  #more = new More();

  constructor(id) {
    const body = element("div");
    byID(id).append(body, this.#more.button);
    this.#held = new Held(body);
  }

  show(nodes) {
    this.#held.show(nodes, () => this.#more.set(rowsOf(nodes)));
  }

  clear() {
    this.#held.clear();
    this.#more.clear();
  }
}

/** The rows of the lists and tables among nodes. */
const rowsOf = (nodes) => nodes.flatMap((node) => [...node.querySelectorAll("tbody tr, li")]);

export class Rules {
  #limits = byID("rules-limits");
  #moreLimits = new More();
  #moreReasons = new More();
  #overrides = new HeldList("overrides");
  #boxes = new HeldList("boxes");
  #onLoggedOut;
  #matched = null; // the domain and the attributes of the shown answer

  /** onKey is called with the raw name of a chosen key, onLoggedOut if a login is required. */
  constructor(onKey, onLoggedOut) {
    this.#onLoggedOut = onLoggedOut;
    this.#limits.after(this.#moreLimits.button);
    for (const id of ["boxes", "match-result"]) onKeyChoice(byID(id), onKey);
    byID("match-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const attributes = byID("match-attributes").value.split("\n").filter((line) => line.trim() !== "").map(attributeOf);
      this.#match(rawOf(parse(byID("match-domain").value)), attributes);
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
    const limits = limitsOf(rules);
    this.#moreLimits.set(rowsOf(limits));
    this.#limits.replaceChildren(...limits);
    this.#overrides.show(overridesOf(rules));
    this.#boxes.show(boxesOf(rules));
    return rules;
  }

  /** Asks again about the request of the form, after a change. */
  async matchAgain() {
    if (this.#matched !== null) await this.#match(...this.#matched);
  }

  /** Clears all figures and inputs. */
  clear() {
    this.#matched = null;
    for (const id of ["rules-limits", "match-result"]) byID(id).replaceChildren();
    for (const id of ["rules-state", "match-said"]) setText(byID(id), "");
    for (const id of ["match-domain", "match-attributes"]) byID(id).value = "";
    this.#moreLimits.clear();
    this.#overrides.clear();
    this.#boxes.clear();
  }

  async #match(domain, attributes) {
    const said = byID("match-said");
    const where = byID("match-result");
    this.#matched = null;
    try {
      const found = await api.match(domain, attributes);
      this.#matched = [domain, attributes];
      said.className = `said ${kindOf(found.now)}`;
      setText(said, answerOf(found.now));
      const shownNow = matchOf(found, domain, attributes);
      this.#moreReasons.set([...shownNow.at(-1).children]);
      where.replaceChildren(...shownNow, this.#moreReasons.button);
    } catch (error) {
      where.replaceChildren();
      said.className = "said";
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

const kindOf = ({ allowed, error }) => (error ? "warn" : allowed ? "good" : "error");

/** The time of a wait: never, or a moment with its distance. */
const momentOf = (millis) => (millis < 0 ? "for ever" : `until ${format.until(millis)} (${format.left(millis)})`);

const denials = {
  limited: (now) => `the limit ${visible(now.name)} denies it ${momentOf(now.wait_ms)}.`,
  quota: (now) => `all quotas are used, ${visible(now.name)} ${momentOf(now.wait_ms)}.`,
  blocked: (now) => `${visible(now.name)} is blocked ${momentOf(now.wait_ms)}.`,
  denied: () => "a list or an override denies it.",
  unmatched: () => "no rule matches, and the domain denies such requests.",
};

const permissions = {
  allowed: "a list or an override allows it.",
  unlimited: "the rule has no limit.",
  none: "no limit denies it.",
};

/** The answer that a request would get now. */
function answerOf(now) {
  if (now.error) return `Can't be decided now: ${now.error}`;
  if (!now.allowed) return `✕ Denied now: ${denials[now.reason]?.(now) ?? now.reason}`;
  return `✓ Passes now: ${permissions[now.reason] ?? `${visible(now.name)} has ${format.count(now.remaining)} remaining.`}`;
}

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
    [name(row.name), row.tier === "" ? "" : element("span", { class: "tag" }, name(row.tier))],
    [name(row.domain)],
    [visible(row.limit), row.mode === "enforced" ? "" : element("span", { class: "tag" }, row.mode)],
    [format.count(row.allowed)],
    [element("span", { class: row.denied > 0 ? "error" : null }, format.count(row.denied))],
    [element("span", { class: row.shadow_denied > 0 ? "warn" : null }, format.count(row.shadow_denied))],
  ]);
  const all = [table(["Limit", "Domain", "Allows", "Allowed", "Limited", "In shadow"], cells, "counts")];
  if (limits > rows.length) all.push(element("p", { class: "hint" }, `${times(limits - rows.length, "limit")} with fewer requests not shown.`));
  return all;
}

function overridesOf({ overrides, override_count: all }) {
  if (overrides === null) return [element("p", { class: "empty" }, `${times(all, "override")}. The group rules may see them.`)];
  if (overrides.length === 0) return [element("p", { class: "empty" }, "No overrides.")];
  const cells = overrides.map((o) => [
    [name(o.domain), " ", keyText(o.path.map(({ key, value }) => `${shown(key)}=${shown(value)}`).join("/") || "all")],
    [o.effect, o.limit === "" ? "" : ` ${visible(o.limit)}`, o.rule === "" ? "" : [" of ", name(o.rule)]].flat(),
    [o.left_ms < 0 ? "for ever" : `${format.until(o.left_ms)} (${format.left(o.left_ms)} left)`],
    [name(o.user), o.note === "" ? "" : `${o.user === "" ? "" : ": "}${visible(o.note)}`],
  ]);
  return [table(["For", "Effect", "Until", "Set by"], cells, "plain"), ...notShown(all - overrides.length)];
}

function boxesOf({ boxes, box_count: all, penalties }) {
  const since = element("p", { class: "hint" }, `Blocked by penalty boxes, by requests to this node since start: ${format.count(penalties)}.`);
  if (boxes === null) return [element("p", { class: "empty" }, "Keys may be listed by users with the key pattern *."), since];
  if (boxes.length === 0) return [element("p", { class: "empty" }, "No key is blocked."), since];
  const cells = boxes.map((b) => [
    [keyButton(b.raw, b.db)],
    [`${format.until(b.left_ms)} (${format.left(b.left_ms)})`, b.level > 1 ? element("span", { class: "tag" }, `level ${format.count(b.level)}`) : ""],
    [keyActions(b.raw, b.db, true)],
  ]);
  return [table(["Key", "Blocked until", ""], cells, "plain blocks"), ...notShown(all - boxes.length), since];
}

const notShown = (n) => (n > 0 ? [element("p", { class: "hint" }, `${format.count(n)} more not shown.`)] : []);

/** The limits that a request meets, its penalty boxes, and at last the reasons. */
function matchOf({ limits, boxes, explained, now }, domain, attributes) {
  const all = [];
  if (limits.length > 0) {
    all.push(element("ul", { class: "met" }, ...limits.map((l) => element("li", {},
      element("p", {}, name(l.name), ` ${visible(l.limit)}`, l.mode === "enforced" ? "" : element("span", { class: "tag" }, l.mode)),
      limitNow(l.now), element("p", {}, keyButton(l.raw)), keyActions(l.raw, 0, now.reason === "blocked" && now.name === l.name)))));
    const button = element("button", { type: "button", "data-action": "rules", "aria-haspopup": "dialog", "data-domain": domain, "data-attributes": JSON.stringify(attributes) },
      "Reset all limits of these attributes");
    all.push(element("p", { class: "actions" }, button));
  }
  for (const raw of boxes) {
    all.push(element("p", { class: "box" }, "Penalty box: ", keyButton(raw), now.reason === "blocked" ? keyActions(raw, 0, true) : ""));
  }
  all.push(element("ul", { class: "why" }, ...explained.map((e) =>
    element("li", { class: e.matches ? null : "faint" }, e.matches ? "✓ " : "✕ ", name(e.rule), `: ${visible(e.reason)}`))));
  return all;
}

/** The answer of a limit. */
function limitNow(now) {
  if (now === null) return "";
  if (now.allowed) return element("p", { class: "good" }, `✓ passes, ${format.count(now.remaining)} remaining`);
  return element("p", { class: "error" }, `✕ denies ${momentOf(now.wait_ms)}`);
}
