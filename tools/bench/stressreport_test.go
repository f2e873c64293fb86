package main

import (
	"testing"
	"time"
)

// allTargetsMet is a result that meets all targets.
func allTargetsMet() *stressResult {
	calm := latency{p50: time.Millisecond, p99: 2 * time.Millisecond}
	speed := []sample{{outcome: outcome{perSecond: 1000, p50: 1, p99: 2}, cpuPerDecision: 1}}
	scaling := clientScaling{few: speed, many: speed}
	flood := floodResult{policy: "refuse", bound: 100, calm: []latency{calm}, loaded: []latency{calm}, flooded: []latency{calm},
		load: speed, flood: speed, peak: memoryPeak{resident: 120, limits: 100}, live: 7, intact: 7}
	slow := slowReaderResult{readers: 1, writeWait: time.Second, closedIn: []time.Duration{time.Second}, before: calm, during: calm}
	return &stressResult{
		idle:        []idleCost{{fresh: 1024, used: 2048}, {}},
		manyClients: []clientScaling{scaling, scaling},
		slow:        slow,
		slowAtOnce:  slow,
		long:        []longPipeline{{commands: 9, answered: 9}},
		floods:      []floodResult{flood},
		attacks:     [2][]attackResult{{{kind: "knock", before: calm, during: calm}}, {{kind: "knock", before: calm, during: latency{p99: time.Second}}}},
	}
}

// verdicts returns the last cells of the rows that have a target.
func verdicts(s *stressResult, o options) (all []string) {
	for _, r := range s.rows(o)[1:] {
		if r[1] != "" {
			all = append(all, r[4])
		}
	}
	return all
}

func TestStressVerdicts(t *testing.T) {
	for _, v := range verdicts(allTargetsMet(), defaults) {
		if v != "met" {
			t.Errorf("verdicts %q when all is met", verdicts(allTargetsMet(), defaults))
		}
	}
	late := latency{p99: 5 * time.Millisecond}
	for _, tt := range []struct {
		name  string
		spoil func(*stressResult)
	}{
		{"memory of an idle connection", func(s *stressResult) { s.idle[0].used = 13 << 10 }},
		{"slow readers that stay", func(s *stressResult) { s.slow.closedIn = []time.Duration{time.Minute} }},
		{"simultaneous slow readers that delay others", func(s *stressResult) { s.slowAtOnce.during = late }},
		{"an incomplete pipeline", func(s *stressResult) { s.long[0].answered = 8 }},
		{"a flood that delays others", func(s *stressResult) { s.floods[0].flooded = []latency{late} }},
		{"a flood that takes more memory", func(s *stressResult) { s.floods[0].peak.limits = 101 }},
		{"a flood that grows the process", func(s *stressResult) { s.floods[0].peak.resident = 170 }},
		{"a live limit that is lost", func(s *stressResult) { s.floods[0].intact = 6 }},
		{"unauthenticated clients that delay others", func(s *stressResult) { s.attacks[0][0].during = late }},
	} {
		s, missed := allTargetsMet(), 0
		tt.spoil(s)
		for _, v := range verdicts(s, defaults) {
			if v == "NOT MET" {
				missed++
			}
		}
		if missed != 1 {
			t.Errorf("%s: %d targets NOT MET, want 1", tt.name, missed)
		}
		for _, v := range verdicts(s, smoke) {
			if v != "" {
				t.Errorf("%s: a quick run has the verdict %q", tt.name, v)
			}
		}
	}
}
