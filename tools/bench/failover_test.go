package main

import (
	"strings"
	"testing"
	"time"
)

func TestFailoverRow(t *testing.T) {
	got := strings.Join(failoverRow(killed, "limitsrv", []failoverRun{
		{over: 5, worst: 1.5, forgotten: 7, outage: time.Second},
		{over: 1, worst: 1.1, forgotten: 9, outage: 3 * time.Second},
		{over: 2, worst: 1.2, forgotten: 8, outage: 2 * time.Second},
	}), "|")
	if want := "killed|limitsrv|2 (1 to 5)|1.50x|8 (7 to 9)|2.00 s (1.00 to 3.00)"; got != want {
		t.Errorf("failoverRow = %s\nwant %s", got, want)
	}
}
