// What the page asks of its server. Paths are relative to the page.

/** How long an answer may take; a login is slowed down where passwords were wrong. */
const patienceMillis = 6000;
const loginPatienceMillis = 60000;

/** An answer that says no. status is that of HTTP, 0 where there was no answer. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message && message[0].toUpperCase() + message.slice(1));
    this.status = status;
  }
}

async function ask(method, path, { body, patience = patienceMillis } = {}) {
  const request = {
    method,
    credentials: "same-origin",
    cache: "no-store",
    redirect: "error",
    signal: AbortSignal.timeout(patience),
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
    throw new Refusal(0, "The server does not answer.");
  }
  let answer = {};
  try {
    if (text !== "") answer = JSON.parse(text);
  } catch {
    throw new Refusal(response.ok ? 0 : response.status, "The answer is not that of limitsrv.");
  }
  if (!response.ok) throw new Refusal(response.status, answer.error || `The server answers ${response.status}.`);
  return answer;
}

/** Who is logged in, what they may do, and whether a login is needed. */
export const session = () => ask("GET", "session");

export const login = (user, password) =>
  ask("POST", "login", { body: { user, password }, patience: loginPatienceMillis });

export const logout = () => ask("POST", "logout", { body: {} });

/** Counters and states as they are now. */
export const now = () => ask("GET", "now");

/** The samples after a time in milliseconds since 1970, at most those of an hour. */
export const history = (since) => ask("GET", `history?since=${since}`);

/** The keys that were denied most (by "denied") or requested most ("hot"). */
export const top = (by, window, count) => ask("GET", `top?by=${by}&window=${window}&count=${count}`);

/**
 * Keys that start with a prefix, of base64url: count of them or a few more, or those
 * among the next some ten thousand. cursor is "0" for a start, and at the end of the keys.
 */
export const keys = (prefix, cursor, count) => ask("GET", `keys?prefix=${prefix}&cursor=${cursor}&count=${count}`);

/** The state of a key; found is false, and alone, if it is fully reset. raw is base64url. */
export const key = (raw) => ask("GET", `key?raw=${raw}`);

/** Forgets a key, for users with admin. */
export const reset = (raw) => ask("POST", "reset", { body: { raw } });
