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

func TestParseMemory(t *testing.T) {
	for _, tt := range []struct {
		name, status string
		want         int64 // -1: an error
	}{
		{"a status", "VmPeak:\t  9000 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 7 kB\n", 1234 << 10},
		{"no such line", "VmRSS:\t 7 kB\n", -1},
		{"another unit", "VmHWM:\t 7 MB\n", -1},
		{"no number", "VmHWM:\t x kB\n", -1},
	} {
		if got, err := parseMemory(tt.status, "VmHWM:"); err == nil && got != tt.want || err != nil && tt.want != -1 {
			t.Errorf("%s: parseMemory = %d, %v, want %d", tt.name, got, err, tt.want)
		}
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
