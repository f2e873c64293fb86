// The entry point of the page: it handles the login, and polls the server each second
// while the page is visible.

import { Actions } from "./actions.js";
import * as api from "./api.js";
import { Charts } from "./charts.js";
import { byID, checkedValue, setText } from "./dom.js";
import { History } from "./history.js";
import { Lookup } from "./lookup.js";
import { Rules } from "./rules.js";
import { memoryKind, problems, recentMillis, showProblemList, showStorage } from "./status.js";
import { showAlgorithms, showCluster, showEmpty, showRequests, TopKeys } from "./tables.js";
import * as format from "./format.js";

const pollMillis = 1000;
const slowestPollMillis = 8000;
/** The tables of keys, the rules, and the rights of the user are requested at every so many polls. */
const topEvery = 2;
const rulesEvery = 3;
const rightsEvery = 10;
/**
 * If the server's time is earlier than the last sample by this much, its clock was set
 * back, or it is another server.
 */
const clockStepMillis = 3000;

const history = new History();
const endLogin = () => loggedOut("Your login has ended.");
const chooseKey = (raw, db) => lookup.find(raw, db);
const requestTop = () => showTop().catch(pollFailed);
const lookup = new Lookup(endLogin, () => state?.keys ?? 0);
const denied = new TopKeys(byID("denied"), "denied", chooseKey, requestTop);
const hot = new TopKeys(byID("hot"), "requested", chooseKey, requestTop);
const rules = new Rules(chooseKey, endLogin);
const actions = new Actions(showChange, endLogin, () => fetchRights().catch(pollFailed));
let charts = null; // created when first visible, because it takes the size of the page
let state = null; // the last reply of api.now
let rulesState = null; // the last reply of api.rules, null if there is none
let timer = 0;
let running = false; // a poll is under way
let active = false; // a user with the right to look is logged in
let polls = 0;
let failures = 0;
let updatedAt = 0; // Date.now of the last successful poll

/** Requests and shows all figures, and schedules the next poll. */
async function poll() {
  if (!active || running || document.hidden) return;
  clearTimeout(timer);
  running = true;
  const begin = performance.now();
  try {
    const [now, samples] = await Promise.all([api.now(), api.history(history.last)]);
    if (!active) return;
    if (polls % rulesEvery === 0) rulesState = await rules.refresh();
    showReplies(now, samples);
    if (polls % topEvery === 0) await showTop();
    if (++polls % rightsEvery === 0) await fetchRights();
    await lookup.refresh();
    pollSucceeded();
  } catch (error) {
    pollFailed(error);
  } finally {
    running = false;
    const pause = Math.min(pollMillis * 2 ** Math.min(failures, 3), slowestPollMillis);
    if (active) timer = setTimeout(poll, Math.max(0, pause - (performance.now() - begin)));
  }
}

/** Requests the rights of the user, which change with the users file. */
async function fetchRights() {
  const { may } = await api.session();
  if (active) actions.setAllowed(may.admin);
}

/** Shows the replies of a poll. */
function showReplies(now, samples) {
  if (now.time_ms < history.last - clockStepMillis) history.clear();
  else history.add(samples);
  state = now;
  setText(byID("version"), now.version);
  setText(byID("uptime"), `up ${format.span(now.uptime_s)}`);
  const recent = { evicted: history.sum("evicted", recentMillis), rejected: history.sum("refused_for_memory", recentMillis) };
  showProblems(now, recent);
  draw();
  showNotes(now);
  showEmpty(byID("empty"), now);
  showStorage(byID("storage-state"), now, recent);
  showRequests(byID("requests"), now.requests);
  showAlgorithms(byID("algorithms"), now.decisions, now.shadow_denied);
  byID("cluster").hidden = now.cluster === null;
  if (now.cluster !== null) showCluster(byID("cluster-state"), byID("members"), now.cluster);
}

/** Shows the bounds beside the titles of the charts, and the rates that have no line. */
function showNotes(now) {
  const rate = (column, text) => (history[column].at(-1) > 0 ? `${format.compact(history[column].at(-1))} ${text}` : "");
  charts.note("Memory", now.max_memory_bytes > 0
    ? `of ${format.bytes(now.max_memory_bytes)} (${format.percent(now.memory_bytes, now.max_memory_bytes)}), when full: ${now.on_full}`
    : "no bound", memoryKind(now));
  const losses = [rate("evicted", "evicted per second"), rate("refused_for_memory", "rejected for memory per second")].filter(Boolean);
  charts.note("Keys", losses.join(", "), "warn");
  charts.note("Connections", `of ${format.count(now.max_clients)}`);
  charts.note("Requests per second", rate("shadow_denied", "denied in shadow"));
}

function draw() {
  charts ??= new Charts(byID("charts"));
  const spanMillis = 1000 * Number(checkedValue(byID("span")));
  charts.show(history.since(spanMillis), spanMillis, state?.max_memory_bytes ?? 0);
}

function showProblems(now, recent) {
  const all = problems(now, recent, rulesState);
  const worst = all[0];
  if (worst === undefined) pill("good", "✓ Ready");
  else pill(worst.kind, `${worst.kind === "bad" ? "✕" : "!"} ${worst.title}`);
  showProblemList(byID("trouble"), all);
}

/** Shows the figures after a change of a key, or of several. */
async function showChange(raw, db) {
  await lookup.changed(raw, db);
  await rules.matchAgain();
  polls = 0; // the next poll requests all
  await poll();
}

function pill(kind, text) {
  const where = byID("ready");
  setText(where, text);
  where.className = `pill ${kind}`;
  where.hidden = false;
  document.title = `${kind === "good" ? "" : `${text} · `}limitsrv ${location.host}`;
}

async function showTop() {
  const over = checkedValue(byID("window"));
  await Promise.all([["denied", denied], ["hot", hot]].map(async ([by, table]) => {
    try {
      const { keys } = await api.top(by, over, table.count);
      if (over === checkedValue(byID("window"))) table.show(keys);
    } catch (error) {
      if (error.status === 0 || error.status === 401) throw error;
      table.fail(error.message);
    }
  }));
}

function pollSucceeded() {
  failures = 0;
  updatedAt = Date.now();
  byID("lost").hidden = true;
  document.body.classList.remove("stale");
}

/** Shows that a poll failed, and why. */
function pollFailed(error) {
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
  const since = updatedAt > 0 ? ` Last update at ${format.clock(updatedAt)}.` : "";
  if (!(error instanceof api.RequestError)) console.error(error);
  const why = error instanceof api.RequestError ? error.message : "Internal error of this page.";
  setText(byID("lost-text"), `${why}${since} Trying again every few seconds.`);
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
  rules.clear();
  rulesState = null;
  actions.setAllowed(false);
  actions.clear();
  for (const id of ["dashboard", "who", "ready", "lost", "trouble"]) byID(id).hidden = true;
  byID("login").hidden = false;
  setText(byID("login-why"), why);
  byID("login-why").hidden = why === "";
  byID("login-password").value = "";
  byID("login-user").focus();
}

/** Shows the parts of the page that the user may see. */
function loggedIn(session) {
  byID("login").hidden = true;
  byID("who").hidden = !session.login_needed;
  setText(byID("user"), session.user);
  setText(byID("version"), session.version);
  if (!session.may.peek) {
    byID("dashboard").hidden = byID("ready").hidden = true;
    showProblemList(byID("trouble"), [{ kind: "warn", text: `${session.user} may not view this page: it requires the group peek.` }]);
    timer = setTimeout(start, slowestPollMillis);
    return;
  }
  actions.setAllowed(session.may.admin);
  byID("dashboard").hidden = false;
  active = true;
  polls = 0;
  poll();
}

/** Requests the session, until there is a reply. */
async function start() {
  try {
    const session = await api.session();
    byID("lost").hidden = true;
    failures = 0;
    if (session.login_needed && !session.user) loggedOut("");
    else loggedIn(session);
  } catch (error) {
    setText(byID("lost-text"), `${error.message} Trying again every few seconds.`);
    byID("lost").hidden = false;
    timer = setTimeout(start, pollMillis * 2 ** Math.min(failures++, 3));
  }
}

async function logIn(event) {
  event.preventDefault();
  const button = byID("login-submit");
  if (button.disabled) return;
  button.disabled = true;
  setText(button, "Logging in…");
  setText(byID("login-error"), "");
  try {
    await api.login(byID("login-user").value, byID("login-password").value);
    byID("login-password").value = "";
    loggedIn(await api.session());
  } catch (error) {
    setText(byID("login-error"), error.message);
    byID("login-password").select();
    byID("login-password").focus();
  }
  button.disabled = false;
  setText(button, "Log in");
}

async function logOut() {
  try {
    await api.logout();
    loggedOut("You are logged out.");
  } catch (error) {
    pollFailed(error);
  }
}

setText(byID("host"), location.host);
byID("login").addEventListener("submit", logIn);
byID("logout").addEventListener("click", logOut);
byID("retry").addEventListener("click", () => {
  clearTimeout(timer);
  if (active) poll();
  else start();
});
byID("span").addEventListener("change", draw);
byID("window").addEventListener("change", () => {
  denied.clear();
  hot.clear();
  requestTop();
});
document.addEventListener("visibilitychange", poll);
start();
