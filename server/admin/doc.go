// Package admin serves people and their tools over HTTP: metrics, probes, profiles,
// and the page that shows what is happening, with its API. It decides nothing; what
// changes a key goes through a session of commands, with the rights of who asks.
//
// # Who may ask
//
// Where clients have to log in, everything does but /livez and /readyz: by HTTP
// Basic, or by the cookie that POST /api/login gives. /metrics and what only reads
// need the group peek, a reset and profiles need admin. Where nobody has to log in
// the listener is on loopback only, unless that is asked for, and answers only to names of loopback and to
// addresses, so that no web page can have a browser ask it by another name. POSTs from
// pages of other origins are refused in any case.
//
// # Promises
//
//   - Connections, headers, bodies, times and sessions are bounded. What is beyond a
//     bound is refused, and takes nothing from clients of the server.
//   - A scrape enters each shard for some loads, at a cost that does not depend on the
//     number of keys, and adds nothing to the cost of decisions.
//   - No answer, and nothing that is logged, has a password or a cookie in it. Profiles
//     don't tell the command line.
//   - A panic ends one request and is logged with its stack.
package admin
