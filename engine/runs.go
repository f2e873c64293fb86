package engine

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// CountRun counts a run with its steps, also as a run of a source unless that is nil. No
// call depends on these counts.
func (tx *Tx) CountRun(source *Source, steps int64, failed bool) {
	s := tx.only
	if s == nil {
		for i := range tx.entered.each {
			s = &tx.e.shards[i]
			break
		}
	}
	t := RunStats{Runs: 1, Steps: steps}
	if failed {
		t.Failed = 1
	}
	s.stats.RunStats.add(t)
	if source == nil {
		return
	}
	KeepMost(&source.most, steps)
}

// KeepMost raises a number to n if n is greater.
func KeepMost(most *atomic.Int64, n int64) {
	for old := most.Load(); n > old && !most.CompareAndSwap(old, n); {
		old = most.Load()
	}
}

// Longest returns the steps of the longest run of the source that was counted, 0 if it has
// not run. Informational, as Stats.
func (s *Source) Longest() int64 { return s.most.Load() }

// SourceStats describe the sources of an engine.
type SourceStats struct {
	Known   int   // not flushed
	Bytes   int   // of the texts of all sources, flushed sources included
	Dropped int64 // beyond MaxSources or MaxSourcesBytes, since New
	// Costliest are the sources with the longest runs, longest first.
	Costliest []SourceCost
}

// A SourceCost is the number of steps of the longest run of a source.
type SourceCost struct {
	ID    SourceID
	Steps int64
}

// SourceStats returns the statistics, with up to most of the costliest sources: those that
// were not learned again since the run. Cost: a tenth of a millisecond for 10 000 sources.
func (e *Engine) SourceStats(most int) (t SourceStats) {
	m := &e.sources
	m.mu.RLock()
	defer m.mu.RUnlock()
	t.Bytes, t.Dropped = m.bytes, m.dropped
	for _, s := range m.list {
		if !s.flushed {
			t.Known++
		}
		if steps := s.most.Load(); steps > 0 {
			t.Costliest = append(t.Costliest, SourceCost{s.ID, steps})
		}
	}
	slices.SortFunc(t.Costliest, func(a, b SourceCost) int {
		return cmp.Or(cmp.Compare(b.Steps, a.Steps), slices.Compare(a.ID[:], b.ID[:]))
	})
	t.Costliest = t.Costliest[:min(most, len(t.Costliest))]
	return t
}
