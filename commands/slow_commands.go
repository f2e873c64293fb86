package commands

import (
	"fmt"
	"strconv"

	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/internal/histogram"
)

var errSlowCount = resp.NewError("ERR", "count should be greater than or equal to -1")

var slowLog = spec.Command{
	Name: "SLOWLOG", Summary: "Commands about the log of slow commands.",
	Complexity: "See its subcommands", Since: "2.2.12", Group: "server",
	Body: &spec.Container{Sub: []spec.Command{
		long(slowLogSub("GET", "[count]", "Returns the newest entries: 10, or count, or all with -1.", runSlowLogGet)),
		slowLogSub("LEN", "", "Returns the number of entries.", func(s *session.Session, w *resp.Writer, _ [][]byte) {
			w.Int(int64(s.Handler().SlowLog().Len()))
		}),
		slowLogSub("RESET", "", "Deletes all entries.", func(s *session.Session, w *resp.Writer, _ [][]byte) {
			s.Handler().SlowLog().Reset()
			w.OK()
		}),
	}},
}

// slowLogSub makes a subcommand of SLOWLOG.
func slowLogSub(name, args, summary string, run session.Run) spec.Command {
	return spec.Command{
		Name: name, Args: args, Summary: summary, Complexity: "O(N), N being the entries", Since: "2.2.12", Group: "server",
		Flags: spec.Admin | spec.Loading | spec.Stale | spec.AllKeys, Body: run,
	}
}

func runSlowLogGet(s *session.Session, w *resp.Writer, args [][]byte) {
	count := int64(10)
	if len(args) == 3 {
		var err error
		if count, err = strconv.ParseInt(string(args[2]), 10, 64); err != nil || count < -1 {
			w.Error(errSlowCount)
			return
		}
	}
	entries := s.Handler().SlowLog().Newest(count)
	w.Array(len(entries))
	for _, e := range entries {
		w.Array(6)
		w.Int(e.ID)
		w.Int(e.At)
		w.Int(e.Micros)
		w.BulkStrings(e.Args)
		w.BulkString(e.Addr)
		w.BulkString(e.Name)
	}
}

var latency = spec.Command{
	Name: "LATENCY", Summary: "Commands about the latency of commands.",
	Complexity: "See its subcommands", Since: "2.8.13", Group: "server",
	Body: &spec.Container{Sub: []spec.Command{
		latencySub("DOCTOR", "", "Describes latency in words.", runLatencyDoctor),
		latencySub("HISTOGRAM", "[command ...]", "Returns the durations of calls as cumulative counts by powers of two.",
			runLatencyHistogram),
		long(latencySub("HISTORY", "event", "Returns the samples of an event: time and milliseconds.", runLatencyHistory)),
		latencySub("LATEST", "", "Returns the events: time and milliseconds of the latest sample, and the maximum.",
			runLatencyLatest),
		latencySub("RESET", "[event ...]", "Deletes the given events, or all, and returns their number.", runLatencyReset),
	}},
}

// latencySub makes a subcommand of LATENCY.
func latencySub(name, args, summary string, run session.Run) spec.Command {
	return spec.Command{
		Name: name, Args: args, Summary: summary, Complexity: "O(N), N being the size of the reply", Since: "2.8.13",
		Group: "server",
		Flags: spec.Admin | spec.NoScript | spec.Loading | spec.Stale, Body: run,
	}
}

func runLatencyDoctor(s *session.Session, w *resp.Writer, _ [][]byte) {
	least, events := s.Handler().SlowLog().Bounds().Monitor, s.Handler().SlowLog().Events()
	if least == 0 {
		w.Verbatim("Event recording is off: use CONFIG SET latency-monitor-threshold <milliseconds>. LATENCY HISTOGRAM and " +
			"SLOWLOG are on.\n")
		return
	}
	text := fmt.Sprintf("%d kinds of events took at least %d ms.\n", len(events), least)
	for _, e := range events {
		text += fmt.Sprintf("%s: in %d recent seconds, at most %d ms.\n", e.Name, len(e.Samples), e.Max)
	}
	w.Verbatim(text)
}

func runLatencyHistogram(s *session.Session, w *resp.Writer, args [][]byte) {
	asked := s.Handler().Registry().Specs()
	if len(args) > 2 {
		asked = nil
		for _, name := range args[2:] {
			if c := s.Handler().Registry().Find(name, nil); c != nil {
				asked = append(append(asked, c), c.Subs...)
			}
		}
	}
	var found []*session.Spec
	var all []*histogram.Distribution
	for _, c := range asked {
		if d := s.Handler().Stats().Latency(c.ID); d.Total() > 0 {
			found, all = append(found, c), append(all, d)
		}
	}
	w.Map(len(found))
	for i, c := range found {
		w.BulkString(c.FullName)
		w.Map(2)
		w.BulkString("calls")
		w.Int(all[i].Total())
		w.BulkString("histogram_usec")
		steps := all[i].Steps()
		w.Map(len(steps))
		for _, st := range steps {
			w.Int(st.Micros)
			w.Int(st.Count)
		}
	}
}

func runLatencyHistory(s *session.Session, w *resp.Writer, args [][]byte) {
	var samples []session.LatencySample
	for _, e := range s.Handler().SlowLog().Events() {
		if e.Name == string(args[2]) {
			samples = e.Samples
		}
	}
	w.Array(len(samples))
	for _, sample := range samples {
		w.Array(2)
		w.Int(sample.At)
		w.Int(sample.Millis)
	}
}

func runLatencyLatest(s *session.Session, w *resp.Writer, _ [][]byte) {
	events := s.Handler().SlowLog().Events()
	w.Array(len(events))
	for _, e := range events {
		last := e.Samples[len(e.Samples)-1]
		w.Array(4)
		w.BulkString(e.Name)
		w.Int(last.At)
		w.Int(last.Millis)
		w.Int(e.Max)
	}
}

func runLatencyReset(s *session.Session, w *resp.Writer, args [][]byte) {
	w.Int(int64(s.Handler().SlowLog().ResetEvents(args[2:])))
}
