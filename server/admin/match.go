package admin

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"

	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/rules/live"
	"limitsrv/commands/session"
	"limitsrv/engine"
)

// A matched is the reply to GET /api/match.
type matched struct {
	Verdict   string         `json:"verdict"` // ok, denied, allowed, unlimited, none or unmatched
	Limits    []matchedLimit `json:"limits"`
	Boxes     []string       `json:"boxes"` // keys in base64url
	Explained []explained    `json:"explained"`
	Now       outcomeNow     `json:"now"`
}

// An outcomeNow is the answer that the request would get now. Wait is the time until the same
// request would pass; -1: it never will.
type outcomeNow struct {
	Allowed   bool   `json:"allowed"`
	Reason    string `json:"reason"`    // as in RL.CHECK
	Name      string `json:"name"`      // of the binding limit or the limit with a blocked key, or of the rule with a closed box
	Remaining int64  `json:"remaining"` // -1: no limit binds
	Wait      int64  `json:"wait_ms"`
	Error     string `json:"error"` // why no request is decided now; empty: the other fields are valid
}

// A matchedLimit is a limit that the request meets, with the key of its counter.
type matchedLimit struct {
	Name  string `json:"name"`
	Limit string `json:"limit"`
	Mode  string `json:"mode"`
	Raw   string `json:"raw"`
	// Row is null if the request is blocked, or can't be decided.
	Row *limitNow `json:"now"`
}

// A limitNow is the answer of one limit.
type limitNow struct {
	Allowed   bool  `json:"allowed"`
	Remaining int64 `json:"remaining"`
	Wait      int64 `json:"wait_ms"`
}

type explained struct {
	Rule    string `json:"rule"`
	Matches bool   `json:"matches"`
	Reason  string `json:"reason"`
}

// match serves GET /api/match: the limits that a request with one descriptor meets, and the answer
// that it would get now. It counts nothing, and requires the rights of RL.RULES MATCH.
func (a *api) match(w http.ResponseWriter, r *http.Request, id identity) {
	q, err := parseAttributes(r.URL.Query().Get("domain"), r.URL.Query()["a"])
	if err == nil {
		args := []string{"RL.RULES", "MATCH", string(q.Domain)}
		for _, e := range q.Descriptors[0].Entries {
			args = append(args, string(e.Key), string(e.Value))
		}
		err = a.cfg.Handler.May(id.account, args...)
	}
	s := a.cfg.Handler.Config().Rules.Current()
	if err == nil {
		err = s.Err
	}
	var found matched
	if err == nil {
		found, err = findMatches(s, a.cfg.Handler.Now(), q)
	}
	if err != nil {
		a.replyCommandError(w, err)
		return
	}
	a.decideNow(r.Context(), id, q, &found)
	reply(w, found)
}

// decideNow sets the answer that the request would get now.
func (a *api) decideNow(ctx context.Context, id identity, q *rules.Request, m *matched) {
	look := checks.Request{Request: *q, Hits: 1, ID: []byte(rand.Text())} // a holder without leases
	err := a.cfg.Handler.Look(ctx, session.Call{Account: id.account, From: id.from}, &look,
		func(answer *checks.Answer) {
			m.Now = outcomeNow{Allowed: answer.Allowed, Reason: answer.Reason.String(), Name: printed(answer.Name),
				Remaining: answer.Remaining, Wait: answer.WaitMillis}
			if len(answer.Rows) != len(m.Limits) { // blocked, or other rules were loaded meanwhile
				return
			}
			for i := range answer.Rows {
				row := &answer.Rows[i]
				m.Limits[i].Row = &limitNow{row.Allowed, row.Remaining, row.WaitMillis}
			}
		})
	if err != nil {
		m.Now = outcomeNow{Error: clientText(err)}
	}
}

// parseAttributes makes a request with one descriptor of a domain, and of attributes: key and value
// with a dot between them. All parts are in base64url.
func parseAttributes(inDomain string, attributes []string) (*rules.Request, error) {
	domain, err := decodeKey(inDomain)
	if err != nil {
		return nil, err
	}
	var d rules.Descriptor
	for _, a := range attributes {
		key, value, _ := strings.Cut(a, ".")
		var e rules.Entry
		if e.Key, err = decodeKey(key); err == nil {
			e.Value, err = decodeKey(value)
		}
		if err != nil {
			return nil, err
		}
		d.Entries = append(d.Entries, e)
	}
	if len(d.Entries) == 0 {
		return nil, resp.NewError("ERR",
			fmt.Sprintf("a must be there 1 to %d times, once for each attribute, got none", rules.MaxEntries))
	}
	return &rules.Request{Domain: domain, Descriptors: []rules.Descriptor{d}}, nil
}

// findMatches finds the limits of a request.
func findMatches(s *live.State, now engine.Instant, q *rules.Request) (m matched, err error) {
	var r rules.Result
	if err = s.Set.Match(q, s.Overrides, now, &r); err != nil {
		return m, resp.NewError("ERR", err.Error())
	}
	m = matched{Verdict: r.Verdict.String(), Limits: make([]matchedLimit, len(r.Limits)), Boxes: []string{},
		Explained: []explained{}}
	for i := range r.Limits {
		l := &r.Limits[i]
		m.Limits[i] = matchedLimit{printed(l.Name()), l.Limit.String(), s.Mode(l.Mode).String(), encodeKey(l.Key), nil}
	}
	for i := range r.Guards {
		if !s.Shadow {
			m.Boxes = append(m.Boxes, encodeKey(r.Guards[i].Key))
		}
	}
	all := r.Explain(q)
	for _, e := range all[:min(len(all), maxRuleRows)] {
		m.Explained = append(m.Explained, explained{printed(e.Rule), e.Matches, printed(e.Reason)})
	}
	return m, nil
}
