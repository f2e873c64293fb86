package session

import (
	"fmt"
	"strings"

	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
)

// removeMonitor ends a session's MONITOR. Requires: hub.mu is held.
func (h *Handler) removeMonitor(s *Session) {
	delete(h.hub.monitors, &s.inbox)
	h.hooks.set(monitored, len(h.hub.monitors) > 0)
}

// observe shows a gathered command to monitors, and notes the keys that the client will be told about.
func (s *Session) observe(c *Spec, args [][]byte) {
	s.feedMonitors(c, args)
	s.trackReads(c, args)
}

// feedMonitors sends a command to the monitors, if there are any.
func (s *Session) feedMonitors(c *Spec, args [][]byte) {
	if s.h.hooks.Load()&monitored == 0 || s.again || c.Flags&spec.Admin != 0 {
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
func (s *Session) monitorLine(c *Spec, args [][]byte) []byte {
	micros := int64(s.h.config.Clock.Now()) / 1000
	from := s.client.Addr
	if path, isPath := strings.CutSuffix(from, ":0"); isPath && strings.HasPrefix(path, "/") {
		from = "unix:" + path
	}
	line := fmt.Appendf(nil, "+%d.%06d [%d %s]", micros/1e6, micros%1e6, s.info.DB, from)
	for _, a := range c.redacted(args) {
		line = append(line, ' ')
		line = word.AppendQuoted(line, a)
	}
	return append(line, '\r', '\n')
}
