package commands

import (
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/rules/live"
	"limitsrv/commands/session"
)

func runPolicy(s *session.Session, w *resp.Writer, args [][]byte) {
	withAttributes(s, w, args, func(w *resp.Writer, st *live.State, q *checks.Request) error {
		var r rules.Result
		if err := st.Set.Match(&q.Request, st.Overrides, s.Handler().Config().Clock.Now(), &r); err != nil {
			return err
		}
		w.Array(len(r.Limits))
		for i := range r.Limits {
			m := &r.Limits[i]
			p := m.Policy()
			w.Array(6)
			w.BulkString(m.Name())
			w.Int(p.Quota)
			w.Int(p.WindowMillis)
			w.BulkString(p.Unit)
			w.BulkString(p.Algorithm)
			w.BulkString(st.Mode(m.Mode).String())
		}
		return nil
	})
}
