package commands

import (
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
)

var errMonitorInside = resp.NewError("ERR", "MONITOR isn't allowed for DENY BLOCKING client")

var monitor = spec.Command{
	Name: "MONITOR", Summary: "Streams every command of all clients, except administrative ones.",
	Complexity: "O(1)", Since: "1.0.0", Group: "server",
	Flags: spec.Admin | spec.NoScript | spec.Loading | spec.Stale | spec.AllKeys,
	Body: session.Run(func(s *session.Session, w *resp.Writer, _ [][]byte) {
		if s.InExec() {
			w.Error(errMonitorInside)
			return
		}
		s.Monitor()
		w.OK()
	}),
}
