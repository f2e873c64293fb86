package rls

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	service "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"limitsrv/commands"
	"limitsrv/commands/backend"
	"limitsrv/commands/calls"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/live"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
	"limitsrv/server"
	"limitsrv/server/rls/envoy"
)

// stackStart is the first time of a stack's clock: 45 144 ms before the end of a minute.
var stackStart = time.Date(2026, 11, 22, 2, 39, 14, 856_100_000, time.UTC)

// A stack is a server with its rules, its listeners for clients and for requests by rules, and
// a clock that moves by advance.
type stack struct {
	clock   *backend.TestClock
	handler *session.Handler
	server  *server.Server
	rls     *Server
	grpc    *grpc.ClientConn
	envoy   service.RateLimitServiceClient
	http    *http.Client
	wire    net.Conn
	reader  *bufio.Reader
}

// stackDecider is the handler with the domains of its rules.
type stackDecider struct{ *session.Handler }

func (d stackDecider) Domain(name string) *rules.Domain {
	return d.Config().Rules.Current().Set.Domain(name)
}

// startStack starts a server with rules, that answers Envoy with these options, at its own time.
// The caller must stop it.
func startStack(t *testing.T, text string, o envoy.Options) *stack {
	t.Helper()
	return startStackWith(t, text, o, live.Options{})
}

// startStackWith is startStack with options of the rules.
func startStackWith(t *testing.T, text string, o envoy.Options, ro live.Options) *stack {
	t.Helper()
	e := engine.New(engine.Options{Shards: 4, Commands: calls.Commands})
	s := &stack{clock: backend.NewTestClock(engine.Instant(stackStart.UnixNano())),
		http: &http.Client{Timeout: testwait.Scaled(testTimeout)}}
	s.handler = commands.NewHandler(session.Config{
		Engine: func() *engine.Engine { return e }, Exec: &backend.Local{Engine: e, Clock: s.clock}, Clock: s.clock,
		TestClock: s.clock,
		Log:       slog.New(slog.DiscardHandler),
		Rules:     live.New(func() *engine.Engine { return e }, slog.New(slog.DiscardHandler), ro),
	})
	if _, err := s.handler.LoadRules(context.Background(),
		session.RulesLoad{Files: []source.File{{Name: "rules.yaml", Text: []byte(text)}}, Expect: -1}); err != nil {
		t.Fatal(err)
	}
	o.Now = s.clock.Now
	var err error
	if s.server, err = server.New(server.Config{
		Listen: "127.0.0.1:0", NewSession: func(c session.Client) server.Session { return s.handler.NewSession(c) },
		Commit: s.handler.Executor().Commit,
		Logger: slog.New(slog.DiscardHandler),
	}); err != nil {
		t.Fatal(err)
	}
	go s.server.Serve()
	if s.rls, err = New(Config{
		GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0", Decider: stackDecider{s.handler}, Logins: s.handler.Logins(),
		Logger:  slog.New(slog.DiscardHandler),
		Options: o,
	}); err != nil {
		t.Fatal(err)
	}
	go s.rls.Serve()
	if s.grpc, err = grpc.NewClient(s.rls.GRPCAddr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
	s.envoy = service.NewRateLimitServiceClient(s.grpc)
	if s.wire, err = net.Dial("tcp", s.server.Addr().String()); err != nil {
		t.Fatal(err)
	}
	s.wire.SetDeadline(testwait.Soon(10 * testTimeout))
	s.reader = bufio.NewReader(s.wire)
	return s
}

// stop stops the server.
func (s *stack) stop() {
	s.grpc.Close()
	s.wire.Close()
	s.http.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), testwait.Scaled(testTimeout))
	defer cancel()
	_ = s.rls.Shutdown(ctx)
	_ = s.server.Shutdown(ctx)
}

func (s *stack) advance(by time.Duration) { _ = s.clock.Advance(by) }

// An asked is a line of a script: a request for each interface.
type asked struct {
	line  string
	times int
	envoy *service.RateLimitRequest
}

// parseAsked parses a line of attributes, for the domain api unless it begins with another and
// a colon.
func parseAsked(t *testing.T, line string) *asked {
	t.Helper()
	q := &asked{line: strings.TrimSpace(line), times: 1, envoy: &service.RateLimitRequest{Domain: "api"}}
	words := strings.Fields(line)
	if n, found := strings.CutSuffix(words[0], "x"); found && !strings.HasSuffix(words[0], "xx") {
		if times, err := strconv.Atoi(n); err == nil {
			q.times, words = times, words[1:]
		}
	}
	if domain, found := strings.CutSuffix(words[0], ":"); found {
		q.envoy.Domain, words = domain, words[1:]
	}
	d := &common.RateLimitDescriptor{}
	q.envoy.Descriptors = append(q.envoy.Descriptors, d)
	for len(words) > 0 {
		if words[0] == "AND" {
			d, words = &common.RateLimitDescriptor{}, words[1:]
			q.envoy.Descriptors = append(q.envoy.Descriptors, d)
			continue
		}
		word, value := words[0], words[1]
		switch words = words[2:]; word {
		case "HITS":
			q.envoy.HitsAddend = uint32(number(t, value))
		case "OWN":
			value, d.IsNegativeHits = strings.CutPrefix(value, "-")
			d.HitsAddend = wrapperspb.UInt64(number(t, value))
		case "NEGATIVE":
			d.IsNegativeHits = value == "yes"
		case "LIMIT":
			count, unit, _ := strings.Cut(value, "/")
			multiplier, name, multiplied := strings.Cut(unit, "x")
			if !multiplied {
				name = unit
			}
			d.Limit = &common.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: uint32(number(t, count)),
				Unit: unitNamed(t, name)}
			if multiplied {
				d.Limit.UnitMultiplier = wrapperspb.UInt32(uint32(number(t, multiplier)))
			}
		default:
			d.Entries = append(d.Entries, &common.RateLimitDescriptor_Entry{Key: word, Value: value})
		}
	}
	return q
}

// unitNamed returns a unit by its name or number.
func unitNamed(t *testing.T, name string) typev3.RateLimitUnit {
	t.Helper()
	if n, named := typev3.RateLimitUnit_value[name]; named {
		return typev3.RateLimitUnit(n)
	}
	return typev3.RateLimitUnit(number(t, name))
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// hits returns the hits of a request for the interfaces that have one number.
func (q *asked) hits() uint64 {
	if own := q.envoy.Descriptors[0].HitsAddend; own != nil {
		return own.GetValue()
	}
	return max(1, uint64(q.envoy.GetHitsAddend()))
}

// askGRPC asks by gRPC, with generated code for Envoy.
func (s *stack) askGRPC(t *testing.T, q *asked) *service.RateLimitResponse {
	t.Helper()
	out, err := s.envoy.ShouldRateLimit(within(t), q.envoy)
	if err != nil {
		t.Fatalf("%s: %v", q.line, err)
	}
	return out
}

// post sends a body, and returns the answer with its body.
func (s *stack) post(t *testing.T, path string, body []byte) (*http.Response, []byte) {
	t.Helper()
	answer, err := s.http.Post("http://"+s.rls.HTTPAddr().String()+path, "application/json",
		strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, text
}

// askJSON asks /json.
func (s *stack) askJSON(t *testing.T, q *asked) *service.RateLimitResponse {
	t.Helper()
	body, err := protojson.Marshal(q.envoy)
	if err != nil {
		t.Fatal(err)
	}
	answer, text := s.post(t, "/json", body)
	out := new(service.RateLimitResponse)
	if err := protojson.Unmarshal(text, out); err != nil {
		t.Fatalf("%s: %s is answered %d %s: %v", q.line, body, answer.StatusCode, text, err)
	}
	if want := statusOf(out.GetOverallCode() == service.RateLimitResponse_OK, 429); answer.StatusCode != want {
		t.Errorf("%s: /json answers %d, want %d", q.line, answer.StatusCode, want)
	}
	return out
}

// askCheck asks /v1/check. It returns the verdict in the order of RL.CHECK, with the descriptor,
// and the headers.
func (s *stack) askCheck(t *testing.T, q *asked) (row, headers string) {
	t.Helper()
	in := question{Domain: q.envoy.GetDomain(), Hits: hits{n: int64(q.hits())}}
	for _, d := range q.envoy.GetDescriptors() {
		var pairs [][2]string
		for _, e := range d.GetEntries() {
			pairs = append(pairs, [2]string{e.GetKey(), e.GetValue()})
		}
		in.Descriptors = append(in.Descriptors, pairs)
	}
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	answer, text := s.post(t, "/v1/check", body)
	v := problem{}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %s is answered %d %s: %v", q.line, body, answer.StatusCode, text, err)
	}
	if want := statusOf(v.Allowed, 429); answer.StatusCode != want {
		t.Errorf("%s: /v1/check answers %d, want %d", q.line, answer.StatusCode, want)
	}
	descriptor := "-1"
	if v.Descriptor != nil {
		descriptor = strconv.Itoa(*v.Descriptor)
	}
	var all []string
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit-Policy",
		"RateLimit", "Retry-After"} {
		if value := answer.Header.Get(name); value != "" {
			all = append(all, name+": "+value)
		}
	}
	allowed := map[bool]int{true: 1}[v.Allowed]
	return fmt.Sprint([]any{allowed, v.Limit, v.Remaining, v.WaitMillis, v.ResetMillis, v.Rule, v.Reason}, " ",
		descriptor), joined(all)
}

// A told is a reply to RL.CHECK ROWS HEADERS.
type told []any

// askRESP asks by RL.CHECK over a connection.
func (s *stack) askRESP(t *testing.T, q *asked) told {
	t.Helper()
	line := []string{"RL.CHECK", q.envoy.GetDomain()}
	for i, d := range q.envoy.GetDescriptors() {
		if i > 0 {
			line = append(line, "AND")
		}
		for _, e := range d.GetEntries() {
			line = append(line, e.GetKey(), e.GetValue())
		}
	}
	line = append(line, "HITS", strconv.FormatUint(q.hits(), 10), "ROWS", "HEADERS")
	got := s.do(t, line...)
	reply, ok := got.([]any)
	if !ok || len(reply) != 9 {
		t.Fatalf("%s is answered %v", line, got)
	}
	return reply
}

// do sends a command and returns its reply.
func (s *stack) do(t *testing.T, line ...string) any {
	t.Helper()
	out := fmt.Sprintf("*%d\r\n", len(line))
	for _, word := range line {
		out += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(s.wire, out); err != nil {
		t.Fatal(err)
	}
	return s.reply(t)
}

// reply reads a reply: an int, a string, an error as text, or a []any of these.
func (s *stack) reply(t *testing.T) any {
	t.Helper()
	line, err := s.reader.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSuffix(line[1:], "\r\n")
	n, _ := strconv.Atoi(text)
	switch line[0] {
	case ':':
		return n
	case '$':
		b := make([]byte, n+2)
		if _, err := io.ReadFull(s.reader, b); err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	case '*':
		all := make([]any, n)
		for i := range all {
			all[i] = s.reply(t)
		}
		return all
	}
	return text
}

func (r told) allowed() bool { return r[0] == 1 }

// row returns the seven parts of every reply.
func (r told) row() string { return fmt.Sprint([]any(r[:7])) }

// rows returns the rows if there are several, or if a row says more than the reply.
func (r told) rows() string {
	rows := r[7].([]any)
	if len(rows) == 0 || len(rows) == 1 && rows[0].([]any)[6] == "enforced" {
		return ""
	}
	return " " + fmt.Sprint(rows)
}

// descriptor returns the descriptor of the first row with the numbers and the name of the reply,
// or -1.
func (r told) descriptor() int {
	for _, one := range r[7].([]any) {
		if row := one.([]any); row[0] == r[5] && slices.Equal(row[1:6], r[:5]) && row[6] != "shadow" {
			return row[7].(int)
		}
	}
	return -1
}

// headers returns the headers.
func (r told) headers() string {
	list := r[8].([]any)
	var all []string
	for i := 0; i < len(list); i += 2 {
		all = append(all, fmt.Sprint(list[i], ": ", list[i+1]))
	}
	return joined(all)
}
