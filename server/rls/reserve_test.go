package rls

import (
	"strings"
	"testing"
	"time"

	"limitsrv/server/rls/envoy"
)

// TestReservationsOverHTTP reserves by /v1/check, and settles the reservations.
func TestReservationsOverHTTP(t *testing.T) {
	s := startStack(t, `
domain: llm
rules:
  - {name: calls, per: [tenant], limits: [{count: 9, window: 1m, algorithm: log, hits: 1}]}
  - {name: tokens, per: [tenant], limits: [{count: 1000, window: 1m, algorithm: log}]}
  - {name: spend, match: {model: big}, per: [model], limits: [{count: 9000, window: 1d, weights: {in: 2.50, out: 10}}]}
  - {name: jobs, match: {job: "yes"}, per: [tenant], limits: [2 at once ttl 30s]}
`, envoy.Options{})
	defer s.stop()
	const ask = `{"domain":"llm","attributes":{"tenant":"a"},`
	const big = `{"domain":"llm","attributes":{"model":"big"},`
	const job = `{"domain":"llm","attributes":{"tenant":"b","job":"yes"},`
	for _, tt := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"check", ask + `"hits":400,"reserve":{"id":"r","ttl":"30s","keep":100}}`, 200, `"descriptor":0,"reservation":"r"}`},
		{"check", ask + `"hits":400,"reserve":{"id":"r","ttl":60}}`, 200, `"remaining":8,`},
		{"check", ask + `"hits":401,"reserve":{"id":"r","ttl":60}}`, 409, "BUSYKEY id 'r' is of another request"},
		{"check", ask + `"hits":700,"reserve":{"id":"s","ttl":60}}`, 429, `"rule":"tokens/log-1m"`},
		{"check", ask + `"hits":700,"reserve":{"id":"s","ttl":60,"partial":true}}`, 200, `"reservation":"s","granted":600}`},
		{"check", ask + `"hits":1,"reserve":{"ttl":60},"peek":true}`, 429, `"limited"`},
		{"extend", `{"id":"s","ttl":"1m","by":5}`, 429, `{"done":false,"state":"limited","n":600,"wait_ms":60000}`},
		{"extend", `{"id":"s","ttl":"1m","keep":"ALL"}`, 200, `{"done":true,"state":"open","n":600}`},
		{"commit", `{"id":"s","actual":20}`, 200, `{"done":true,"state":"committed","n":20}`},
		{"commit", `{"id":"s","actual":20}`, 200, `{"done":true,"state":"committed","n":20}`},
		{"commit", `{"id":"s","actual":21}`, 200, `{"done":false,"state":"committed","n":20}`},
		{"extend", `{"id":"r","ttl":60,"by":5,"keep":7}`, 200, `{"done":true,"state":"open","n":405}`},
		{"commit", `{"id":"r","actual":[1,2,3]}`, 400, "ERR RL.COMMIT takes 1 number"},
		{"commit", `{"id":"r","actual":[1,30]}`, 200, `{"done":true,"state":"committed","n":30}`},
		{"check", ask + `"hits":0,"reserve":{"id":"z","ttl":60}}`, 200, `"reservation":"z"`},
		{"cancel", `{"id":"z"}`, 200, `{"done":true,"state":"canceled","n":0}`},
		{"check", ask + `"hits":951}`, 429, `"remaining":950`},
		{"check", ask + `"hits":950}`, 200, `"allowed":true`},
		{"check", big + `"hits":{"in":100,"out":200},"reserve":{"id":"w","ttl":60}}`, 200, `"reservation":"w"`},
		{"commit", `{"id":"w","actual":{"in":1,"tokens":2}}`, 400,
			"ERR amount: one of the reservation, got 'tokens'; there are in, out"},
		{"commit", `{"id":"w","actual":{"in":-1}}`, 400, "actual.in: 0 to"},
		{"commit", `{"id":"w","actual":{"in=1":1}}`, 400, "ERR RL.COMMIT in must be a whole number"},
		{"commit", `{"id":"w","actual":{"in":1,"in":1}}`, 400, "twice"},
		{"commit", `{"id":"w","actual":{}}`, 400, "or an object of amounts, got none"},
		{"commit", `{"id":"w","actual":{"in":101,"out":11}}`, 200, `{"done":true,"state":"committed","n":363}`},
		{"commit", `{"id":"w","actual":{"out":11,"in":101}}`, 200, `{"done":true,"state":"committed","n":363}`},
		{"check", big + `"hits":0}`, 200, `"remaining":8637`},
		{"commit", `{"id":"unknown","actual":1}`, 404, "no reservation has this id"},
		{"extend", `{"id":"unknown","ttl":1}`, 404, "no reservation has this id"},
		{"cancel", `{"id":"unknown"}`, 404, "no reservation has this id"},
		{"check", job + `"reserve":{"id":"j1","ttl":60}}`, 200, `"reservation":"j1"`},
		{"check", job + `"reserve":{"id":"j1","ttl":60}}`, 200, `"reservation":"j1"`},
		{"check", job + `"reserve":{"id":"j2","ttl":60}}`, 200, `"reservation":"j2"`},
		{"check", job + `"reserve":{"id":"j3","ttl":60}}`, 429, `"rule":"jobs/lease-30s"`},
		{"extend", `{"id":"j2","ttl":"2m"}`, 200, `{"done":true,"state":"open","n":1}`},
		{"commit", `{"id":"j1","actual":1}`, 200, `{"done":true,"state":"committed","n":1}`},
		{"check", job + `"reserve":{"id":"j3","ttl":60}}`, 200, `"reservation":"j3"`},
		{"check", job + `"reserve":{"id":"j4","ttl":60}}`, 429, `"rule":"jobs/lease-30s"`},
		{"cancel", `{"id":"j3"}`, 200, `{"done":true,"state":"canceled","n":0}`},
		{"check", job + `"reserve":{"id":"j4","ttl":60}}`, 200, `"reservation":"j4"`},
		{"check", job + `"id":"me","reserve":{"ttl":60}}`, 400, "with RESERVE their holder is the id of the reservation"},
		{"check", ask + `"reserve":{"id":"x"}}`, 400, "ERR ttl must be a duration"},
		{"check", ask + `"reserve":{"id":"x","ttl":true}}`, 400, "a number or a string, got true"},
		{"check", ask + `"reserve":{"id":"x","ttl":1,"keep":-1}}`, 400, "ERR k must be a whole number"},
		{"check", ask + `"reserve":{"id":"x","ttl":1},"once":"y"}`, 400, "give once or reserve, not both"},
		{"check", ask + `"reserve":{"Id":"x","ttl":1}}`, 400, `"error"`},
		{"check", ask + `"reserve":{"id":"x","id":"y","ttl":1}}`, 400, "twice in one object"},
		{"commit", `{"id":"r"}`, 400, "actual: the number of tokens used"},
		{"commit", `{"id":"r","actual":-1}`, 400, "actual: 0 to 2000000000001, got -1"},
		{"commit", `{"id":"","actual":1}`, 400, "ERR id must be 1 to 1024 bytes long"},
		{"commit", `{"id":"r","actual":1,"actual":1}`, 400, "twice in one object"},
		{"commit", `{"ID":"r","actual":1}`, 400, `"error"`},
		{"extend", `{"id":"r","ttl":1,"by":-1}`, 400, "by: 0 to 2000000000001, got -1"},
		{"cancel", `{"id":"r","ttl":1}`, 400, "unknown field"},
		{"cancel", `nothing`, 400, "the body"},
	} {
		answer, out := s.post(t, "/v1/"+tt.path, []byte(tt.body))
		body := string(out)
		if answer.StatusCode != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s: %d %s, want %d %s", tt.path, tt.body, answer.StatusCode, body, tt.status, tt.want)
		}
		if after := answer.Header.Get("Retry-After"); strings.Contains(body, "wait_ms\":60000}") && after != "60" {
			t.Errorf("%s %s: Retry-After is %q", tt.path, tt.body, after)
		}
	}
}

// TestIDsOfReservations: without an id the server makes a new one, and a reservation that nobody settles
// ends.
func TestIDsOfReservations(t *testing.T) {
	s := startStack(t, "domain: llm\nrules: [{name: tokens, per: [tenant], limits: [1000/m log]}]", envoy.Options{})
	defer s.stop()
	const body = `{"domain":"llm","attributes":{"tenant":"a"},"hits":500,"reserve":{"ttl":"5s","keep":10}}`
	seen := map[string]bool{}
	for range 2 {
		answer, text := s.post(t, "/v1/check", []byte(body))
		_, id, _ := strings.Cut(string(text), `"reservation":"`)
		id, _, _ = strings.Cut(id, `"`)
		if answer.StatusCode != 200 || seen[id] || !strings.HasPrefix(id, idPrefix) || len(id) != len(idPrefix)+32 {
			t.Errorf("%d %s", answer.StatusCode, text)
		}
		seen[id] = true
	}
	s.advance(5 * time.Second)
	answer, text := s.post(t, "/v1/check", []byte(`{"domain":"llm","attributes":{"tenant":"a"},"hits":980}`))
	if answer.StatusCode != 200 {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}
