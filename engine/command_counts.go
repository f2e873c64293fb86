package engine

import "sync/atomic"

// MaxCounted bounds the commands that CountCommand counts.
const MaxCounted = 320

// A CommandCount counts the calls of a command by scripts. Informational, as Stats.
type CommandCount struct {
	Calls    int64 // executed, with or without an error
	Failed   int64 // of Calls: answered with an error
	Rejected int64 // not executed
}

// commandCounts are the counters of commands, by numbers that Commands defines.
type commandCounts [MaxCounted]struct{ calls, failed, rejected atomic.Int64 }

// CountCommand adds to the counters of a command. Requires: number is less than MaxCounted. Cost: an
// atomic addition for each count that is not 0.
func (tx *Tx) CountCommand(number int, n CommandCount) {
	c := &tx.e.commandCounts[number]
	if n.Calls > 0 {
		c.calls.Add(n.Calls)
	}
	if n.Failed > 0 {
		c.failed.Add(n.Failed)
	}
	if n.Rejected > 0 {
		c.rejected.Add(n.Rejected)
	}
}

// CommandCount returns the counts of a command since New, SetCounting or ResetCommandCounts; zeros
// while counting is off. Concurrency: any goroutine may call it.
func (e *Engine) CommandCount(number int) CommandCount {
	if e.statsDisabled.Load() {
		return CommandCount{}
	}
	c := &e.commandCounts[number]
	return CommandCount{Calls: c.calls.Load(), Failed: c.failed.Load(), Rejected: c.rejected.Load()}
}

// ResetCommandCounts sets the counts of all commands to zero. Concurrency: any goroutine may call it.
func (e *Engine) ResetCommandCounts() {
	for i := range e.commandCounts {
		c := &e.commandCounts[i]
		c.calls.Store(0)
		c.failed.Store(0)
		c.rejected.Store(0)
	}
}
