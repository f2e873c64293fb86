package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"limitsrv/internal/respclient"
)

// rulePermits is the limit of version 0 of the rules under test. The limit of each version
// is higher by 1, so that an answer shows the version that decided.
const rulePermits = 20

// ruleText returns the text of a version, in a line.
func ruleText(version int) string {
	return fmt.Sprintf("{domain: fire, rules: [{name: calls, per: [client], limits: [%d/3650d fixed name all]}]}",
		rulePermits+version)
}

// ruleSHA returns the SHA-256 of the text of a version, as RL.RULES HISTORY has it.
func ruleSHA(version int) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(ruleText(version))))
}

// ruleVersions tells which versions of the rules can be in force, from all answers so far.
// Concurrency: any goroutine may call its methods.
type ruleVersions struct {
	mu    sync.Mutex
	known []int64 // by version: the earliest time that it was seen in force; 0: never
}

// newRuleVersions returns versions 1 to most, not seen yet.
func newRuleVersions(most int) *ruleVersions { return &ruleVersions{known: make([]int64, most+1)} }

func (v *ruleVersions) most() int { return len(v.known) - 1 }

// saw records an answer at a time that proves a version to be in force.
func (v *ruleVersions) saw(version int, known int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known[version] == 0 || known < v.known[version] {
		v.known[version] = known
	}
}

// least returns the oldest version that may decide a request sent at a time.
func (v *ruleVersions) least(sent int64) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	for version := v.most(); version > 0; version-- {
		if known := v.known[version]; known > 0 && known < sent {
			return version
		}
	}
	return 0
}

// A ruleHistory is the answers to checks of one client by rules whose limit grows with each version.
type ruleHistory struct {
	versions *ruleVersions
	client   string
	taken    *permitHistory // of the limit of the last version

	mu    sync.Mutex
	by    map[int64]int // the version that granted each permit
	empty []denial
}

// A denial is an answer that a limit has no permits left.
type denial struct{ limit, known int64 }

func newRuleHistory(v *ruleVersions, client string) *ruleHistory {
	return &ruleHistory{versions: v, client: client, taken: newPermitHistory(client, "", int64(rulePermits+v.most())),
		by: map[int64]int{}}
}

func (h *ruleHistory) next() (string, func(any, int64, int64) error) {
	return "RL.CHECK fire client " + h.client, h.note
}

func (h *ruleHistory) peeks() ([]string, int64) {
	return []string{"RL.CHECK fire client " + h.client + " PEEK"}, h.taken.limit
}

// note records the answer to a check. Its error tells of a decision by older rules too.
func (h *ruleHistory) note(reply any, sent, known int64) error {
	if outcomeOf(reply) != done {
		return h.taken.note(reply, sent, known)
	}
	list, ok := reply.([]any)
	if !ok || len(list) != 7 {
		return fmt.Errorf("reply to a check of %s = %v", h.client, reply)
	}
	limit, _ := list[1].(int64)
	remaining, _ := list[2].(int64)
	version, permit := int(limit-rulePermits), limit-remaining
	if version < 1 || version > h.versions.most() || remaining < 0 || permit < 1 || list[0] == int64(0) && remaining != 0 {
		return fmt.Errorf("reply to a check of %s = %v", h.client, reply)
	}
	if least := h.versions.least(sent); version < least {
		return fmt.Errorf("a check of %s was decided by version %d, after version %d was in force", h.client, version, least)
	}
	h.versions.saw(version, known)
	h.mu.Lock()
	defer h.mu.Unlock()
	if list[0] == int64(0) {
		h.empty = append(h.empty, denial{limit, known})
		return nil
	}
	h.by[permit] = version
	last := h.taken.limit
	return h.taken.note([]any{list[0], last, last - permit, list[3], list[4]}, sent, known)
}

// isExhausted reports whether the client was denied several times.
func (h *ruleHistory) isExhausted() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.empty) >= 20
}

// check returns an error unless a single server could have given all answers.
func (h *ruleHistory) check(gone []int64) error {
	failures := []error{h.taken.check(gone)}
	version := 0
	for permit := range h.taken.limit + 1 {
		if by, ok := h.by[permit]; ok {
			if by < version {
				failures = append(failures,
					fmt.Errorf("%s: permit %d was granted by version %d, an earlier one by version %d", h.client, permit, by, version))
			}
			version = by
		}
	}
	for _, d := range h.empty {
		if before := h.taken.takenBefore(d.known); before < d.limit {
			failures = append(failures, fmt.Errorf("%s: denied with at most %d permits of %d used", h.client, before, d.limit))
		}
	}
	return errors.Join(failures...)
}

func TestRuleHistory(t *testing.T) {
	answer := func(allowed, version, used int64) any {
		limit := rulePermits + version
		return []any{allowed, limit, limit - used, int64(0), int64(0), "calls/all", "ok"}
	}
	type check struct {
		sent, known int64
		reply       any
	}
	for _, tt := range []struct {
		name   string
		checks []check
		used   int64
		want   string // substring of the error; "": no error
	}{
		{"one version after the other", []check{{2, 3, answer(1, 1, 1)}, {4, 5, answer(1, 2, 2)}}, 2, ""},
		{"both at the same time", []check{{2, 5, answer(1, 2, 2)}, {3, 6, answer(1, 1, 1)}}, 2, ""},
		{"older rules after newer ones", []check{{2, 3, answer(1, 2, 1)}, {4, 5, answer(1, 1, 2)}}, 2,
			"by version 1, after version 2"},
		{"older rules after a load", []check{{12, 13, answer(1, 2, 1)}}, 1, "by version 2, after version 3"},
		{"older rules behind newer ones", []check{{2, 9, answer(1, 2, 1)}, {3, 8, answer(1, 1, 2)}}, 2,
			"permit 2 was granted by version 1"},
		{"a permit twice", []check{{2, 9, answer(1, 1, 1)}, {3, 8, answer(1, 1, 1)}}, 2, "two grants"},
		{"a lost permit", []check{{2, 3, answer(1, 1, 1)}}, 0, "0 permits are used"},
		{"a denial with permits left", []check{{2, 3, answer(0, 1, rulePermits+1)}}, 0,
			"denied with at most 0 permits of 21"},
		{"an uncertain check", []check{{2, 3, nil}, {4, 5, answer(1, 1, 2)}}, 2, ""},
		{"an error", []check{{2, 3, respclient.Error("ERR so")}}, 0, "= ERR so"},
		{"rules that nobody loaded", []check{{2, 3, answer(1, 4, 1)}}, 1, "reply to a check"},
	} {
		v := newRuleVersions(3)
		v.saw(3, 11)
		h := newRuleHistory(v, "a")
		var failures []error
		for _, c := range tt.checks {
			failures = append(failures, h.note(c.reply, c.sent, c.known))
		}
		err := errors.Join(append(failures, h.check([]int64{tt.used}))...)
		if got := fmt.Sprint(err); (err == nil) != (tt.want == "") || !strings.Contains(got, tt.want) && err != nil {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
