package main

import (
	"testing"
	"time"
)

// stressResults are the results of the stress tests.
type stressResults struct {
	idle         idleCost
	slow, atOnce slowReaderResult
	long         longPipeline
	flood        floodResult
	attacks      []attackResult
}

// allGoalsMet returns results that meet all goals.
func allGoalsMet() *stressResults {
	calm := latency{p50: time.Millisecond, p99: 2 * time.Millisecond}
	undisturbed := disturbance{before: calm, during: calm}
	slow := slowReaderResult{undisturbed, []time.Duration{time.Second}}
	return &stressResults{
		idle: idleCost{fresh: 1024, used: 2048},
		slow: slow, atOnce: slow,
		long: longPipeline{disturbance: undisturbed, commands: 9, answered: 9},
		flood: floodResult{
			calm: []latency{calm}, loaded: []latency{calm}, flooded: []latency{calm}, load: rounds(1000), flood: rounds(1000),
			resident: 120 << 20, limits: 100 << 20, intact: 7,
		},
		attacks: make([]attackResult, len(attackKinds)),
	}
}

// verdicts returns the last cells of the rows that have a goal.
func (r *stressResults) verdicts(quick bool) (all []string) {
	e := emptyReport(options{quick: quick,
		stress: stressPlan{hostile: 1, writeWait: time.Second, live: 7, floodMemory: 100}})
	e.addIdle(r.idle, idleCost{})
	e.addSlowReaders(r.slow, r.atOnce)
	e.addLongPipeline(r.long)
	e.addFlood("refuse", r.flood)
	e.addAttacks(r.attacks, make([]attackResult, len(attackKinds)))
	for _, cells := range e.tables[stressTable] {
		if cells[1] != "" {
			all = append(all, cells[4])
		}
	}
	return all
}

func TestStressVerdicts(t *testing.T) {
	for _, v := range allGoalsMet().verdicts(false) {
		if v != "met" {
			t.Errorf("verdicts %q when all is met", allGoalsMet().verdicts(false))
		}
	}
	late := latency{p99: 5 * time.Millisecond}
	for _, tt := range []struct {
		name  string
		spoil func(*stressResults)
	}{
		{"memory of an idle connection", func(r *stressResults) { r.idle.used = 13 << 10 }},
		{"slow readers that stay", func(r *stressResults) { r.slow.closedIn = []time.Duration{time.Minute} }},
		{"simultaneous slow readers that delay others", func(r *stressResults) { r.atOnce.during = late }},
		{"an incomplete pipeline", func(r *stressResults) { r.long.answered = 8 }},
		{"a flood that delays others", func(r *stressResults) { r.flood.flooded = []latency{late} }},
		{"a flood that takes more memory", func(r *stressResults) { r.flood.limits++ }},
		{"a flood that grows the process", func(r *stressResults) { r.flood.resident = 170 << 20 }},
		{"a live limit that is lost", func(r *stressResults) { r.flood.intact = 6 }},
		{"unauthenticated clients that delay others", func(r *stressResults) { r.attacks[0].during = late }},
	} {
		r, missed := allGoalsMet(), 0
		tt.spoil(r)
		for _, v := range r.verdicts(false) {
			if v == "NOT MET" {
				missed++
			}
		}
		if missed != 1 {
			t.Errorf("%s: %d goals NOT MET, want 1", tt.name, missed)
		}
		for _, v := range r.verdicts(true) {
			if v != "" {
				t.Errorf("%s: a quick run has the verdict %q", tt.name, v)
			}
		}
	}
}
