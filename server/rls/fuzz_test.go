package rls

import (
	"encoding/json"
	"strconv"
	"testing"

	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/rules/source"
	"limitsrv/engine"
)

// MarshalJSON writes hits as they were read.
func (h hits) MarshalJSON() ([]byte, error) {
	if h.amounts == nil {
		return json.Marshal(h.n)
	}
	dst := []byte{'{'}
	for i, a := range h.amounts {
		if i > 0 {
			dst = append(dst, ',')
		}
		name, err := json.Marshal(string(a.Name))
		if err != nil {
			return nil, err
		}
		dst = strconv.AppendInt(append(append(dst, name...), ':'), a.N, 10)
	}
	return append(dst, '}'), nil
}

// questionOf returns a request as a body of POST /v1/check.
func questionOf(q *checks.Request) question {
	in := question{Domain: string(q.Domain), Hits: hits{q.Hits, true, q.Amounts}, ID: string(q.ID), Peek: q.Peek}
	for _, d := range q.Descriptors {
		pairs := [][2]string{}
		for _, e := range d.Entries {
			pairs = append(pairs, [2]string{string(e.Key), string(e.Value)})
		}
		in.Descriptors = append(in.Descriptors, pairs)
	}
	return in
}

// FuzzReadQuestion reads any body of POST /v1/check. It is rejected with an error for the
// client, or is a request within its bounds that reads the same when it is written again, and
// that rules decide or reject.
func FuzzReadQuestion(f *testing.F) {
	for _, body := range []string{
		`{"domain":"api","attributes":{"z":"1","a":"2","z":"3"}}`,
		`{"domain":"api","attributes":{"ip":"192.0.2.1"},"descriptors":[[["user","b"],["c","d"]],[["ip",""]]],"hits":0,"id":"x","peek":true}`,
		`{"domain":"api","attributes":null,"descriptors":[null,[]],"hits":2000000000001}`,
		`{"domain":"api","descriptors":[[["user","b"]]],"hits":{"in":5,"out":2000000000001}}`,
		`{"domain":"\ud800","attributes":{"a":1}}`, `{"DOMAIN":"api"}{}`, `[]`,
	} {
		f.Add([]byte(body))
	}
	set, err := rules.Load([]source.File{{Text: []byte("domain: api\ndescriptors: [{key: ip, rate_limit: {unit: hour, " +
		"requests_per_unit: 1}}]\nrules: [{name: r, per: [user], limits: 1/s weights in=0.5}]\n")}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		q, err := readQuestion(body)
		if err != nil {
			if resp.ErrorOf(err) == nil {
				t.Fatalf("readQuestion(%q) fails with %v, which is not for clients", body, err)
			}
			return
		}
		if q.Hits < 0 || q.Hits > engine.MaxN || len(q.ID) > engine.MaxIDBytes {
			t.Fatalf("readQuestion(%q) has %d hits and an id of %d bytes", body, q.Hits, len(q.ID))
		}
		text, err := json.Marshal(questionOf(q))
		if err != nil {
			t.Fatal(err)
		}
		again, err := readQuestion(text)
		if err != nil {
			t.Fatalf("readQuestion(%q) fails with %v for a body that was %q", text, err, body)
		}
		if second, err := json.Marshal(questionOf(again)); err != nil || string(second) != string(text) {
			t.Fatalf("readQuestion(%q) = %s, %v; want %s", text, second, err, text)
		}
		var r rules.Result
		if err := set.Match(&q.Request, nil, 1, &r); err == nil && len(r.Descriptors) != len(q.Descriptors) {
			t.Fatalf("%d verdicts on %d descriptors", len(r.Descriptors), len(q.Descriptors))
		}
	})
}
