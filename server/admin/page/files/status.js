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

/**
 * The problems of a server, worst first, each with a kind, "bad" or "warn", a title of a
 * few words, and a text. recent has the evictions and rejections of recentMillis; rules is the
 * API's reply about them, or null.
 */
export function problems(now, recent, rules = null) {
  const all = [quorum(now), disk(now), other(now), ...ruleProblems(rules), memory(now, recent), snapshot(now)].filter(Boolean);
  return [...all.filter(({ kind }) => kind === "bad"), ...all.filter(({ kind }) => kind === "warn")];
}

/** The voters of a cluster, how many of them are online, and how many are a majority. */
export function votes({ members }) {
  const voters = members.filter((m) => m.voter);
  return { online: voters.filter((m) => m.online).length, all: voters.length, needed: Math.floor(voters.length / 2) + 1 };
}

function quorum({ cluster }) {
  if (cluster === null || cluster.has_quorum) return null;
  const { online, all, needed } = votes(cluster);
  if (online < needed) {
    const reached = `This member reaches ${online} of ${all} voters, itself included, and ${needed} are needed.`;
    return { kind: "bad", title: "No majority", text: `No majority: ${reached} It makes no decisions until then; clients get CLUSTERDOWN.` };
  }
  return { kind: "bad", title: "No leader", text: `No leader: ${online} of ${all} voters are online, enough to elect one. Until then no decisions are made; clients get CLUSTERDOWN.` };
}

function disk({ storage }) {
  if (!storage?.failed) return null;
  return { kind: "bad", title: "Disk failure", text: `The log can't be written: ${storage.failed}` };
}

/** Other reasons for not being ready. */
function other(now) {
  if (now.ready || quorum(now) || disk(now)) return null;
  return { kind: "warn", title: "Not ready", text: `Not ready: ${now.not_ready}` };
}

function memory(now, recent) {
  const bound = format.bytes(now.max_memory_bytes);
  if (recent.rejected > 0) {
    return { kind: "warn", title: "Memory full", text: `Memory is full (${bound}): ${times(recent.rejected, "decision")} in the last minute got OOM instead of an answer. Raise --max-memory, or set --on-full evict.` };
  }
  if (recent.evicted > 0) {
    return { kind: "warn", title: "Memory full", text: `Memory is full (${bound}): ${times(recent.evicted, "key")} with used tokens evicted in the last minute, so their limits restart. Raise --max-memory.` };
  }
  if (now.max_memory_bytes === 0 || now.memory_bytes < fullShare * now.max_memory_bytes) return null;
  const next = now.on_full === "evict" ? "the next new key evicts others" : "decisions on new keys get OOM";
  return { kind: "warn", title: "Memory full", text: `Memory is full (${bound}): ${next}. Raise --max-memory.` };
}

function snapshot({ storage }) {
  if (!storage?.snapshot.failed) return null;
  return { kind: "warn", title: "Snapshot failed", text: `The last snapshot failed, and the log grows until one succeeds: ${storage.snapshot.failed}` };
}

function ruleProblems(rules) {
  if (rules === null) return [];
  const kept = rules.version > 0 ? `Version ${format.count(rules.version)} of the rules stays in use` : "There are no rules";
  return [
    rules.unusable && { kind: "bad", title: "Rules unusable", text: "The rules need a newer version of limitsrv: this node answers LOADING to requests by rules." },
    rules.file_error && { kind: "warn", title: "Rules not loaded", text: `The files of --rules have a mistake. ${kept}: ${visible(rules.file_error)}` },
    rules.file_differs && { kind: "warn", title: "Rules differ", text: `The files of --rules have another text than version ${format.count(rules.version)} of the rules, which is in use. Change the files or RL.RULES LOAD them; with --rules-file-wins the files always win.` },
    rules.shadow && { kind: "warn", title: "Rules in shadow", text: "Rules deny nothing, because of --rules-shadow." },
    rules.events_error && { kind: "warn", title: "Events fail", text: `Events at thresholds can't be delivered to --events-url. Waiting: ${times(rules.events_waiting, "event")}. The error: ${visible(rules.events_error)}` },
  ];
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
