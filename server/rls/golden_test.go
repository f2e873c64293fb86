package rls

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	service "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/proto"

	"limitsrv/commands/rules/checks"
	"limitsrv/server/rls/envoy"
)

// TestGolden plays the examples in testdata/golden.txt over each interface: RL.CHECK, gRPC,
// /json and /v1/check, each on a server of its own, with a clock that stands still. Their answers
// must agree with each other and with the file.
//
//	rules               loads rules on new servers
//	ask [headers]       asks for each line: KEY VALUE pairs, AND between descriptors. After
//	                    these may stand HITS n of the request, and after each descriptor OWN n,
//	                    its own hits, OWN -n or NEGATIVE yes, hits that it gives back, and
//	                    LIMIT n/UNIT or n/MxUNIT, a limit that comes with it; 3x at the start
//	                    of a line repeats it, DOMAIN: replaces the domain api
//	ask envoy           asks only by gRPC and /json, which have limits that come with requests
//	advance             moves the clocks
//
// An answer has the reply to RL.CHECK, its rows if there are several, and after | the code and
// the statuses of Envoy's response: code, limit/unit, remaining, seconds until reset. With
// headers they follow.
func TestGolden(t *testing.T) {
	var s *stacks
	datadriven.RunTest(t, "testdata/golden.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		switch d.Cmd {
		case "rules":
			if s != nil {
				s.stop()
			}
			s = startStacks(t, d.Input)
		case "advance":
			by, err := time.ParseDuration(d.CmdArgs[0].Key)
			if err != nil {
				t.Fatal(err)
			}
			s.advance(by)
		case "ask":
			for line := range strings.Lines(d.Input) {
				q := parseAsked(t, line)
				for range q.times {
					answer, headers := s.ask(t, q, d.HasArg("envoy"))
					if fmt.Fprintln(&out, answer); d.HasArg("headers") {
						fmt.Fprintln(&out, "  "+headers)
					}
				}
			}
		default:
			t.Fatalf("no command %s", d.Cmd)
		}
		return out.String()
	})
	s.stop()
}

// stacks are a server for each interface.
type stacks struct{ resp, grpc, json, check *stack }

func startStacks(t *testing.T, text string) *stacks {
	start := func() *stack {
		return startStack(t, text, envoy.Options{Headers: checks.XHeaders | checks.DraftHeaders})
	}
	return &stacks{start(), start(), start(), start()}
}

func (s *stacks) all() []*stack { return []*stack{s.resp, s.grpc, s.json, s.check} }

func (s *stacks) stop() {
	for _, one := range s.all() {
		one.stop()
	}
}

func (s *stacks) advance(by time.Duration) {
	for _, one := range s.all() {
		one.advance(by)
	}
}

// ask asks all servers, or those with Envoy's requests, and returns their answer and its headers.
func (s *stacks) ask(t *testing.T, q *asked, envoyOnly bool) (answer, headers string) {
	t.Helper()
	out := s.grpc.askGRPC(t, q)
	if text := s.json.askJSON(t, q); !proto.Equal(out, text) {
		t.Errorf("%s\n/json answers %v\n gRPC answers %v", q.line, text, out)
	}
	headers = headersOf(out)
	if envoyOnly {
		return describeStatuses(out), headers
	}
	told := s.resp.askRESP(t, q)
	if told.headers() != headers {
		t.Errorf("%s\nRL.CHECK has the headers %s\n    gRPC has the headers %s", q.line, told.headers(), headers)
	}
	verdict, checked := s.check.askCheck(t, q)
	if want := fmt.Sprint(told.row(), " ", told.descriptor()); verdict != want {
		t.Errorf("%s\n/v1/check answers %s\n RL.CHECK answers %s", q.line, verdict, want)
	}
	if checked != headers {
		t.Errorf("%s\n/v1/check has the headers %s\n     gRPC has the headers %s", q.line, checked, headers)
	}
	if allowed := out.GetOverallCode() == service.RateLimitResponse_OK; allowed != told.allowed() {
		t.Errorf("%s\nRL.CHECK answers %s, gRPC %v", q.line, told.row(), out)
	}
	return told.row() + told.rows() + " | " + describeStatuses(out), headers
}

// describeStatuses returns the codes of a response.
func describeStatuses(out *service.RateLimitResponse) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v:", out.GetOverallCode())
	for i, s := range out.GetStatuses() {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " %v", s.GetCode())
		if l := s.GetCurrentLimit(); l != nil {
			fmt.Fprintf(&b, " %d/", l.GetRequestsPerUnit())
			if n := l.GetUnitMultiplier(); n != nil {
				fmt.Fprintf(&b, "%dx", n.GetValue())
			}
			fmt.Fprint(&b, l.GetUnit())
			if l.GetName() != "" {
				fmt.Fprintf(&b, " %q", l.GetName())
			}
		}
		fmt.Fprintf(&b, " %d", s.GetLimitRemaining())
		if reset := s.GetDurationUntilReset(); reset != nil {
			fmt.Fprintf(&b, " %ds", reset.GetSeconds())
		}
	}
	return b.String()
}

// headersOf returns the headers of a response.
func headersOf(out *service.RateLimitResponse) string {
	var all []string
	for _, h := range out.GetResponseHeadersToAdd() {
		all = append(all, h.GetKey()+": "+h.GetValue())
	}
	return joined(all)
}

// joined returns headers in a line.
func joined(all []string) string {
	if len(all) == 0 {
		return "no headers"
	}
	return strings.Join(all, " | ")
}
