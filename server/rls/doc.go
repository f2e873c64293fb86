// Package rls answers requests by rules for proxies and applications: over gRPC as Envoy's
// rate limit service, and over HTTP. It decides nothing: a Decider does, with the rights of
// the requesting user.
//
//	RateLimitService/ShouldRateLimit, POST /json   envoy.service.ratelimit.v3
//	RateLimitService/Reserve, Commit, ...          kuadrant.service.ratelimit.v1
//	POST /v1/check                                 attributes and the answer as JSON
//	POST /v1/commit, /v1/extend, /v1/cancel        reservations of /v1/check
//	any method /v1/forward/DOMAIN                  for proxies that ask before they forward
//	grpc.health.v1.Health                          "" and ratelimit
//
// # Access
//
// If clients must log in, so must all requests except those for health: by HTTP Basic, in
// gRPC as the metadata authorization. If no login is required, the listeners are on
// loopback or a unix socket only, or TLS requires client certificates; the options of the
// server see to that. POST /json and the paths of /v1/check and of
// reservations then require an address or localhost as
// Host, and no page of another origin, so that no web page makes a browser send them.
//
// # Promises
//
//   - A message is at most 64 KiB, a connection has at most 1000 calls at once, and
//     connections count as clients of the server.
//   - A call that can not be answered is an error with a code of its own cause, and never an
//     answer; a panic ends one call.
//   - Shutdown answers the calls in progress.
package rls
