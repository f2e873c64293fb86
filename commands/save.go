package commands

import (
	"fmt"

	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/internal/status"
)

// hasStore reports whether the state is persisted.
func hasStore(h *session.Handler) bool { return h.StoreStatus().Fsync != "" }

// maxBackupName bounds the length of a backup's name.
const maxBackupName = 64

var save = spec.Command{
	Name: "SAVE", Summary: "Takes a snapshot and replies when it is on disk; other clients are served meanwhile.",
	Complexity: "O(N), N being the keys", Since: "1.0.0", Group: "server",
	Flags: spec.Admin | spec.NoScript | spec.NoMulti,
	Body:  session.Run(func(s *session.Session, _ *resp.Writer, _ [][]byte) { runSave(s) }),
}

func runSave(s *session.Session) {
	s.Defer(func(done func(error)) (func(), error) {
		return nil, resp.Expose(s.Handler().Config().Store.Save(func(err error) { done(resp.Expose(err)) }))
	}, (*resp.Writer).OK)
}

var bgSave = spec.Command{
	Name: "BGSAVE", Args: "[SCHEDULE]", Summary: "Begins a snapshot; INFO persistence shows its progress.",
	Complexity: "O(1), and O(N) in the background, N being the keys", Since: "1.0.0", Group: "server",
	Flags: spec.Admin | spec.NoScript,
	Body: session.Run(func(s *session.Session, w *resp.Writer, args [][]byte) {
		if len(args) == 2 && !word.Is(args[1], "SCHEDULE") {
			w.Error(errSyntax)
			return
		}
		if err := s.Handler().Config().Store.Save(func(error) {}); err != nil {
			w.Error(resp.Expose(err))
			return
		}
		w.Simple("Background saving started")
	}),
}

var lastSave = spec.Command{
	Name: "LASTSAVE", Summary: "Returns the time of the newest snapshot, or of the server's start if there is no " +
		"snapshot, in seconds since 1970.",
	Complexity: "O(1)", Since: "1.0.0", Group: "server", Flags: spec.Loading | spec.Stale | spec.Fast,
	Body: session.Run(func(s *session.Session, w *resp.Writer, _ [][]byte) {
		w.Int(lastSaved(s.Handler(), s.Handler().StoreStatus()))
	}),
}

// lastSaved is in seconds since 1970.
func lastSaved(h *session.Handler, st status.Store) int64 {
	if st.Saved.At.IsZero() {
		return h.Started().Unix()
	}
	return st.Saved.At.Unix()
}

var rlBackup = spec.Command{
	Name: "RL.BACKUP", Args: "backup-name",
	Summary:    "Takes a snapshot into a directory of its own below the data directory, and returns its path.",
	Complexity: "O(N), N being the keys", Since: "0.1.0", Group: "server",
	Flags: spec.Admin | spec.NoScript | spec.NoMulti,
	Body:  session.Run(runBackup),
}

func runBackup(s *session.Session, w *resp.Writer, args [][]byte) {
	name := args[1]
	if !backupName(name) {
		w.Error(resp.NewError("ERR",
			fmt.Sprintf("name must be 1 to %d of a-z, 0-9, - and _, got %s", maxBackupName, word.Excerpt(name))))
		return
	}
	var path string
	s.Defer(func(done func(error)) (func(), error) {
		return nil, resp.Expose(s.Handler().Config().Store.Backup(string(name), func(at string, err error) {
			path = at
			done(resp.Expose(err))
		}))
	}, func(w *resp.Writer) { w.BulkString(path) })
}

// backupName reports whether a backup may have the name. The name becomes a directory, so
// it must not lead out of the parent directory.
func backupName(name []byte) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return len(name) > 0 && len(name) <= maxBackupName
}
