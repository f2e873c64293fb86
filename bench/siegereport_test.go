package main

import (
	"testing"
	"time"
)

// besieged is a siege in which all that is wanted was met.
func besieged() *siege {
	calm := latency{p50: time.Millisecond, p99: 2 * time.Millisecond}
	speed := []sample{{outcome: outcome{perSecond: 1000, p50: 1, p99: 2}, cpuPerDecision: 1}}
	crowd := crowding{few: speed, many: speed}
	flood := flooding{policy: "refuse", bound: 100, calm: []latency{calm}, loaded: []latency{calm}, flooded: []latency{calm},
		load: speed, flood: speed, peak: memoryPeak{resident: 120, limits: 100}, live: 7, intact: 7}
	slow := slowness{readers: 1, writeWait: time.Second, closedIn: []time.Duration{time.Second}, before: calm, during: calm}
	return &siege{
		idle:    []idleCost{{fresh: 1024, used: 2048}, {}},
		crowded: []crowding{crowd, crowd},
		slow:    slow,
		greedy:  slow,
		long:    []longPipeline{{commands: 9, answered: 9}},
		floods:  []flooding{flood},
		harms:   [2][]harm{{{kind: "knock", before: calm, during: calm}}, {{kind: "knock", before: calm, during: latency{p99: time.Second}}}},
	}
}

// verdicts are the last cells of the rows that have a wish.
func verdicts(s *siege, o options) (all []string) {
	for _, r := range s.rows(o)[1:] {
		if r[1] != "" {
			all = append(all, r[4])
		}
	}
	return all
}

func TestSiegeVerdicts(t *testing.T) {
	for _, v := range verdicts(besieged(), defaults) {
		if v != "met" {
			t.Errorf("verdicts %q when all is met", verdicts(besieged(), defaults))
		}
	}
	late := latency{p99: 5 * time.Millisecond}
	for _, tt := range []struct {
		name  string
		spoil func(*siege)
	}{
		{"memory of an idle connection", func(s *siege) { s.idle[0].used = 13 << 10 }},
		{"slow readers that stay", func(s *siege) { s.slow.closedIn = []time.Duration{time.Minute} }},
		{"greedy clients who make others wait", func(s *siege) { s.greedy.during = late }},
		{"a pipeline that is cut off", func(s *siege) { s.long[0].answered = 8 }},
		{"a flood that makes others wait", func(s *siege) { s.floods[0].flooded = []latency{late} }},
		{"a flood that takes more memory", func(s *siege) { s.floods[0].peak.limits = 101 }},
		{"a flood that has the process grow", func(s *siege) { s.floods[0].peak.resident = 170 }},
		{"a live limit that is lost", func(s *siege) { s.floods[0].intact = 6 }},
		{"strangers who make others wait", func(s *siege) { s.harms[0][0].during = late }},
	} {
		s, missed := besieged(), 0
		tt.spoil(s)
		for _, v := range verdicts(s, defaults) {
			if v == "NOT MET" {
				missed++
			}
		}
		if missed != 1 {
			t.Errorf("%s: %d figures are said not to be met, want 1", tt.name, missed)
		}
		for _, v := range verdicts(s, smoke) {
			if v != "" {
				t.Errorf("%s: a quick run has the verdict %q", tt.name, v)
			}
		}
	}
}
