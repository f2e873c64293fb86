package commands

import (
	"fmt"
	"strconv"
	"strings"

	"limitsrv/commands/resp"
)

// Hooks that apply to every command while they are set. Handler.attention holds them as
// bits, so that a command checks all of them with one load.
const (
	monitored int32 = 1 << iota
	paused
	loading
	guarded // there is a users file: rights must be checked
)

// attend sets or clears a bit of attention.
func (h *Handler) attend(bit int32, on bool) {
	if on {
		h.attention.Or(bit)
		return
	}
	h.attention.And(^bit)
}

var monitor = Command{
	Name: "MONITOR", Summary: "Streams every command of all clients, except administrative ones.",
	Complexity: "O(1)", Since: "1.0.0", Group: "server", Flags: Admin | NoScript | Loading | Stale | NoMulti | AllKeys,
	Run: func(s *Session, _ [][]byte) {
		if s.monitoring {
			s.w.OK()
			return
		}
		hub := s.h.hub
		hub.mu.Lock()
		defer hub.mu.Unlock()
		s.monitoring = true
		hub.monitors[s] = struct{}{}
		s.h.attend(monitored, true)
		s.updateListening()
		s.closing = s.mustDisconnect() // checked after the registration, so that ReloadUsers misses no monitor
		s.w.OK()
	},
}

// removeMonitor ends a session's MONITOR. Requires: hub.mu is held.
func (h *Handler) removeMonitor(s *Session) {
	delete(h.hub.monitors, s)
	h.attend(monitored, len(h.hub.monitors) > 0)
}

// exhibit sends a command to the monitors, if there are any.
func (s *Session) exhibit(c *spec, args [][]byte) {
	if s.h.attention.Load()&monitored == 0 || c.Flags&Admin != 0 {
		return
	}
	hub := s.h.hub
	hub.mu.RLock()
	defer hub.mu.RUnlock()
	if len(hub.monitors) == 0 {
		return
	}
	line := s.monitorLine(c, args)
	for m := range hub.monitors {
		m.send(resp.Message{Two: line, Three: line})
	}
}

// monitorLine returns a command in the form of Redis' MONITOR.
func (s *Session) monitorLine(c *spec, args [][]byte) []byte {
	micros := int64(s.h.now()) / 1000
	from := s.client.Addr
	if path, isPath := strings.CutSuffix(from, ":0"); isPath && strings.HasPrefix(path, "/") {
		from = "unix:" + path
	}
	line := fmt.Appendf(nil, "+%d.%06d [%d %s]", micros/1e6, micros%1e6, s.shown.db, from)
	for _, a := range redacted(c, args) {
		line = append(line, ' ')
		line = appendQuoted(line, a)
	}
	return append(line, '\r', '\n')
}

// redacted returns a command line without its secrets: for HELLO without the words after
// AUTH, for other commands with the flag Secret without any argument.
func redacted(c *spec, args [][]byte) [][]byte {
	if c.Flags&Secret == 0 {
		return args
	}
	shown := 1
	switch {
	case c.isSub:
		shown = 2
	case c.Command == &hello:
		for shown < len(args) && !isWord(args[shown-1], "AUTH") {
			shown++
		}
	}
	hidden := append([][]byte(nil), args[:shown]...)
	for range args[shown:] {
		hidden = append(hidden, []byte("(redacted)"))
	}
	return hidden
}

// appendQuoted appends b in quotes, with Redis' escapes.
func appendQuoted(line, b []byte) []byte {
	line = append(line, '"')
	for _, c := range b {
		switch c {
		case '\\', '"':
			line = append(line, '\\', c)
		case '\n':
			line = append(line, `\n`...)
		case '\r':
			line = append(line, `\r`...)
		case '\t':
			line = append(line, `\t`...)
		case '\a':
			line = append(line, `\a`...)
		case '\b':
			line = append(line, `\b`...)
		default:
			if c >= ' ' && c <= '~' {
				line = append(line, c)
				continue
			}
			line = append(line, '\\', 'x')
			line = append(line, strconv.FormatUint(uint64(c)|0x100, 16)[1:]...)
		}
	}
	return append(line, '"')
}
