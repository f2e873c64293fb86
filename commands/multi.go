package commands

import (
	"limitsrv/commands/limiters"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
)

var multi = session.Command{
	Name: "MULTI", Summary: "Starts a transaction.",
	Complexity: "O(1)", Since: "1.2.0", Group: "transactions",
	Flags: session.NoScript | session.Loading | session.Stale | session.Fast | session.Immediate,
	Run:   func(s *session.Session, w *resp.Writer, _ [][]byte) { replyDone(w, s.Multi()) },
}

var exec = session.Command{
	Name: "EXEC", Summary: "Executes the commands of a transaction atomically.",
	Complexity: "Depends on the commands of the transaction", Since: "1.2.0", Group: "transactions",
	Flags: session.NoScript | session.Loading | session.Stale | session.Immediate | session.Executes,
	Run: func(s *session.Session, w *resp.Writer, _ [][]byte) {
		if err := s.Exec(); err != nil {
			w.Error(err)
		}
	},
}

var discard = session.Command{
	Name: "DISCARD", Summary: "Discards a transaction.",
	Complexity: "O(N), N being the commands queued", Since: "2.0.0", Group: "transactions",
	Flags: session.NoScript | session.Loading | session.Stale | session.Fast | session.Immediate,
	Run:   func(s *session.Session, w *resp.Writer, _ [][]byte) { replyDone(w, s.Discard()) },
}

var watch = session.Command{
	Name: "WATCH", Args: "key [key ...]", Summary: "Makes the next transaction fail if one of the keys changes before it.",
	Complexity: "O(1) for each key", Since: "2.2.0", Group: "transactions",
	Flags: session.NoScript | session.Loading | session.Stale | session.Fast | session.Immediate,
	Keys:  manyKeys,
	Run:   runWatch,
}

var unwatch = session.Command{
	Name: "UNWATCH", Summary: "Clears the watched keys.",
	Complexity: "O(1)", Since: "2.2.0", Group: "transactions",
	Flags: session.NoScript | session.Loading | session.Stale | session.Fast,
	Run: func(s *session.Session, w *resp.Writer, _ [][]byte) {
		s.Unwatch()
		w.OK()
	},
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
	err := s.MayWatch(len(keys))
	for i := 0; err == nil && i < len(keys); i++ {
		err = limiters.ParseKey(keys[i])
	}
	if err != nil {
		w.Error(err)
		return
	}
	s.Watch(keys)
}
