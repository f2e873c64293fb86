// Package admin serves operators and their tools over HTTP: metrics, probes, profiles,
// and the dashboard with its API. It makes no decisions: a change of a key is executed
// as a command, with the rights of the requesting user.
//
// # Access
//
// If clients must authenticate, so must all requests except /livez and /readyz: by HTTP
// Basic, or by the cookie that POST /api/login sets. /metrics and read-only calls require
// the group peek; changes of keys and profiles require admin. If no login is required, the
// listener is on loopback only, unless that is configured otherwise, and serves only
// requests with an address or localhost as Host, so that no web page can make a browser
// send requests under another name. POSTs from pages of other origins are always
// rejected.
//
// # Promises
//
//   - Connections, headers, bodies, times and sessions are bounded. Requests beyond a
//     bound are rejected, and take no resources from clients of the server.
//   - A scrape does a few loads in each shard. Its cost does not depend on the number of
//     keys, and it adds nothing to the cost of decisions.
//   - No reply and no log line contains a password or a cookie. Profiles omit the command
//     line.
//   - A panic ends a request and is logged with its stack.
//
// # Shape
//
// The files refer to each other in one direction:
//
//	admin -> routes -> api and its calls -> access, history, metrics, health -> json
//
// An api holds the sources of the replies and has a method for each call. An adminAccess
// authenticates requests.
package admin
