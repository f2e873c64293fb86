// The page as a whole: who is logged in, and a round of questions each second while
// somebody sees the page.

import * as api from "./api.js";
import { Charts } from "./charts.js";
import { byID, chosen, say } from "./dom.js";
import { History } from "./history.js";
import { Lookup } from "./lookup.js";
import { memoryKind, problems, recentMillis, showStorage } from "./status.js";
import { showAlgorithms, showCluster, showEmpty, topCount, TopKeys } from "./tables.js";
import * as format from "./format.js";

const roundMillis = 1000;
const slowestRoundMillis = 8000;
/** The tables of keys are asked for each so many rounds, and what the user may do. */
const topRounds = 2;
const rightsRounds = 10;
/** So much earlier than our last sample, the server's clock was set back, or it is another. */
const backMillis = 3000;

const history = new History();
const lookup = new Lookup(() => loggedOut("Your login has ended."), () => askRights().catch(missed), () => state?.keys ?? 0);
const denied = new TopKeys(byID("denied"), "denied", (raw) => lookup.find(raw));
const hot = new TopKeys(byID("hot"), "requested", (raw) => lookup.find(raw));
let charts = null; // made when they are first seen, for their size is that of the page
let state = null; // the last answer of api.now
let timer = 0;
let running = false; // a round is under way
let active = false; // somebody is logged in who may look
let rounds = 0;
let failures = 0;
let heardAt = 0; // Date.now of the last round that went well

/** One round: asks for all that is shown, shows it, and sets the time of the next. */
async function round() {
  if (!active || running || document.hidden) return;
  clearTimeout(timer);
  running = true;
  const begin = performance.now();
  try {
    const [now, samples] = await Promise.all([api.now(), api.history(history.last)]);
    if (!active) return;
    take(now, samples);
    if (rounds % topRounds === 0) await showTop();
    if (++rounds % rightsRounds === 0) await askRights();
    await lookup.refresh();
    heard();
  } catch (error) {
    missed(error);
  } finally {
    running = false;
    const pause = Math.min(roundMillis * 2 ** Math.min(failures, 3), slowestRoundMillis);
    if (active) timer = setTimeout(round, Math.max(0, pause - (performance.now() - begin)));
  }
}

/** Asks for the rights of the user, which change with the file of users. */
async function askRights() {
  const { may } = await api.session();
  if (active) lookup.allow(may.admin);
}

/** Shows the answers of a round. */
function take(now, samples) {
  if (now.time_ms < history.last - backMillis) history.clear();
  else history.add(samples);
  state = now;
  say(byID("version"), now.version);
  say(byID("uptime"), `up ${format.span(now.uptime_s)}`);
  const recent = { evicted: history.sum("evicted", recentMillis), rejected: history.sum("refused_for_memory", recentMillis) };
  showProblems(now, recent);
  draw();
  showNotes(now);
  showEmpty(byID("empty"), now);
  showStorage(byID("storage-state"), now, recent);
  showAlgorithms(byID("algorithms"), now.decisions, now.shadow_denied);
  byID("cluster").hidden = now.cluster === null;
  if (now.cluster !== null) showCluster(byID("cluster-state"), byID("members"), now.cluster);
}

/** The bounds beside the titles of the charts, and the rates that have no line. */
function showNotes(now) {
  const rate = (column, text) => (history[column].at(-1) > 0 ? `${format.compact(history[column].at(-1))} ${text}` : "");
  charts.note("Memory", now.max_memory_bytes > 0
    ? `of ${format.bytes(now.max_memory_bytes)} (${format.percent(now.memory_bytes, now.max_memory_bytes)}), when full: ${now.on_full}`
    : "no bound", memoryKind(now));
  const losses = [rate("evicted", "evicted per second"), rate("refused_for_memory", "rejected for memory per second")].filter(Boolean);
  charts.note("Keys", losses.join(", "), "warn");
  charts.note("Connections", `of ${format.count(now.max_clients)}`);
  charts.note("Decisions per second", rate("shadow_denied", "denied in shadow"));
}

function draw() {
  charts ??= new Charts(byID("charts"));
  const spanMillis = 1000 * Number(chosen(byID("span")));
  charts.show(history.since(spanMillis), spanMillis, state?.max_memory_bytes ?? 0);
}

function showProblems(now, recent) {
  const all = problems(now, recent);
  const worst = all[0];
  if (worst === undefined) pill("good", "✓ Ready");
  else pill(worst.kind, `${worst.kind === "bad" ? "✕" : "!"} ${worst.title}`);
  trouble(worst?.kind ?? "", all.map(({ text }) => text).join("\n"));
}

/** Shows problems, one a line; none if text is empty. */
function trouble(kind, text) {
  const where = byID("trouble");
  say(where, text);
  where.className = `banner ${kind}`;
  where.hidden = text === "";
}

function pill(kind, text) {
  const where = byID("ready");
  say(where, text);
  where.className = `pill ${kind}`;
  where.hidden = false;
  document.title = `${kind === "good" ? "" : `${text} · `}limitsrv ${location.host}`;
}

async function showTop() {
  const over = chosen(byID("window"));
  await Promise.all([["denied", denied], ["hot", hot]].map(async ([by, table]) => {
    try {
      const { keys } = await api.top(by, over, topCount);
      if (over === chosen(byID("window"))) table.show(keys);
    } catch (error) {
      if (error.status === 0 || error.status === 401) throw error;
      table.fail(error.message);
    }
  }));
}

function heard() {
  failures = 0;
  heardAt = Date.now();
  byID("lost").hidden = true;
  document.body.classList.remove("stale");
}

/** Shows that a round failed, and why. */
function missed(error) {
  if (!active) return;
  if (error.status === 401) {
    loggedOut("Your login has ended.");
    return;
  }
  if (error.status === 403) {
    active = false;
    start();
    return;
  }
  failures++;
  const since = heardAt > 0 ? ` The figures are of ${format.clock(heardAt)}.` : "";
  if (!(error instanceof api.Refusal)) console.error(error);
  const why = error instanceof api.Refusal ? error.message : "This page has a fault.";
  say(byID("lost-text"), `${why}${since} Trying again every few seconds.`);
  byID("lost").hidden = false;
  pill("bad", error.status === 0 ? "✕ Connection lost" : "✕ No figures");
  document.body.classList.add("stale");
}

/** Shows the login form, with a reason if there is one, and hides all figures. */
function loggedOut(why) {
  active = false;
  clearTimeout(timer);
  lookup.clear();
  denied.clear();
  hot.clear();
  for (const id of ["dashboard", "who", "ready", "lost", "trouble"]) byID(id).hidden = true;
  byID("login").hidden = false;
  say(byID("login-why"), why);
  byID("login-why").hidden = why === "";
  byID("login-password").value = "";
  byID("login-user").focus();
}

/** Shows as much as the user may see. */
function loggedIn(session) {
  byID("login").hidden = true;
  byID("who").hidden = !session.login_needed;
  say(byID("user"), session.user);
  say(byID("version"), session.version);
  if (!session.may.peek) {
    byID("dashboard").hidden = byID("ready").hidden = true;
    trouble("warn", `${session.user} may not look here: that needs the group peek.`);
    timer = setTimeout(start, slowestRoundMillis);
    return;
  }
  lookup.allow(session.may.admin);
  byID("dashboard").hidden = false;
  active = true;
  rounds = 0;
  round();
}

/** Asks who is logged in, until there is an answer. */
async function start() {
  try {
    const session = await api.session();
    byID("lost").hidden = true;
    failures = 0;
    if (session.login_needed && !session.user) loggedOut("");
    else loggedIn(session);
  } catch (error) {
    say(byID("lost-text"), `${error.message} Trying again every few seconds.`);
    byID("lost").hidden = false;
    timer = setTimeout(start, roundMillis * 2 ** Math.min(failures++, 3));
  }
}

async function logIn(event) {
  event.preventDefault();
  const button = byID("login-submit");
  if (button.disabled) return;
  button.disabled = true;
  say(button, "Logging in…");
  say(byID("login-error"), "");
  try {
    await api.login(byID("login-user").value, byID("login-password").value);
    byID("login-password").value = "";
    loggedIn(await api.session());
  } catch (error) {
    say(byID("login-error"), error.message);
    byID("login-password").select();
    byID("login-password").focus();
  }
  button.disabled = false;
  say(button, "Log in");
}

async function logOut() {
  try {
    await api.logout();
    loggedOut("You are logged out.");
  } catch (error) {
    missed(error);
  }
}

say(byID("host"), location.host);
byID("login").addEventListener("submit", logIn);
byID("logout").addEventListener("click", logOut);
byID("retry").addEventListener("click", () => {
  clearTimeout(timer);
  if (active) round();
  else start();
});
byID("span").addEventListener("change", draw);
byID("window").addEventListener("change", () => {
  denied.clear();
  hot.clear();
  showTop().catch(missed);
});
document.addEventListener("visibilitychange", round);
start();
