package commands

import (
	"fmt"
	"strings"

	"limitsrv/commands/session"
)

// sessionBytes is the approximate memory of an idle connection and its session without
// buffers, as measured by package server.
const sessionBytes = 600

// clientLine returns the CLIENT LIST line of a session, with the fields of Redis 7.2 in
// their order. words is the size in bytes of the command that the session runs.
//
// rbp is the peak since the connection began; Redis reports the peak of the last seconds.
func clientLine(c session.Info, words int64) string {
	proto, command, b := 2, "NULL", c.Buffers
	if c.Proto3 {
		proto = 3
	}
	if c.Command != "" {
		command = c.Command
	}
	reply := max(b.Reply, b.Writing)
	events := "r"
	if b.Writing+b.ChunkBytes > 0 {
		events = "rw"
	}
	all := sessionBytes + b.Query + b.QueryRoom + reply + b.ChunkBytes + c.QueuedBytes + words
	var l strings.Builder
	fmt.Fprintf(&l, "id=%d addr=%s laddr=%s fd=%d name=%s age=%d idle=%d flags=%s db=%d sub=%d psub=%d ssub=0 multi=%d",
		c.ID, c.Addr, c.LocalAddr, b.FD, c.Name, int64(c.Age.Seconds()), int64(min(c.Idle, c.Age).Seconds()), clientFlags(c),
		c.DB, c.Channels, c.Patterns, c.Queued)
	fmt.Fprintf(&l, " qbuf=%d qbuf-free=%d argv-mem=%d multi-mem=%d rbs=%d rbp=%d obl=%d oll=%d omem=%d tot-mem=%d",
		b.Query, b.QueryRoom, words, c.QueuedBytes, reply, b.ReplyPeak, b.Writing, b.Chunks, b.ChunkBytes, all)
	fmt.Fprintf(&l, " events=%s cmd=%s user=%s redir=%d resp=%d lib-name=%s lib-ver=%s\n", events, command, c.User,
		redirectOf(c.Tracking), proto, c.LibName, c.LibVer)
	return l.String()
}

// clientFlags returns Redis' flag letters.
func clientFlags(c session.Info) string {
	flags := ""
	switch {
	case c.Monitor:
		flags = "O"
	case c.Channels+c.Patterns > 0:
		flags = "P"
	}
	if c.Queued >= 0 {
		flags += "x"
	}
	if c.Waits {
		flags += "b"
	}
	for _, f := range []struct {
		on   bool
		name string
	}{{c.Tracking.On, "t"}, {c.Tracking.Broken, "R"}, {c.Tracking.Broadcast, "B"}} {
		if f.on {
			flags += f.name
		}
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
