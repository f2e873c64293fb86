package commands

import (
	"strconv"
	"time"

	"limitsrv/commands/resp"
)

var (
	errNoTestClock = resp.NewError("ERR", "DEBUG ADVANCE-TIME needs a server started with --test-clock")
	errNoShutdown  = resp.NewError("ERR", "No shutdown in progress.")
	errMayNotStop  = resp.NewError("ERR", "this server can not be shut down by a command")
)

var timeOf = Command{
	Name: "TIME", Summary: "Returns the time of decisions: seconds since 1970 and microseconds.",
	Complexity: "O(1)", Since: "2.6.0", Group: "server", Flags: Loading | Stale | Fast,
	Run: func(s *Session, _ [][]byte) {
		micros := int64(s.h.now()) / int64(time.Microsecond)
		s.w.BulkStrings([]string{strconv.FormatInt(micros/1e6, 10), strconv.FormatInt(micros%1e6, 10)})
	},
}

var shutdown = Command{
	Name: "SHUTDOWN", Args: "[NOSAVE|SAVE] [NOW] [FORCE] [ABORT]", Summary: "Stops the server. SAVE takes a snapshot first, NOSAVE takes none; the default is a snapshot that takes at most a second. No decision is lost without a snapshot.",
	Complexity: "O(1)", Since: "1.0.0", Group: "server", Flags: Admin | NoScript | Loading | Stale | NoMulti,
	Run: runShutdown,
}

// A Parting tells a server that shuts down whether to take a snapshot first.
type Parting uint8

const (
	SaveIfQuick Parting = iota // if the snapshot takes about a second at most
	SaveNever
	SaveAlways
)

// String returns yes, no or quick.
func (p Parting) String() string { return partings[p] }

var partings = [...]string{SaveIfQuick: "quick", SaveNever: "no", SaveAlways: "yes"}

// runShutdown writes no reply if it succeeds: the connection closes. No snapshot is taken
// while the state is loading.
func runShutdown(s *Session, args [][]byte) {
	var save, noSave bool
	for _, a := range args[1:] {
		switch {
		case isWord(a, "NOW"), isWord(a, "FORCE"):
		case isWord(a, "NOSAVE") && !save:
			noSave = true
		case isWord(a, "SAVE") && !noSave:
			save = true
		case isWord(a, "ABORT"):
			s.w.Error(errNoShutdown)
			return
		default:
			s.w.Error(errSyntax)
			return
		}
	}
	switch {
	case save && !s.h.hasStore():
		s.w.Error(errNoStore)
	case s.h.config.Shutdown == nil:
		s.w.Error(errMayNotStop)
	default:
		s.closing = true
		s.h.config.Shutdown(s.parting(save, noSave))
	}
}

// parting returns the Parting for the options of SHUTDOWN.
func (s *Session) parting(save, noSave bool) Parting {
	switch {
	case !s.h.hasStore(), noSave, s.h.loading():
		return SaveNever
	case save:
		return SaveAlways
	}
	return SaveIfQuick
}

var debug = Command{
	Name: "DEBUG", Summary: "Commands for tests.",
	Complexity: "Depends on the subcommand", Since: "1.0.0", Group: "server", Flags: Admin | NoScript | Loading | Stale,
	Sub: []Command{
		{
			Name: "ADVANCE-TIME", Args: "duration", Summary: "Moves the clock of a server started with --test-clock forward.",
			Complexity: "O(1)", Since: "0.1.0", Group: "server", Flags: Admin | NoScript,
			Run: runAdvanceTime,
		},
	},
}

func runAdvanceTime(s *Session, args [][]byte) {
	if s.h.config.TestClock == nil {
		s.w.Error(errNoTestClock)
		return
	}
	nanos, err := parseDuration("duration", args[2])
	if err == nil {
		err = s.h.config.TestClock.Advance(time.Duration(nanos))
	}
	if err != nil {
		s.w.Error(err)
		return
	}
	s.w.OK()
}
