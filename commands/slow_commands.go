package commands

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"limitsrv/commands/resp"
	"limitsrv/histogram"
)

var errSlowCount = resp.NewError("ERR", "count should be greater than or equal to -1")

var slowLog = Command{
	Name: "SLOWLOG", Summary: "Commands about the log of slow commands.",
	Complexity: "Depends on the subcommand", Since: "2.2.12", Group: "server",
	Sub: []Command{
		slowLogSub("GET", "[count]", "Returns the newest entries: 10, or count, or all with -1.", runSlowLogGet),
		slowLogSub("LEN", "", "Returns the number of entries.", func(s *Session, _ [][]byte) {
			s.h.slow.mu.Lock()
			defer s.h.slow.mu.Unlock()
			s.w.Int(int64(len(s.h.slow.entries)))
		}),
		slowLogSub("RESET", "", "Deletes all entries.", func(s *Session, _ [][]byte) {
			s.h.slow.set(func(w *slowWatch) { w.entries = nil })
			s.w.OK()
		}),
	},
}

// slowLogSub makes a subcommand of SLOWLOG.
func slowLogSub(name, args, summary string, run func(*Session, [][]byte)) Command {
	return Command{
		Name: name, Args: args, Summary: summary, Complexity: "O(N), N being the entries", Since: "2.2.12", Group: "server",
		Flags: Admin | Loading | Stale | AllKeys, Run: run,
	}
}

func runSlowLogGet(s *Session, args [][]byte) {
	count := int64(10)
	if len(args) == 3 {
		var err error
		if count, err = strconv.ParseInt(string(args[2]), 10, 64); err != nil || count < -1 {
			s.w.Error(errSlowCount)
			return
		}
	}
	w := s.h.slow
	w.mu.Lock()
	defer w.mu.Unlock()
	if count < 0 || count > int64(len(w.entries)) {
		count = int64(len(w.entries))
	}
	s.w.Array(int(count))
	for i := range int(count) {
		e := w.entries[len(w.entries)-1-i]
		s.w.Array(6)
		s.w.Int(e.id)
		s.w.Int(e.at)
		s.w.Int(e.micros)
		s.w.BulkStrings(e.args)
		s.w.BulkString(e.addr)
		s.w.BulkString(e.name)
	}
}

var latency = Command{
	Name: "LATENCY", Summary: "Commands about the latency of commands.",
	Complexity: "Depends on the subcommand", Since: "2.8.13", Group: "server",
	Sub: []Command{
		latencySub("DOCTOR", "", "Describes latency in words.", runLatencyDoctor),
		latencySub("HISTOGRAM", "[command ...]", "Returns the durations of calls as cumulative counts by powers of two.", runLatencyHistogram),
		latencySub("HISTORY", "event", "Returns the samples of an event: time and milliseconds.", runLatencyHistory),
		latencySub("LATEST", "", "Returns the events: time and milliseconds of the latest sample, and the maximum.", runLatencyLatest),
		latencySub("RESET", "[event ...]", "Deletes the given events, or all, and returns their number.", runLatencyReset),
	},
}

// latencySub makes a subcommand of LATENCY.
func latencySub(name, args, summary string, run func(*Session, [][]byte)) Command {
	return Command{
		Name: name, Args: args, Summary: summary, Complexity: "O(N), N being the size of the reply", Since: "2.8.13", Group: "server",
		Flags: Admin | NoScript | Loading | Stale, Run: run,
	}
}

func runLatencyDoctor(s *Session, _ [][]byte) {
	w := s.h.slow
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.monitor == 0 {
		s.w.Verbatim("Event recording is off: use CONFIG SET latency-monitor-threshold <milliseconds>. LATENCY HISTOGRAM and SLOWLOG are on.\n")
		return
	}
	text := fmt.Sprintf("%d kinds of events took at least %d ms.\n", len(w.events), w.monitor)
	for _, name := range slices.Sorted(maps.Keys(w.events)) {
		e := w.events[name]
		text += fmt.Sprintf("%s: in %d recent seconds, at most %d ms.\n", name, len(e.samples), e.max)
	}
	s.w.Verbatim(text)
}

func runLatencyHistogram(s *Session, args [][]byte) {
	asked := s.h.registry.allSpecs()
	if len(args) > 2 {
		asked = nil
		for _, name := range args[2:] {
			if c := s.h.registry.find(name, nil); c != nil {
				asked = append(append(asked, c), c.subs...)
			}
		}
	}
	var found []*spec
	var all []*histogram.Distribution
	for _, c := range asked {
		if d := s.h.stats.latency(c.id); d.Total() > 0 {
			found, all = append(found, c), append(all, d)
		}
	}
	s.w.Map(len(found))
	for i, c := range found {
		s.w.BulkString(c.name)
		s.w.Map(2)
		s.w.BulkString("calls")
		s.w.Int(all[i].Total())
		s.w.BulkString("histogram_usec")
		steps := all[i].Steps()
		s.w.Map(len(steps))
		for _, st := range steps {
			s.w.Int(st.Micros)
			s.w.Int(st.Count)
		}
	}
}

func runLatencyHistory(s *Session, args [][]byte) {
	w := s.h.slow
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.events[string(args[2])]
	if e == nil {
		s.w.Array(0)
		return
	}
	s.w.Array(len(e.samples))
	for _, sample := range e.samples {
		s.w.Array(2)
		s.w.Int(sample.at)
		s.w.Int(sample.millis)
	}
}

func runLatencyLatest(s *Session, _ [][]byte) {
	w := s.h.slow
	w.mu.Lock()
	defer w.mu.Unlock()
	s.w.Array(len(w.events))
	for _, name := range slices.Sorted(maps.Keys(w.events)) {
		e := w.events[name]
		last := e.samples[len(e.samples)-1]
		s.w.Array(4)
		s.w.BulkString(name)
		s.w.Int(last.at)
		s.w.Int(last.millis)
		s.w.Int(e.max)
	}
}

func runLatencyReset(s *Session, args [][]byte) {
	w := s.h.slow
	w.mu.Lock()
	defer w.mu.Unlock()
	before := len(w.events)
	if len(args) == 2 {
		clear(w.events)
	}
	for _, name := range args[2:] {
		delete(w.events, string(name))
	}
	s.w.Int(int64(before - len(w.events)))
}
