package commands

import (
	"strconv"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/word"
)

var (
	errTimeout   = resp.NewError("ERR", "timeout is not an integer or out of range")
	errNegative  = resp.NewError("ERR", "timeout is negative")
	errPauseMode = resp.NewError("ERR", "CLIENT PAUSE mode must be WRITE or ALL")
)

// maxTimeout is the longest timeout in milliseconds: more than a hundred days.
const maxTimeout = 1e10

func runPause(s *session.Session, w *resp.Writer, args [][]byte) {
	millis, err := parseTimeout(args[2])
	all := len(args) == 3 || word.Is(args[3], "ALL")
	switch {
	case !all && !word.Is(args[3], "WRITE"):
		w.Error(errPauseMode)
	case err != nil:
		w.Error(err)
	default:
		s.Handler().Pause(time.Duration(millis)*time.Millisecond, all)
		w.OK()
	}
}

// parseTimeout parses milliseconds, 0 or more.
func parseTimeout(arg []byte) (int64, error) {
	millis, err := strconv.ParseInt(string(arg), 10, 64)
	switch {
	case err != nil || millis > maxTimeout:
		return 0, errTimeout
	case millis < 0:
		return 0, errNegative
	}
	return millis, nil
}
