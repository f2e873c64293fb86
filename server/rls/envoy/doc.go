// Package envoy reads requests and writes responses of Envoy's rate limit service,
// envoy.service.ratelimit.v3: as protobuf for gRPC, and in the JSON form of protobuf.
//
//	bytes -> Reader.Read or Reader.ReadJSON -> checks.Request
//	checks.Answer -> Writer.Append or Writer.AppendJSON -> bytes
//
// It also reads and writes the messages of kuadrant.service.ratelimit.v1, which reserves and settles: see
// Reader.ReadReserve and Reader.ReadCommit.
//
// It has no generated code, and in the steady state protobuf costs no allocation. The
// numbers of fields are from rls.proto, ratelimit.proto and base.proto of
// envoyproxy/data-plane-api.
package envoy
