package main

import (
	"testing"
	"time"
)

func TestParseSchedstat(t *testing.T) {
	if got, err := parseSchedstat("44788955 7286094 301\n"); err != nil || got != 44788955*time.Nanosecond {
		t.Errorf("parseSchedstat = %v, %v", got, err)
	}
	if got, err := parseSchedstat("\n"); err == nil {
		t.Errorf("parseSchedstat of an empty line = %v, want an error", got)
	}
}

func TestLastLine(t *testing.T) {
	if got := lastLine("one\ntwo\n\n"); got != "two" {
		t.Errorf("lastLine = %q, want two", got)
	}
	if got := lastLine(""); got != "" {
		t.Errorf("lastLine of nothing = %q", got)
	}
}
