package rls

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"limitsrv/commands/auth"
	"limitsrv/commands/limiters"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/session"
	"limitsrv/commands/weighing"
	"limitsrv/engine"
	"limitsrv/server/rls/envoy"
)

// An attributes is a JSON object of strings, in its order.
type attributes []rules.Entry

// UnmarshalJSON reads an object. It takes null for an empty object, as the other fields do.
func (a *attributes) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(b))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return badRequest("attributes: an object of strings")
	}
	for decoder.More() {
		var value string
		key, err := decoder.Token()
		if err == nil {
			err = decoder.Decode(&value)
		}
		if err != nil {
			return badRequest("attributes: an object of strings")
		}
		*a = append(*a, rules.Entry{Key: []byte(key.(string)), Value: []byte(value)})
	}
	return nil
}

// A hits is a number of tokens, or a JSON object of named amounts in its order.
type hits struct {
	n       int64
	given   bool // n, and no amounts
	amounts []weighing.Amount
}

// UnmarshalJSON reads a number or an object. It takes null for no number, as the other fields do.
func (h *hits) UnmarshalJSON(b []byte) (err error) {
	switch {
	case string(b) == "null":
		return nil
	case b[0] != '{':
		h.n, err = readHits("hits", b)
		h.given = true
		return err
	}
	if h.amounts, err = readAmounts("hits", b); err == nil && h.amounts == nil {
		err = badRequest("hits: a number or at least one amount, got none")
	}
	return err
}

// readAmounts reads a JSON object of named amounts, in its order.
func readAmounts(field string, b []byte) (all []weighing.Amount, err error) {
	decoder := json.NewDecoder(bytes.NewReader(b))
	decoder.Token() // of the start; the JSON is valid
	for decoder.More() {
		var value json.RawMessage
		name, _ := decoder.Token()
		decoder.Decode(&value)
		n, err := readHits(field+"."+name.(string), value)
		if err != nil {
			return nil, err
		}
		all = append(all, weighing.Amount{Name: []byte(name.(string)), N: n})
	}
	return all, nil
}

// readHits reads a number of tokens.
func readHits(name string, b []byte) (n int64, err error) {
	if err = json.Unmarshal(b, &n); err != nil || n < 0 || n > engine.MaxN || string(b) == "null" {
		return 0, badRequest(fmt.Sprintf("%.80s: 0 to %d, got %.40s", name, int64(engine.MaxN), b))
	}
	return n, nil
}

// A question is the body of POST /v1/check.
type question struct {
	Domain      string        `json:"domain"`
	Attributes  attributes    `json:"attributes"`
	Descriptors [][][2]string `json:"descriptors"`
	Hits        hits          `json:"hits"`
	ID          string        `json:"id"`
	Peek        bool          `json:"peek"`
	Once        string        `json:"once"`
	Reserve     *reserving    `json:"reserve"`
}

// request returns the question as a request: the attributes are its first descriptor.
func (in *question) request() (*checks.Request, error) {
	q := &checks.Request{Request: rules.Request{Domain: []byte(in.Domain)}, Hits: 1, ID: []byte(in.ID), Peek: in.Peek}
	if q.Amounts = in.Hits.amounts; in.Hits.given {
		q.Hits = in.Hits.n
	}
	switch {
	case len(in.ID) > engine.MaxIDBytes:
		return nil, badRequest(fmt.Sprintf("id: at most %d bytes, got %d", engine.MaxIDBytes, len(in.ID)))
	case len(in.Once) > engine.MaxIDBytes:
		return nil, badRequest(fmt.Sprintf("once: at most %d bytes, got %d", engine.MaxIDBytes, len(in.Once)))
	case in.Attributes != nil:
		q.Descriptors = append(q.Descriptors, rules.Descriptor{Entries: in.Attributes})
	}
	if in.Once != "" {
		q.Once, q.OnceFor = []byte(in.Once), limiters.OnceFor
	}
	for _, pairs := range in.Descriptors {
		var d rules.Descriptor
		for _, pair := range pairs {
			d.Entries = append(d.Entries, rules.Entry{Key: []byte(pair[0]), Value: []byte(pair[1])})
		}
		q.Descriptors = append(q.Descriptors, d)
	}
	if in.Reserve != nil {
		return q, in.Reserve.set(q)
	}
	return q, nil
}

// readQuestion reads the body of POST /v1/check. An error is an *resp.Error for the client.
func readQuestion(body []byte) (*checks.Request, error) {
	var in question
	if err := envoy.DecodeStrict(body, &in); err != nil {
		return nil, err
	}
	return in.request()
}

// check serves POST /v1/check.
func (s *core) check(w http.ResponseWriter, r *http.Request) {
	if account, q, ok := readAsked(s, w, r, readQuestion); ok {
		s.reply(w, r, account, q, http.StatusTooManyRequests, true)
	}
}

// readAsked returns the account of a request, and its body as read returns it. ok is false if it has refused
// the request.
func readAsked[T any](s *core, w http.ResponseWriter, r *http.Request, read func(body []byte) (T, error)) (
	account *auth.Account, in T, ok bool) {
	if account, ok = s.identify(w, r); !ok {
		return nil, in, false
	}
	body, ok := s.readBody(w, r, nil)
	if !ok {
		return nil, in, false
	}
	in, err := read(body)
	if err != nil {
		s.refuse(w, failureOf(err, s.log))
	}
	return account, in, err == nil
}

// httpHeaders are the headers of answers on /v1.
const httpHeaders = checks.XHeaders | checks.DraftHeaders

// A verdict is the answer to a request on /v1.
type verdict struct {
	Allowed     bool   `json:"allowed"`
	Limit       int64  `json:"limit"`
	Remaining   int64  `json:"remaining"`
	WaitMillis  int64  `json:"wait_ms"`
	ResetMillis int64  `json:"reset_ms"`
	Rule        string `json:"rule"`
	Reason      string `json:"reason"`
	// Descriptor is the index of the descriptor with the rule, from 0; nil without a rule.
	Descriptor *int `json:"descriptor,omitempty"`
	// Reservation is the id of the reservation, and Granted the number of tokens of a partial reservation.
	Reservation string `json:"reservation,omitempty"`
	Granted     int64  `json:"granted,omitempty"`
}

// A problem is a verdict that denies, as RFC 9457 has it.
type problem struct {
	Type     string   `json:"type,omitempty"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Violated []string `json:"violated-policies,omitempty"`
	verdict
}

// Types of problems, of draft-ietf-httpapi-ratelimit-headers-10.
const (
	quotaExceeded    = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	abnormalDetected = "https://iana.org/assignments/http-problem-types#abnormal-usage-detected"
)

// A written is an answer as HTTP has it.
type written struct {
	headers    checks.Headers
	verdict    verdict
	problem    problem
	descriptor int // of the verdict
}

// set makes the parts of an answer.
func (o *written) set(a *checks.Answer) {
	o.headers.Set(a, httpHeaders)
	o.verdict = verdict{Allowed: a.Allowed, Limit: a.Limit, Remaining: a.Remaining, WaitMillis: a.WaitMillis,
		ResetMillis: a.ResetMillis, Rule: a.Name, Reason: a.Reason.String(), Granted: a.Granted}
	if o.descriptor = a.Descriptor; o.descriptor >= 0 {
		o.verdict.Descriptor = &o.descriptor
	}
	o.problem = problem{Title: "The request is denied", verdict: o.verdict}
	switch a.Reason {
	case checks.Limited, checks.Quota:
		o.problem.Type, o.problem.Title = quotaExceeded, "A limit is exceeded"
		for i := range a.Rows {
			if !a.Rows[i].Allowed && a.Met[i].Mode != rules.Shadow {
				o.problem.Violated = append(o.problem.Violated, a.Rows[i].Name)
			}
		}
	case checks.Blocked:
		o.problem.Type, o.problem.Title = abnormalDetected, "Too many requests were denied, so all are for a while"
		for i := range a.Boxes {
			if a.Boxes[i].Limit > 0 {
				o.problem.Title = "An administrator blocks these requests for a while"
			}
			o.problem.Violated = append(o.problem.Violated, a.Boxes[i].Name)
		}
	}
}

// reply decides a request and replies with the answer. denied is the status of a denial;
// withVerdict: an answer that allows has a body too.
func (s *core) reply(w http.ResponseWriter, r *http.Request, account *auth.Account, q *checks.Request, denied int,
	withVerdict bool) {
	var o written
	if err := s.ask(r.Context(), account, r.RemoteAddr, q, &o); err != nil {
		replyFailure(w, failureOf(err, s.log))
		return
	}
	for _, h := range o.headers.List {
		w.Header()[h.Name] = []string{string(h.Value)}
	}
	switch {
	case !o.verdict.Allowed:
		o.problem.Status = denied
		replyJSON(w, denied, "application/problem+json", &o.problem)
	case withVerdict:
		if q.IsReserved() {
			o.verdict.Reservation = string(q.Reserve)
		}
		replyJSON(w, http.StatusOK, "application/json", &o.verdict)
	default:
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusOK)
	}
}

func (s *core) ask(ctx context.Context, account *auth.Account, from string, q *checks.Request, o *written) error {
	return s.cfg.Decider.Check(ctx, session.Call{Account: account, From: from, Via: session.HTTP}, q, o.set)
}
