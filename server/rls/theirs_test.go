package rls

import (
	"fmt"
	"strings"
	"testing"

	service "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/proto"

	"limitsrv/commands/rules/checks"
	"limitsrv/commands/rules/live"
	"limitsrv/server/rls/envoy"
)

const theirRules = `
domain: api
descriptors:
  - {key: hard, metadata: {pool: hard}, rate_limit: {unit: hour, requests_per_unit: 1}}
  - {key: dark, shadow_mode: true, metadata: {pool: dark}, rate_limit: {unit: hour, requests_per_unit: 1}}
  - {key: a, quota_mode: true, metadata: {pool: a, both: {x: 1}}, rate_limit: {unit: hour, requests_per_unit: 1}}
  - {key: b, quota_mode: true, metadata: {pool: b, both: {x: 2, y: 2}}, rate_limit: {unit: hour, requests_per_unit: 2}}
  - {key: any, value: ~, rate_limit: {unit: hour, requests_per_unit: 9}}
`

// TestLikeTheirs has requests with the answers of envoyproxy/ratelimit, as its code at f2fb157 gives
// them, over gRPC and /json. The metadata is from the limits, and hitsAddend if it is there.
func TestLikeTheirs(t *testing.T) {
	for _, tt := range []struct {
		shadow bool // of all rules
		line   string
		want   []string // the answers to the request, again and again
	}{
		{false, "a V AND b V", []string{
			`OK: OK 1/HOUR 0 1246s, OK 2/HOUR 1 1246s map[both:map[x:1 y:2] pool:a] RateLimit-Limit: 1 | RateLimit-Remaining: 0 | RateLimit-Reset: 1246`,
			// there the headers of a
			`OK: OVER_LIMIT 1/HOUR 0 1246s, OK 2/HOUR 0 1246s map[both:map[x:2 y:2] pool:b] RateLimit-Limit: 2 | RateLimit-Remaining: 0 | RateLimit-Reset: 1246`,
			`OVER_LIMIT: OVER_LIMIT 1/HOUR 0 1246s, OVER_LIMIT 2/HOUR 0 1246s <nil> RateLimit-Limit: 1 | RateLimit-Remaining: 0 | RateLimit-Reset: 1246 | Retry-After: 1246`,
		}},
		{false, "dark V", []string{
			`OK: OK 1/HOUR 0 1246s map[pool:dark] no headers`,
			`OK: OK 1/HOUR 0 1246s map[pool:dark] no headers`,
		}},
		{false, "hard V HITS 1", []string{
			`OK: OK 1/HOUR 0 1246s map[pool:hard] hits 1 RateLimit-Limit: 1 | RateLimit-Remaining: 0 | RateLimit-Reset: 1246`,
			`OVER_LIMIT: OVER_LIMIT 1/HOUR 0 1246s <nil> hits 1 RateLimit-Limit: 1 | RateLimit-Remaining: 0 | RateLimit-Reset: 1246 | Retry-After: 1246`,
		}},
		{false, "any V",
			[]string{`OK: OK 9/HOUR 8 1246s <nil> RateLimit-Limit: 9 | RateLimit-Remaining: 8 | RateLimit-Reset: 1246`}},
		{false, "AND any V",
			[]string{`OK: OK 0, OK 9/HOUR 7 1246s <nil> RateLimit-Limit: 9 | RateLimit-Remaining: 7 | RateLimit-Reset: 1246`}},
		{true, "hard V AND dark V", []string{
			`OK: OK 1/HOUR 0 1246s, OK 1/HOUR 0 1246s map[pool:hard] no headers`,
			`OK: OVER_LIMIT 1/HOUR 0 1246s, OK 1/HOUR 0 1246s map[pool:dark] no headers`,
		}},
		{true, "a V AND b V", []string{
			`OK: OK 1/HOUR 0 1246s, OK 2/HOUR 1 1246s map[both:map[x:1 y:2] pool:a] no headers`,
			`OK: OVER_LIMIT 1/HOUR 0 1246s, OK 2/HOUR 0 1246s map[both:map[x:2 y:2] pool:b] no headers`,
			`OK: OVER_LIMIT 1/HOUR 0 1246s, OVER_LIMIT 2/HOUR 0 1246s <nil> no headers`,
		}},
	} {
		t.Run(fmt.Sprint(tt.line, tt.shadow), func(t *testing.T) {
			s := startStackWith(t, theirRules, envoy.Options{Metadata: true, Headers: checks.PlainHeaders},
				live.Options{Shadow: tt.shadow})
			defer s.stop()
			if strings.HasPrefix(tt.line, "AND") { // the request before took a token
				s.askGRPC(t, parseAsked(t, "any gRPC"))
				s.askGRPC(t, parseAsked(t, "any /json"))
			}
			for _, want := range tt.want {
				out := s.askGRPC(t, parseAsked(t, strings.ReplaceAll(tt.line, "V", "gRPC")))
				if got := describeAll(out); got != want {
					t.Errorf("gRPC\n got %s\nwant %s", got, want)
				}
				text := s.askJSON(t, parseAsked(t, strings.ReplaceAll(tt.line, "V", "/json")))
				out.DynamicMetadata, text.DynamicMetadata = nil, nil // they have the values
				if !proto.Equal(out, text) {
					t.Errorf("/json answers %v\n gRPC answers %v", text, out)
				}
			}
		})
	}
}

// describeAll returns the statuses of a response, its metadata and its headers.
func describeAll(out *service.RateLimitResponse) string {
	all := out.GetDynamicMetadata().AsMap()
	hits := ""
	if n, given := all["hitsAddend"]; given {
		hits = fmt.Sprintf(" hits %v", n)
	}
	return fmt.Sprintf("%s %v%s %s", describeStatuses(out), all["metadata"], hits, headersOf(out))
}
