// Requests to the API. Paths are relative to the page.

/** Timeouts of replies; a login takes longer after wrong passwords. */
const timeoutMillis = 6000;
const loginTimeoutMillis = 60000;

/** A request without a useful reply. status is the HTTP status, 0 if there was no reply. */
export class RequestError extends Error {
  constructor(status, message) {
    super(message && message[0].toUpperCase() + message.slice(1));
    this.status = status;
  }
}

async function ask(method, path, { body, timeout = timeoutMillis } = {}) {
  const request = {
    method,
    credentials: "same-origin",
    cache: "no-store",
    redirect: "error",
    signal: AbortSignal.timeout(timeout),
  };
  if (body !== undefined) {
    request.headers = { "Content-Type": "application/json" };
    request.body = JSON.stringify(body);
  }
  let response, text;
  try {
    response = await fetch(`api/${path}`, request);
    text = await response.text();
  } catch {
    throw new RequestError(0, "The server does not answer.");
  }
  let answer = {};
  try {
    if (text !== "") answer = JSON.parse(text);
  } catch {
    throw new RequestError(response.ok ? 0 : response.status, "The reply is not from limitsrv.");
  }
  if (!response.ok) throw new RequestError(response.status, answer.error || `The server answers ${response.status}.`);
  return answer;
}

/** The logged-in user, their rights, and whether a login is required. */
export const session = () => ask("GET", "session");

export const login = (user, password) =>
  ask("POST", "login", { body: { user, password }, timeout: loginTimeoutMillis });

export const logout = () => ask("POST", "logout", { body: {} });

/** The current counters and states. */
export const now = () => ask("GET", "now");

/** The samples after a time in milliseconds since 1970, of at most an hour. */
export const history = (since) => ask("GET", `history?since=${since}`);

/** The keys that were denied most (by "denied") or requested most ("hot"). */
export const top = (by, window, count) => ask("GET", `top?by=${by}&window=${window}&count=${count}`);

/**
 * Keys that start with a prefix, in base64url: count of them or a few more, or those
 * among the next ten thousands of keys. cursor is "0" at the start, and at the end of the
 * keys.
 */
export const keys = (prefix, cursor, count) => ask("GET", `keys?prefix=${prefix}&cursor=${cursor}&count=${count}`);

/**
 * The state of a key in a database; found is false, and the only field, if it is fully
 * reset. raw is base64url.
 */
export const key = (raw, db) => ask("GET", `key?raw=${raw}&db=${db}`);

/** The rules with their requests of the last hour, overrides, and closed penalty boxes. */
export const rules = () => ask("GET", "rules");

/** The limits that a request with attributes, pairs of base64url, meets in a domain. */
export const match = (domain, attributes) =>
  ask("GET", `match?domain=${domain}${attributes.map(([key, value]) => `&a=${key}.${value}`).join("")}`);

/** Resets a key in a database. Changes require the group admin. */
export const reset = (raw, db) => ask("POST", "reset", { body: { raw, db } });

/** Blocks a key in a database for a duration, such as 10m. */
export const block = (raw, db, duration) => ask("POST", "block", { body: { raw, db, duration } });

/** Resets the limits of attributes, pairs of base64url, in a domain. */
export const resetRules = (domain, attributes) =>
  ask("POST", "rules/reset", { body: { domain, attributes: attributes.map((pair) => pair.join(".")) } });
