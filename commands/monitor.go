package commands

import (
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
)

var errMonitorInside = resp.NewError("ERR", "MONITOR isn't allowed for DENY BLOCKING client")

var monitor = session.Command{
	Name: "MONITOR", Summary: "Streams every command of all clients, except administrative ones.",
	Complexity: "O(1)", Since: "1.0.0", Group: "server",
	Flags: session.Admin | session.NoScript | session.Loading | session.Stale | session.AllKeys,
	Run: func(s *session.Session, w *resp.Writer, _ [][]byte) {
		if s.InExec() {
			w.Error(errMonitorInside)
			return
		}
		s.Monitor()
		w.OK()
	},
}
