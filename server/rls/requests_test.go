package rls

import (
	"strings"
	"testing"

	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/server/rls/envoy"
)

// TestRequestsAreCounted: a request has one outcome for all of its limits, on both listeners, also
// if it is refused before it is decided.
func TestRequestsAreCounted(t *testing.T) {
	s := startStack(t, "domain: api\nrules: [{name: three, per: [ip], limits: [1/minute, 50/hour, 100/day]}]\n",
		envoy.Options{})
	defer s.stop()
	for range 3 {
		s.askGRPC(t, parseAsked(t, "ip 1"))
	}
	wrong := parseAsked(t, "ip 1").envoy
	wrong.Domain = ""
	s.send(t, "gRPC", wrong)
	for _, post := range []struct{ path, body string }{
		{"/v1/check", `{"domain":"api","attributes":{"ip":"2"}}`},
		{"/v1/check", `{"domain":"api","attributes":{"ip":"2"}}`},
		{"/v1/check", `{"domain":"api","attributes":{"ip":"2"},"peek":true}`},
		{"/v1/check", `{"domain":"api","attributes":{"ip":"4"},"once":"a"}`},
		{"/v1/check", `{"domain":"api","attributes":{"ip":"4"},"once":"a"}`},
		{"/v1/check", `{"domain":"api","attributes":{"ip":"5"},"once":"a"}`},
		{"/v1/check", `{"domain":"api","attributes":{"ip":"4"},"once":"b"}`},
		{"/v1/check", `{"domain":"api","once":"` + strings.Repeat("a", engine.MaxIDBytes+1) + `"}`},
		{"/v1/check", `{"domain":`},
		{"/v1/check", strings.Repeat(" ", envoy.MaxMessageBytes+1)},
		{"/v1/forward/none", ""},
		{"/json", `{"domain":"api","descriptors":[{"entries":[{"key":"ip","value":"3"}]}]}`},
		{"/json", `{"domain":1}`},
	} {
		s.post(t, post.path, []byte(post.body))
	}
	want := map[string][session.Outcomes]int64{"grpc": {1, 2, 0, 1, 0}, "http": {3, 2, 0, 6, 0, 1}}
	for _, c := range s.handler.RequestCounts() {
		if c.N != want[c.Via] {
			t.Errorf("%s: the requests by outcome are %v, want %v", c.Via, c.N, want[c.Via])
		}
		delete(want, c.Via)
	}
	if len(want) > 0 {
		t.Errorf("not counted: %v", want)
	}
}
