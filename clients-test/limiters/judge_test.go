package main

import (
	"slices"
	"testing"
)

func TestCheckTranscript(t *testing.T) {
	exact := []string{"burst +4 +3 +2 +1 +0 - - -", "keys +4 - +3", "crowd 20 of 50", "refill + + +"}
	if err := checkTranscript(exact); err != nil {
		t.Errorf("an exact transcript: %v", err)
	}
	for _, tt := range []struct {
		name string
		line int
		text string
	}{
		{"a library that fails open", 0, "burst + + + + + + + +"},
		{"a library that counts in its own memory", 1, "keys + + +"},
		{"a race", 2, "crowd 21 of 50"},
		{"a limit that is never reached", 3, "refill: never denied"},
		{"a missing line", 3, ""},
	} {
		broken := slices.Clone(exact)
		broken[tt.line] = tt.text
		if checkTranscript(broken) == nil {
			t.Errorf("%s: no error for %q", tt.name, broken)
		}
	}
}

func TestDifference(t *testing.T) {
	for _, tt := range []struct {
		a, b  []string
		equal bool
	}{
		{[]string{"x", "y"}, []string{"x", "y"}, true},
		{[]string{"x", "y"}, []string{"x"}, false},
		{[]string{"x"}, []string{"x", "y"}, false},
		{[]string{"x"}, []string{"y"}, false},
	} {
		if err := difference(tt.a, tt.b); (err == nil) != tt.equal {
			t.Errorf("difference(%q, %q) = %v", tt.a, tt.b, err)
		}
	}
}

func TestCheckNeeds(t *testing.T) {
	commands := []string{"evalsha", "hset", "zadd", "hello", "get", "script|load"}
	if err := checkNeeds([]string{"strings", "lua", "hashes", "sorted-sets"}, commands); err != nil {
		t.Error(err)
	}
	for _, needs := range [][]string{{"lua", "hashes"}, {"lua", "hashes", "sorted-sets", "lists"}} {
		if checkNeeds(needs, commands) == nil {
			t.Errorf("no error for the needs %q", needs)
		}
	}
}
