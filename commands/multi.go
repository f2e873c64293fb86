package commands

import (
	"limitsrv/commands/limiters"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
)

var multi = spec.Command{
	Name: "MULTI", Summary: "Starts a transaction.",
	Complexity: "O(1)", Since: "1.2.0", Group: "transactions",
	Flags: spec.NoScript | spec.Loading | spec.Stale | spec.Fast | spec.Immediate,
	Body:  session.Run(func(s *session.Session, w *resp.Writer, _ [][]byte) { replyDone(w, s.Multi()) }),
}

var exec = spec.Command{
	Name: "EXEC", Summary: "Executes the commands of a transaction atomically.",
	Complexity: "Depends on the commands of the transaction", Since: "1.2.0", Group: "transactions",
	Flags: spec.NoScript | spec.Loading | spec.Stale | spec.Immediate | spec.Executes,
	Body: session.Run(func(s *session.Session, w *resp.Writer, _ [][]byte) {
		if err := s.Exec(); err != nil {
			w.Error(err)
		}
	}),
}

var discard = spec.Command{
	Name: "DISCARD", Summary: "Discards a transaction.",
	Complexity: "O(N), N being the commands queued", Since: "2.0.0", Group: "transactions",
	Flags: spec.NoScript | spec.Loading | spec.Stale | spec.Fast | spec.Immediate,
	Body:  session.Run(func(s *session.Session, w *resp.Writer, _ [][]byte) { replyDone(w, s.Discard()) }),
}

var watch = spec.Command{
	Name: "WATCH", Args: "key [key ...]", Summary: "Makes the next transaction fail if one of the keys changes before it.",
	Complexity: "O(1) for each key", Since: "2.2.0", Group: "transactions",
	Flags: spec.NoScript | spec.Loading | spec.Stale | spec.Fast | spec.Immediate,
	Keys:  spec.ManyKeys,
	Body:  session.Run(runWatch),
}

var unwatch = spec.Command{
	Name: "UNWATCH", Summary: "Clears the watched keys.",
	Complexity: "O(1)", Since: "2.2.0", Group: "transactions",
	Flags: spec.NoScript | spec.Loading | spec.Stale | spec.Fast,
	Body: session.Run(func(s *session.Session, w *resp.Writer, _ [][]byte) {
		s.Unwatch()
		w.OK()
	}),
}

// replyDone answers OK, or err unless it is nil.
func replyDone(w *resp.Writer, err error) {
	if err != nil {
		w.Error(err)
		return
	}
	w.OK()
}

func runWatch(s *session.Session, w *resp.Writer, args [][]byte) {
	keys := args[1:]
	err := s.MayWatch(keys)
	for i := 0; err == nil && i < len(keys); i++ {
		err = limiters.ParseKey(keys[i])
	}
	if err != nil {
		w.Error(err)
		return
	}
	s.Watch(keys)
}
