package rls

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"limitsrv/commands/limiters"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/server/rls/envoy"
)

// A scalar is the text of a JSON string or number.
type scalar string

// UnmarshalJSON reads a string or a number. It takes null for no value, as the other fields do.
func (s *scalar) UnmarshalJSON(b []byte) error {
	switch {
	case string(b) == "null":
		return nil
	case b[0] == '"':
		return json.Unmarshal(b, (*string)(s))
	case b[0] != '-' && (b[0] < '0' || b[0] > '9'):
		return badRequest(fmt.Sprintf("a number or a string, got %.40s", b))
	}
	*s = scalar(b)
	return nil
}

// A reserving is the field reserve of POST /v1/check.
type reserving struct {
	ID      string `json:"id"`
	TTL     scalar `json:"ttl"`
	Keep    scalar `json:"keep"`
	Partial bool   `json:"partial"`
}

// set makes q a request that is reserved. Without an id, it gets a new id.
func (in *reserving) set(q *checks.Request) (err error) {
	if q.Once != nil {
		return badRequest("give once or reserve, not both: the id of a reservation already makes the request repeatable")
	}
	if in.ID == "" {
		in.ID = newID()
	}
	words := words("RESERVE", in.ID, string(in.TTL))
	if in.Keep != "" {
		words = append(words, []byte("KEEP"), []byte(in.Keep))
	}
	q.Reserve, q.Terms, err = limiters.ParseReserve(words)
	q.Terms.Partial = in.Partial
	return err
}

// idPrefix begins the ids of reservations that the server makes, so that a user can have a pattern for
// them.
const idPrefix = "reservation:"

// newID returns an id of 128 random bits.
func newID() string {
	var bits [16]byte
	_, _ = rand.Read(bits[:]) // it never fails
	return idPrefix + hex.EncodeToString(bits[:])
}

// words returns the words of a line.
func words(all ...string) (line [][]byte) {
	for _, w := range all {
		line = append(line, []byte(w))
	}
	return line
}

// An actual is the words of RL.COMMIT for the number of tokens that were used of all limits, or of each, or for the
// named amounts that were used.
type actual [][]byte

// UnmarshalJSON reads a number, a list of numbers, or an object of named amounts. It takes null for no number.
func (a *actual) UnmarshalJSON(b []byte) error {
	list := []json.RawMessage{b}
	switch {
	case string(b) == "null":
		return nil
	case b[0] == '{':
		all, err := readAmounts("actual", b)
		for i := range all {
			*a = append(*a, strconv.AppendInt(append(all[i].Name, '='), all[i].N, 10))
		}
		return err
	case b[0] == '[':
		list = nil
		if err := json.Unmarshal(b, &list); err != nil {
			return err
		}
	}
	for _, item := range list {
		n, err := readHits("actual", item)
		if err != nil {
			return err
		}
		*a = append(*a, strconv.AppendInt(nil, n, 10))
	}
	return nil
}

// readCommit reads the body of POST /v1/commit into a line of RL.COMMIT.
func readCommit(body []byte) ([][]byte, error) {
	var in struct {
		ID     string `json:"id"`
		Actual actual `json:"actual"`
	}
	if err := envoy.DecodeStrict(body, &in); err != nil {
		return nil, err
	}
	if len(in.Actual) == 0 {
		return nil, badRequest("actual: the number of tokens used, a list with the number of each limit, or an object of " +
			"amounts, got none")
	}
	return append(words("RL.COMMIT", in.ID), in.Actual...), nil
}

// readExtend reads the body of POST /v1/extend into a line of RL.EXTEND.
func readExtend(body []byte) ([][]byte, error) {
	var in struct {
		ID   string `json:"id"`
		TTL  scalar `json:"ttl"`
		By   int64  `json:"by"`
		Keep scalar `json:"keep"`
	}
	if err := envoy.DecodeStrict(body, &in); err != nil {
		return nil, err
	}
	line := words("RL.EXTEND", in.ID, string(in.TTL))
	switch {
	case in.By < 0 || in.By > engine.MaxN:
		return nil, badRequest(fmt.Sprintf("by: 0 to %d, got %d", int64(engine.MaxN), in.By))
	case in.By > 0:
		line = append(line, words("BY", strconv.FormatInt(in.By, 10))...)
	}
	if in.Keep != "" {
		line = append(line, words("KEEP", string(in.Keep))...)
	}
	return line, nil
}

// readCancel reads the body of POST /v1/cancel into a line of RL.CANCEL.
func readCancel(body []byte) ([][]byte, error) {
	var in struct {
		ID string `json:"id"`
	}
	err := envoy.DecodeStrict(body, &in)
	return words("RL.CANCEL", in.ID), err
}

// A settlement is the answer to a request about a reservation.
type settlement struct {
	Done  bool   `json:"done"`
	State string `json:"state"`
	N     int64  `json:"n"`
	// WaitMillis is the time until an extension that is limited would pass; nil for any other answer.
	WaitMillis *int64 `json:"wait_ms,omitempty"`
}

// settle serves POST on a path with bodies that read reads.
func (s *core) settle(read func(body []byte) ([][]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		account, line, ok := readAsked(s, w, r, read)
		if !ok {
			return
		}
		out, err := s.cfg.Decider.Settle(r.Context(),
			session.Call{Account: account, From: r.RemoteAddr, Via: session.HTTP, Args: line})
		switch {
		case err != nil:
			replyFailure(w, failureOf(err, s.log))
		case !out.Known:
			replyText(w, http.StatusNotFound,
				"no reservation has this id; an id is forgotten five minutes after its reservation was settled or has expired")
		case out.IsLimited():
			if out.WaitMillis >= 0 {
				w.Header().Set("Retry-After", strconv.FormatInt(checks.Seconds(out.WaitMillis), 10))
			}
			replyJSON(w, http.StatusTooManyRequests, "application/json",
				&settlement{out.Done, out.State, out.N, &out.WaitMillis})
		default:
			replyJSON(w, http.StatusOK, "application/json", &settlement{Done: out.Done, State: out.State, N: out.N})
		}
	}
}
