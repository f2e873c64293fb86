package commands

import (
	"fmt"
	"strings"
	"time"
)

// sessionBytes is the approximate memory of an idle connection and its session without
// buffers, as measured by package server.
const sessionBytes = 600

// line returns the CLIENT LIST line of a session, with the fields of Redis 7.2 in their
// order. words is the size in bytes of the command that the session runs. Any goroutine
// may call it.
//
// rbp is the peak since the connection began; Redis reports the peak of the last seconds.
func (s *Session) line(now time.Time, words int64) string {
	user := s.user()
	s.mu.Lock()
	c := s.shown
	s.mu.Unlock()
	proto, command := 2, "NULL"
	if c.proto3 {
		proto = 3
	}
	if last := s.last.Load(); last != nil {
		command = last.name
	}
	age := now.Sub(s.client.Since)
	idle := now.Sub(s.h.start) - time.Duration(s.active.Load())
	b := Buffers{FD: -1}
	if s.client.Buffers != nil {
		b = s.client.Buffers()
	}
	reply := max(b.Reply, b.Writing)
	multi, queuedBytes := s.queued.Load()-1, s.queuedBytes.Load()
	events := "r"
	if b.Writing+b.ChunkBytes > 0 {
		events = "rw"
	}
	all := sessionBytes + b.Query + b.QueryRoom + reply + b.ChunkBytes + queuedBytes + words
	var l strings.Builder
	fmt.Fprintf(&l, "id=%d addr=%s laddr=%s fd=%d name=%s age=%d idle=%d flags=%s db=%d sub=%d psub=%d ssub=0 multi=%d",
		s.id, s.client.Addr, s.client.LocalAddr, b.FD, c.name, int64(age.Seconds()), int64(min(idle, age).Seconds()), c.flags(multi >= 0), c.db, c.channels, c.patterns, multi)
	fmt.Fprintf(&l, " qbuf=%d qbuf-free=%d argv-mem=%d multi-mem=%d rbs=%d rbp=%d obl=%d oll=%d omem=%d tot-mem=%d",
		b.Query, b.QueryRoom, words, queuedBytes, reply, b.ReplyPeak, b.Writing, b.Chunks, b.ChunkBytes, all)
	fmt.Fprintf(&l, " events=%s cmd=%s user=%s redir=-1 resp=%d lib-name=%s lib-ver=%s\n", events, command, user, proto, c.libName, c.libVer)
	return l.String()
}

// flags returns Redis' flag letters.
func (c *shown) flags(multi bool) string {
	flags := ""
	switch {
	case c.monitor:
		flags = "O"
	case c.channels+c.patterns > 0:
		flags = "P"
	}
	if multi {
		flags += "x"
	}
	if flags == "" {
		return "N"
	}
	return flags
}

func wordBytes(args [][]byte) (n int64) {
	for _, a := range args {
		n += int64(len(a))
	}
	return n
}
