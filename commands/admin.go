package commands

import (
	"strconv"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/limiters"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
)

var (
	errNoTestClock = resp.NewError("ERR", "DEBUG ADVANCE-TIME needs a server started with --test-clock")
	errNoShutdown  = resp.NewError("ERR", "No shutdown in progress.")
	errMayNotStop  = resp.NewError("ERR", "this server can not be shut down by a command")
)

var timeOf = spec.Command{
	Name: "TIME", Summary: "Returns the time of decisions: seconds since 1970 and microseconds.",
	Complexity: "O(1)", Since: "2.6.0", Group: "server", Flags: spec.Loading | spec.Stale | spec.Fast,
	Body: session.Run(func(s *session.Session, w *resp.Writer, _ [][]byte) {
		micros := int64(s.Handler().Now()) / int64(time.Microsecond)
		w.BulkStrings([]string{strconv.FormatInt(micros/1e6, 10), strconv.FormatInt(micros%1e6, 10)})
	}),
}

var shutdown = spec.Command{
	Name: "SHUTDOWN", Args: "[NOSAVE|SAVE] [NOW] [FORCE] [ABORT]", Summary: "Stops the server. SAVE takes a snapshot " +
		"first, NOSAVE takes none; the default is a snapshot that takes at most a second. No decision is lost without a " +
		"snapshot.",
	Complexity: "O(1)", Since: "1.0.0", Group: "server",
	Flags: spec.Admin | spec.NoScript | spec.Loading | spec.Stale | spec.NoMulti,
	Body:  session.Run(runShutdown),
}

// runShutdown writes no reply if it succeeds: the connection closes. No snapshot is taken
// while the state is loading.
func runShutdown(s *session.Session, w *resp.Writer, args [][]byte) {
	var save, noSave bool
	for _, a := range args[1:] {
		switch {
		case word.Is(a, "NOW"), word.Is(a, "FORCE"):
		case word.Is(a, "NOSAVE") && !save:
			noSave = true
		case word.Is(a, "SAVE") && !noSave:
			save = true
		case word.Is(a, "ABORT"):
			w.Error(errNoShutdown)
			return
		default:
			w.Error(errSyntax)
			return
		}
	}
	switch {
	case save && !hasStore(s.Handler()):
		w.Error(backend.ErrNoStore)
	case s.Handler().Config().Shutdown == nil:
		w.Error(errMayNotStop)
	default:
		s.CloseAfterReply()
		s.Handler().Config().Shutdown(parting(s.Handler(), save, noSave))
	}
}

// parting returns the Parting for the options of SHUTDOWN.
func parting(h *session.Handler, save, noSave bool) backend.Parting {
	switch {
	case !hasStore(h), noSave, h.IsLoading():
		return backend.SaveNever
	case save:
		return backend.SaveAlways
	}
	return backend.SaveIfQuick
}

var debug = spec.Command{
	Name: "DEBUG", Summary: "Commands for tests.",
	Complexity: "See its subcommands", Since: "1.0.0", Group: "server",
	Flags: spec.Admin | spec.NoScript | spec.Loading | spec.Stale,
	Body: &spec.Container{Sub: []spec.Command{
		{
			Name: "ADVANCE-TIME", Args: "duration", Summary: "Moves the clock of a server started with --test-clock forward.",
			Complexity: "O(1)", Since: "0.1.0", Group: "server", Flags: spec.Admin | spec.NoScript,
			Body: session.Run(runAdvanceTime),
		},
	}},
}

func runAdvanceTime(s *session.Session, w *resp.Writer, args [][]byte) {
	if s.Handler().Config().TestClock == nil {
		w.Error(errNoTestClock)
		return
	}
	nanos, err := limiters.ParseDuration("duration", args[2])
	if err == nil {
		err = s.Handler().Config().TestClock.Advance(time.Duration(nanos))
	}
	if err != nil {
		w.Error(err)
		return
	}
	w.OK()
}
