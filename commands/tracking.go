package commands

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

// tracking is the command CLIENT TRACKING.
var tracking = clientSub("TRACKING",
	"ON|OFF [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]",
	"Tells the client which keys have changed: those that it has read, or with BCAST all with a prefix.", spec.NoMulti,
	runTracking)

var (
	errTwoRedirects = resp.NewError("ERR", "A client can only redirect to a single other client")
	errNoRedirect   = resp.NewError("ERR", "The client ID you want redirect to does not exist")
	errPrefixMode   = resp.NewError("ERR", "PREFIX option requires BCAST mode to be enabled")
	errSwitchBcast  = resp.NewError("ERR", "You can't switch BCAST mode on/off before disabling tracking for this "+
		"client, and then re-enabling it with a different mode.")
	errBcastOpt  = resp.NewError("ERR", "OPTIN and OPTOUT are not compatible with BCAST")
	errBothOpts  = resp.NewError("ERR", "You can't specify both OPTIN mode and OPTOUT mode")
	errSwitchOpt = resp.NewError("ERR", "You can't switch OPTIN/OPTOUT mode before disabling tracking for this "+
		"client, and then re-enabling it with a different mode.")
	errManyPrefixes = resp.NewError("ERR",
		fmt.Sprintf("too many prefixes: at most %d of at most %d bytes", maxPrefixes, engine.MaxKeyBytes))
	errCaching = resp.NewError("ERR",
		"CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled")
	errCachingYes = resp.NewError("ERR", "CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.")
	errCachingNo  = resp.NewError("ERR", "CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.")
)

// maxPrefixes bounds the prefixes of a connection, because each changed key is compared with all of
// them.
const maxPrefixes = 64

func runTracking(s *session.Session, w *resp.Writer, args [][]byte) {
	mode, prefixes, err := parseTracking(s, args)
	switch {
	case err != nil:
	case word.Is(args[2], "OFF"):
		s.EndTracking()
	case !word.Is(args[2], "ON"):
		err = errSyntax
	default:
		if err = checkTracking(s, mode, prefixes); err == nil {
			err = s.Track(mode, prefixes)
		}
	}
	replyDone(w, err)
}

// parseTracking parses the options of CLIENT TRACKING.
func parseTracking(s *session.Session, args [][]byte) (mode session.Tracking, prefixes []string, err error) {
	for i := 3; i < len(args); i++ {
		more := i+1 < len(args)
		switch arg := args[i]; {
		case word.Is(arg, "REDIRECT") && more:
			if mode.Redirect != 0 {
				return mode, nil, errTwoRedirects
			}
			i++
			if mode.Redirect, err = strconv.ParseInt(string(args[i]), 10, 64); err != nil {
				return mode, nil, errNotInt
			}
			if s.Handler().Session(mode.Redirect) == nil {
				return mode, nil, errNoRedirect
			}
		case word.Is(arg, "PREFIX") && more:
			i++
			prefixes = append(prefixes, string(args[i]))
		case word.Is(arg, "BCAST"):
			mode.Broadcast = true
		case word.Is(arg, "OPTIN"):
			mode.OptIn = true
		case word.Is(arg, "OPTOUT"):
			mode.OptOut = true
		case word.Is(arg, "NOLOOP"):
			mode.NoLoop = true
		default:
			return mode, nil, errSyntax
		}
	}
	return mode, prefixes, nil
}

// checkTracking returns an error if the options contradict each other or the current mode.
func checkTracking(s *session.Session, mode session.Tracking, prefixes []string) error {
	old := s.Tracking()
	switch {
	case !mode.Broadcast && len(prefixes) > 0:
		return errPrefixMode
	case old.On && old.Broadcast != mode.Broadcast:
		return errSwitchBcast
	case mode.Broadcast && (mode.OptIn || mode.OptOut):
		return errBcastOpt
	case mode.OptIn && mode.OptOut:
		return errBothOpts
	case mode.OptIn && old.OptOut || mode.OptOut && old.OptIn:
		return errSwitchOpt
	case mode.Broadcast:
		return checkPrefixes(s.Prefixes(), prefixes)
	}
	return nil
}

// checkPrefixes returns an error if an added prefix overlaps with an old or another added prefix,
// or if a bound is exceeded.
func checkPrefixes(old, added []string) error {
	if len(old)+len(added) > maxPrefixes {
		return errManyPrefixes
	}
	const apart = "Prefixes for a single client must not overlap."
	for i, p := range added {
		if len(p) > engine.MaxKeyBytes {
			return errManyPrefixes
		}
		for _, q := range old {
			if overlap(p, q) {
				return resp.NewError("ERR", fmt.Sprintf("Prefix '%s' overlaps with an existing prefix '%s'. %s",
					word.CString([]byte(p)), word.CString([]byte(q)), apart))
			}
		}
		for _, q := range added[i+1:] {
			if overlap(p, q) {
				return resp.NewError("ERR", fmt.Sprintf("Prefix '%s' overlaps with another provided prefix '%s'. %s",
					word.CString([]byte(p)), word.CString([]byte(q)), apart))
			}
		}
	}
	return nil
}

func overlap(p, q string) bool { return strings.HasPrefix(p, q) || strings.HasPrefix(q, p) }

var caching = func() spec.Command {
	c := clientSub("CACHING", "YES|NO", "Tracks the keys of the next command, or does not, see CLIENT TRACKING.", 0, nil)
	c.Body = &session.Special{Run: func(s *session.Session, w *resp.Writer, args [][]byte) {
		replyDone(w, cache(s, args))
	}, Ahead: func(s *session.Session, args [][]byte) { _ = cache(s, args) }}
	return c
}()

// cache is CLIENT CACHING.
func cache(s *session.Session, args [][]byte) error {
	mode := s.Tracking()
	yes, no := word.Is(args[2], "YES"), word.Is(args[2], "NO")
	switch {
	case !mode.On:
		return errCaching
	case yes && !mode.OptIn:
		return errCachingYes
	case no && !mode.OptOut:
		return errCachingNo
	case !yes && !no:
		return errSyntax
	}
	s.Cache()
	return nil
}

func runGetRedir(s *session.Session, w *resp.Writer, _ [][]byte) { w.Int(redirectOf(s.Tracking())) }

// redirectOf returns the value that clients see for the redirection: -1 without tracking.
func redirectOf(mode session.Tracking) int64 {
	if !mode.On {
		return -1
	}
	return mode.Redirect
}

func runTrackingInfo(s *session.Session, w *resp.Writer, _ [][]byte) {
	mode := s.Tracking()
	flags := []string{"off"}
	if mode.On {
		flags[0] = "on"
	}
	for _, f := range []struct {
		on   bool
		name string
	}{
		{mode.Broadcast, "bcast"},
		{mode.OptIn, "optin"}, {mode.OptIn && mode.Caching, "caching-yes"},
		{mode.OptOut, "optout"}, {mode.OptOut && mode.Caching, "caching-no"},
		{mode.NoLoop, "noloop"}, {mode.Broken, "broken_redirect"},
	} {
		if f.on {
			flags = append(flags, f.name)
		}
	}
	w.Map(3)
	w.BulkString("flags")
	w.Set(len(flags))
	for _, f := range flags {
		w.BulkString(f)
	}
	w.BulkString("redirect")
	w.Int(redirectOf(mode))
	w.BulkString("prefixes")
	w.BulkStrings(s.Prefixes())
}

// trackedKeys is the option for the maximum number of tracked keys.
func trackedKeys(h *session.Handler) session.Option {
	return session.Option{Name: "tracking-table-max-keys", Value: strconv.Itoa(h.Tracked().Max()),
		Set: func(text string) (func(), error) {
			n, err := strconv.ParseUint(text, 10, 32)
			if err != nil {
				return nil, errors.New("argument must be a number of keys, 0 to 4294967295; 0: only their memory is bounded")
			}
			return func() { h.Tracked().SetMax(int(n)) }, nil
		}}
}
