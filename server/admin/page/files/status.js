// The state of the server as text: problems, worst first, and disk, snapshot and
// eviction.

import { element, setText } from "./dom.js";
import { visible } from "./keys.js";
import * as format from "./format.js";

/** The time over which evictions and rejections count as recent. */
export const recentMillis = 60_000;
/** The shares of its bound from which memory counts as full, or nearly full. */
const fullShare = 0.99;
const nearlyFullShare = 0.9;

/** "warn" if memory is nearly full, otherwise "". */
export const memoryKind = ({ memory_bytes: used, max_memory_bytes: bound }) =>
  bound > 0 && used >= nearlyFullShare * bound ? "warn" : "";

/** The clocks may differ by this much before that counts as a problem. */
const clockErrorMillis = 1000;

/**
 * The problems of a server, worst first, each with a kind, "bad" or "warn", a title of a few words, a
 * text, and a section of the document about symptoms, if one has the next step. recent has the
 * evictions and rejections of recentMillis; rules is the API's reply about them, or null.
 */
export function problems(now, recent, rules = null) {
  const all = [quorum(now), disk(now), members(now), other(now), clock(now), ...memberClocks(now), ...ruleProblems(rules), memory(now, recent), snapshot(now)].filter(Boolean);
  return [...all.filter(({ kind }) => kind === "bad"), ...all.filter(({ kind }) => kind === "warn")];
}

/** The voters of a cluster, how many of them are online, and how many are a majority. */
export function votes({ members }) {
  const voters = members.filter((m) => m.voter);
  return { online: voters.filter((m) => m.online).length, all: voters.length, needed: Math.floor(voters.length / 2) + 1 };
}

/** The name of a member: its address for clients, or the first eight of the forty digits of its ID. */
export const memberName = (m) => m.client || m.id.slice(0, 8);

function quorum({ cluster }) {
  if (cluster === null || cluster.has_quorum) return null;
  const { online, all, needed } = votes(cluster);
  const section = "a-member-is-dead";
  if (online < needed) {
    const reached = `This member reaches ${online} of ${all} voters, itself included, and ${needed} are needed.`;
    return { kind: "bad", title: "No majority", section, text: `No majority: ${reached} It makes no decisions until then; clients get CLUSTERDOWN. Start the other members.` };
  }
  return { kind: "bad", title: "No leader", section, text: `No leader: ${online} of ${all} voters are online, enough to elect one. Until then no decisions are made; clients get CLUSTERDOWN.` };
}

/** Members that are offline while decisions go on. */
function members({ cluster }) {
  if (!cluster?.has_quorum) return null;
  const offline = cluster.members.filter((m) => !m.online);
  if (offline.length === 0) return null;
  const { online, all, needed } = votes(cluster);
  const spare = online - needed;
  const next = spare > 0 ? `${times(spare, "further failure")} would be survived` : "one more failure would stop all decisions";
  const title = offline.length === 1 ? "Member offline" : `${offline.length} members offline`;
  return { kind: spare > 0 ? "warn" : "bad", title, section: "a-member-is-dead",
    text: `${title}: ${offline.map(memberName).join(", ")}. ${online} of ${all} voters make decisions, and ${next}. Start ${offline.length === 1 ? "it" : "them"} again.` };
}

function disk({ storage, ready }) {
  if (!storage?.failed) return null;
  const full = /no space left|disk quota/i.test(storage.failed);
  const effect = ready ? "Decisions go on in memory: do not restart the server until the log can be written." : "Until then requests get errors.";
  return { kind: "bad", title: full ? "Disk full" : "Disk failure", section: "disk-full",
    text: `${full ? "The disk is full, and the" : "The"} log can't be written: ${storage.failed}. ${effect}` };
}

/** Other reasons for not being ready, or for being degraded. */
function other(now) {
  if (quorum(now) || disk(now)) return null;
  if (!now.ready) return { kind: "warn", title: "Not ready", text: `Not ready: ${now.not_ready}` };
  return now.degraded ? { kind: "warn", title: "Degraded", text: `Degraded, decisions go on: ${now.degraded}` } : null;
}

const aheadOf = (millis) => `${format.span(Math.abs(millis) / 1000)} ${millis > 0 ? "ahead of" : "behind"}`;

function clock({ clock_error_ms: error }) {
  if (Math.abs(error) <= clockErrorMillis) return null;
  const restart = error > 0 ? " If the clock is right, a restart of the server corrects the time." : "";
  return { kind: "warn", title: "Clock wrong", section: "a-clock-is-wrong",
    text: `This machine's clock is ${aheadOf(error)} the time of decisions, which goes on evenly. Check NTP.${restart}` };
}

/** Members whose clocks differ from the median of all; only the leader knows. */
function memberClocks({ cluster }) {
  return (cluster?.members ?? []).filter((m) => Math.abs(m.clock_error_ms) > clockErrorMillis).map((m) => ({
    kind: "warn", title: "Clock wrong", section: "a-clock-is-wrong",
    text: `The clock of member ${memberName(m)} is ${aheadOf(m.clock_error_ms)} the median of the members' clocks. Check NTP on its machine. The cluster's time is right.`,
  }));
}

function memory(now, recent) {
  const bound = format.bytes(now.max_memory_bytes);
  const full = { kind: "warn", title: "Memory full", section: "memory-grows" };
  if (recent.rejected > 0) {
    return { ...full, text: `Memory is full (${bound}): ${times(recent.rejected, "decision")} in the last minute got OOM instead of an answer. Raise --max-memory, or set --on-full evict.` };
  }
  if (recent.evicted > 0) {
    return { ...full, text: `Memory is full (${bound}): ${times(recent.evicted, "key")} with used tokens evicted in the last minute, so their limits restart. Raise --max-memory.` };
  }
  if (now.max_memory_bytes === 0 || now.memory_bytes < fullShare * now.max_memory_bytes) return null;
  const next = now.on_full === "evict" ? "the next new key evicts others" : "decisions on new keys get OOM";
  return { ...full, text: `Memory is full (${bound}): ${next}. Raise --max-memory.` };
}

function snapshot({ storage }) {
  if (!storage?.snapshot.failed) return null;
  return { kind: "warn", title: "Snapshot failed", section: "disk-full", text: `The last snapshot failed, and the log grows until one succeeds: ${storage.snapshot.failed}` };
}

function ruleProblems(rules) {
  if (rules === null) return [];
  const kept = rules.version > 0 ? `Version ${format.count(rules.version)} of the rules stays in use` : "There are no rules";
  return [
    rules.unusable && { kind: "bad", title: "Rules unusable", text: "The rules need a newer version of limitsrv: this node answers LOADING to requests by rules. Upgrade it." },
    rules.file_error && { kind: "warn", title: "Rules not loaded", text: `The files of --rules have a mistake. ${kept}: ${visible(rules.file_error)}` },
    rules.file_differs && { kind: "warn", title: "Rules differ", text: `The files of --rules have another text than version ${format.count(rules.version)} of the rules, which is in use. Change the files or RL.RULES LOAD them; with --rules-file-wins the files always win.` },
    rules.shadow && { kind: "warn", title: "Rules in shadow", text: "Rules deny nothing, because of --rules-shadow." },
    rules.events_error && { kind: "warn", title: "Events fail", section: "events-do-not-arrive", text: `Events at thresholds can't be delivered to --events-url. Waiting: ${times(rules.events_waiting, "event")}. The error: ${visible(rules.events_error)}` },
  ].filter(Boolean).map((problem) => ({ section: "rules-did-not-take", ...problem }));
}

/** Shows problems with a link to the next step. It changes the elements only if the problems have changed. */
export function showProblemList(where, all) {
  where.hidden = all.length === 0;
  const text = JSON.stringify(all);
  if (where.dataset.problems === text) return;
  where.dataset.problems = text;
  where.className = all[0]?.kind ?? "";
  where.replaceChildren(...all.map(({ kind, text: words, section }) => element("li", { class: `banner ${kind}` }, element("span", {}, words),
    section ? element("a", { href: `troubleshooting.html#${section}` }, "What to do") : "")));
}

const times = (n, noun) => `${format.count(n)} ${noun}${n === 1 ? "" : "s"}`;

/** Shows disk, snapshot and eviction. */
export function showStorage(where, now, recent) {
  const { storage } = now;
  const rows = [["Disk", ...diskText(storage)]];
  if (storage !== null) rows.push(["Snapshot", ...snapshotText(storage.snapshot, now.time_ms)]);
  rows.push(["Eviction", ...evictionText(now, recent)]);
  while (where.children.length < rows.length) where.append(element("div", {}, element("dt"), element("dd"), element("dd", { class: "faint" })));
  while (where.children.length > rows.length) where.lastChild.remove();
  rows.forEach(([name, first, second, kind], i) => {
    const [term, main, more] = where.children[i].children;
    setText(term, name);
    setText(main, first);
    setText(more, second);
    main.className = kind ?? "";
  });
}

function diskText(storage) {
  if (storage === null) return ["memory only", "A restart forgets all keys. --data DIR keeps them."];
  const log = `Log: ${format.bytes(storage.log_bytes)} in ${times(storage.log_segments, "file")}, --fsync ${storage.fsync}.`;
  if (storage.failed) return ["failing", log, "error"];
  if (storage.unsynced === null) return ["kept, and replicated", log];
  if (storage.unsynced > 0) return [`${times(storage.unsynced, "decision")} not synced`, `${log} A power loss would lose them.`];
  return ["all decisions synced", log];
}

function snapshotText({ time_ms: time, bytes, took_ms: took, failed, writing }, now) {
  const age = format.span(Math.max(0, now - time) / 1000);
  const writtenIn = took > 0 ? `, written in ${format.left(took)}` : "";
  const newest = time > 0 ? `Newest: ${format.bytes(bytes)}, ${age} old.` : "There is none: a start reads the log alone.";
  if (writing) return ["being written", newest];
  if (failed) return ["failed", newest, "warn"];
  return time > 0 ? [`${age} ago`, `${format.bytes(bytes)}${writtenIn}.`] : ["none yet", newest];
}

function evictionText(now, recent) {
  const bound = now.max_memory_bytes > 0 ? `When memory is full: ${now.on_full}.` : "Memory has no bound.";
  const since = `${bound} Since start: ${times(now.evicted, "key")} evicted, ${times(now.refused_for_memory, "decision")} rejected for memory.`;
  if (recent.rejected > 0) return [`${format.count(recent.rejected)} rejected in the last minute`, since, "warn"];
  if (recent.evicted > 0) return [`${format.count(recent.evicted)} evicted in the last minute`, since, "warn"];
  return ["none in the last minute", since];
}
