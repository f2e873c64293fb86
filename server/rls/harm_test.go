package rls

import (
	"fmt"
	"strings"
	"testing"

	service "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/source"
	"limitsrv/server/rls/envoy"
)

// harmRules have a limit for each of the requests below.
const harmRules = `
domain: api
descriptors:
  - {key: k, rate_limit: {unit: hour, requests_per_unit: 9}}
  - {key: a_b, rate_limit: {unit: hour, requests_per_unit: 2}}
  - {key: a, rate_limit: {unit: hour, requests_per_unit: 5}}
  - {key: x, descriptors: [{key: y, rate_limit: {unit: hour, requests_per_unit: 1}}]}
  - {key: x_1_y, rate_limit: {unit: hour, requests_per_unit: 1}}
  - {key: m1, metadata: {one: 1, both: {a: 1}}, rate_limit: {unit: hour, requests_per_unit: 9}}
  - {key: m2, value_to_metric: true, metadata: {two: 2, both: {b: 2}}, rate_limit: {unit: hour, requests_per_unit: 9}}
`

// TestNoHarm sends each request that ends, blinds or confuses envoyproxy/ratelimit, over gRPC
// and /json. Ours answers it, and then the next request with the count that is due.
func TestNoHarm(t *testing.T) {
	s := startStack(t, harmRules, envoy.Options{Metadata: true})
	defer s.stop()
	left := map[string]int{"gRPC": 9, "/json": 9} // of k, each over a value of its own
	for _, tt := range []struct {
		name, line string
		code       codes.Code // INVALID_ARGUMENT is 400 of /json
		want       string
	}{
		{"1: a limit without a unit ends the process", "k V LIMIT 5/UNKNOWN", codes.InvalidArgument,
			"unit must be 1 to 7, got 0"},
		{"1: a limit of an unknown unit", "k V LIMIT 5/99", codes.InvalidArgument, "unit must be 1 to 7, got 99"},
		{"2: the rule of a_b limits (a, b)", "a b", codes.OK, "OK: OK 5/HOUR 4 1246s"},
		{"2: two paths share a counter", "x 1 y 2", codes.OK, "OK: OK 1/HOUR 0 1246s"},
		{"2: the other of them", "x_1_y 2", codes.OK, "OK: OK 1/HOUR 0 1246s"},
		{"4: hits of 2^64-1 count down", "k V OWN 18446744073709551615", codes.OK, "OVER_LIMIT: OVER_LIMIT 9/HOUR 9 1246s"},
		{"4: hits of 2^63-1 lock the key", "k V OWN 9223372036854775807", codes.OK, "OVER_LIMIT: OVER_LIMIT 9/HOUR 8 1246s"},
		{"4: hits of 2^32-1", "k V HITS 4294967295", codes.OK, "OVER_LIMIT: OVER_LIMIT 9/HOUR 7 1246s"},
		{"5: no domain is an error of its own", ": k V", codes.InvalidArgument, "domain must be 1 to 256 bytes long"},
		{"5: no entries have no limit, as there", "AND k V", codes.OK, "OK: OK 0, OK 9/HOUR 5 1246s"},
		{"5: a long key", strings.Repeat("k", 257) + " V", codes.InvalidArgument, "key must be 1 to 256 bytes long"},
		{"6: a limit by minutes beside the hour's", "k V LIMIT 1/MINUTE", codes.OK, "OK: OK 1/MINUTE 0 46s"},
	} {
		for _, face := range []string{"gRPC", "/json"} {
			q := parseAsked(t, strings.ReplaceAll(tt.line, "V", face))
			out, code, text := s.send(t, face, q.envoy)
			if code == codes.OK && (face == "gRPC" || strings.Contains(tt.line, "V")) { // x, a and x_1_y count both faces
				text = describeStatuses(out)
			} else if code == codes.OK {
				continue
			}
			if code != tt.code || !strings.Contains(text, tt.want) {
				t.Errorf("%s, over %s: %v %s, want %v %s", tt.name, face, code, text, tt.code, tt.want)
			}
			if !strings.HasPrefix(tt.line, "k V OWN") && !strings.HasPrefix(tt.line, "k V HITS") {
				continue
			}
			left[face]--
			out, _, _ = s.send(t, face, parseAsked(t, "k "+face).envoy)
			if got, want := describeStatuses(out), fmt.Sprintf("OK: OK 9/HOUR %d 1246s", left[face]); got != want {
				t.Errorf("the request after %s, over %s: %s, want %s", tt.name, face, got, want)
			}
		}
	}
	s.wantMetadata(t)
}

// TestReportedUsage: a proxy asks with 0 hits before a request, and reports its cost when the response
// is through. A report is charged also above what is left, up to another limit, and the question after
// it is denied, over both faces.
func TestReportedUsage(t *testing.T) {
	s := startStack(t, harmRules, envoy.Options{})
	defer s.stop()
	for _, face := range []string{"gRPC", "/json"} {
		for i, tt := range []struct{ line, want string }{
			{"k V OWN 0", "OK: OK 9/HOUR 9"}, {"k V OWN 6", "OK: OK 9/HOUR 3"}, {"k V OWN 0", "OK: OK 9/HOUR 3"},
			{"k V OWN 6", "OVER_LIMIT: OVER_LIMIT 9/HOUR 3"}, {"k V OWN 0", "OVER_LIMIT: OVER_LIMIT 9/HOUR 0"},
			{"k V OWN 100", "OVER_LIMIT: OVER_LIMIT 9/HOUR 0"}, {"k V", "OVER_LIMIT: OVER_LIMIT 9/HOUR 0"},
			{"k hits-V HITS 6", "OK: OK 9/HOUR 3"}, {"k hits-V HITS 6", "OVER_LIMIT: OVER_LIMIT 9/HOUR 3"},
			{"k hits-V HITS 3", "OK: OK 9/HOUR 0"},
		} {
			out, _, _ := s.send(t, face, parseAsked(t, strings.ReplaceAll(tt.line, "V", "usage"+face)).envoy)
			if got := describeStatuses(out); !strings.HasPrefix(got, tt.want) {
				t.Errorf("step %d over %s: %s: %s, want %s", i, face, tt.line, got, tt.want)
			}
		}
	}
}

// send sends a request over an interface. It returns the response, or the code and the text of
// its error.
func (s *stack) send(t *testing.T, face string,
	in *service.RateLimitRequest) (*service.RateLimitResponse, codes.Code, string) {
	t.Helper()
	if face == "gRPC" {
		out, err := s.envoy.ShouldRateLimit(within(t), in)
		return out, status.Code(err), status.Convert(err).Message()
	}
	body, err := protojson.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	answer, text := s.post(t, "/json", body)
	out := new(service.RateLimitResponse)
	switch {
	case answer.StatusCode == 400:
		return nil, codes.InvalidArgument, string(text)
	case answer.StatusCode != 200 && answer.StatusCode != 429:
		return nil, codes.Internal, string(text)
	}
	if err := protojson.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
	return out, codes.OK, ""
}

// wantMetadata asks by two rules with metadata together, and then by each alone (3 and 6): each has
// its own.
func (s *stack) wantMetadata(t *testing.T) {
	t.Helper()
	for _, tt := range []struct{ line, want string }{
		{"m1 v AND m2 v", `{"one":1,"two":2,"both":{"a":1,"b":2}}`},
		{"m1 v", `{"one":1,"both":{"a":1}}`},
		{"m2 v", `{"two":2,"both":{"b":2}}`},
	} {
		for _, face := range []string{"gRPC", "/json"} {
			out, _, _ := s.send(t, face, parseAsked(t, tt.line).envoy)
			want := new(service.RateLimitResponse)
			if err := protojson.Unmarshal([]byte(`{"dynamicMetadata":`+tt.want+`}`), want); err != nil {
				t.Fatal(err)
			}
			if got := out.GetDynamicMetadata().GetFields()["metadata"].GetStructValue(); !proto.Equal(got,
				want.GetDynamicMetadata()) {
				t.Errorf("%s over %s has the metadata %v, want %s", tt.line, face, got, tt.want)
			}
		}
	}
}

// TestNoHarmByFiles: a word twice is a mistake, and a second document counts (7).
func TestNoHarmByFiles(t *testing.T) {
	load := func(text string) (*rules.Set, error) {
		return rules.Load([]source.File{{Name: "f", Text: []byte(text)}})
	}
	if _, err := load("domain: api\ndescriptors:\n  - {key: k, rate_limit: {unit: hour, unit: day}}\n"); err == nil ||
		!strings.Contains(err.Error(), "f:3: 'unit' is here twice") {
		t.Errorf("a word twice: %v", err)
	}
	set, err := load("domain: api\n---\ndomain: web\n")
	if err != nil || set.Domain("web") == nil {
		t.Errorf("a second document: %v", err)
	}
}

// TestLongValues: values longer than rules allow count, each separately, and match patterns by their
// beginning, over both faces. Paths are shortened in the form of the word paths.
func TestLongValues(t *testing.T) {
	const text = `
domain: api
paths: {p: [all]}
descriptors:
  - {key: token, rate_limit: {unit: hour, requests_per_unit: 2}}
  - {key: path, value: /login*, rate_limit: {unit: hour, requests_per_unit: 2}}
  - {key: p, value: /login, rate_limit: {unit: hour, requests_per_unit: 4}}
---
domain: other
`
	s := startStack(t, text, envoy.Options{})
	defer s.stop()
	long := strings.Repeat("x", rules.MaxValueBytes)
	for _, face := range []string{"gRPC", "/json"} {
		for i, tt := range []struct{ line, want string }{
			{"token " + long + "1" + face, "OK: OK 2/HOUR 1"}, {"token " + long + "2" + face, "OK: OK 2/HOUR 1"},
			{"token " + long + "1" + face, "OK: OK 2/HOUR 0"}, {"token " + long + "1" + face, "OVER_LIMIT: OVER_LIMIT 2/HOUR 0"},
			{"path /login?" + long + face, "OK: OK 2/HOUR 1"}, {"path /other?" + long, "OK: OK 0"},
			{"p " + strings.Repeat("/", rules.MaxValueBytes) + "login", "O"}, {"p /login?" + long, "O"},
			{"p /login/" + long, "OK: OK 0"},
		} {
			out, code, text := s.send(t, face, parseAsked(t, tt.line).envoy)
			if got := describeStatuses(out); code != codes.OK || !strings.HasPrefix(got, tt.want) {
				t.Errorf("step %d over %s: %v %s %s, want %s", i, face, code, got, text, tt.want)
			}
		}
	}
	out, _, _ := s.send(t, "gRPC", parseAsked(t, "p /login").envoy)
	if got := describeStatuses(out); !strings.HasPrefix(got, "OVER_LIMIT: OVER_LIMIT 4/HOUR 0") {
		t.Errorf("after four long spellings, /login is answered %s", got)
	}
	for _, domain := range []string{"other", "nowhere"} {
		in := parseAsked(t, "token "+long+"1").envoy
		in.Domain = domain
		if _, code, text := s.send(t, "gRPC", in); code != codes.OK {
			t.Errorf("a long value in the domain %s: %v %s", domain, code, text)
		}
	}
}
