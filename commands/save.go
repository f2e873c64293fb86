package commands

import (
	"fmt"

	"limitsrv/commands/resp"
	"limitsrv/status"
)

// maxBackupName bounds the length of a backup's name.
const maxBackupName = 64

var save = Command{
	Name: "SAVE", Summary: "Takes a snapshot and replies when it is on disk; other clients are served meanwhile.",
	Complexity: "O(N), N being the keys", Since: "1.0.0", Group: "server", Flags: Admin | NoScript | NoMulti,
	Run: func(s *Session, args [][]byte) { runSave(s) },
}

func runSave(s *Session) {
	s.deferReply(func(done func(error)) error {
		return resp.Expose(s.h.config.Store.Save(func(err error) { done(resp.Expose(err)) }))
	}, (*resp.Writer).OK)
}

var bgSave = Command{
	Name: "BGSAVE", Args: "[SCHEDULE]", Summary: "Begins a snapshot; INFO persistence shows its progress.",
	Complexity: "O(1), and O(N) in the background, N being the keys", Since: "1.0.0", Group: "server", Flags: Admin | NoScript,
	Run: func(s *Session, args [][]byte) {
		if len(args) == 2 && !isWord(args[1], "SCHEDULE") {
			s.w.Error(errSyntax)
			return
		}
		if err := s.h.config.Store.Save(func(error) {}); err != nil {
			s.w.Error(resp.Expose(err))
			return
		}
		s.w.Simple("Background saving started")
	},
}

var lastSave = Command{
	Name: "LASTSAVE", Summary: "Returns the time of the newest snapshot, or of the server's start if there is no snapshot, in seconds since 1970.",
	Complexity: "O(1)", Since: "1.0.0", Group: "server", Flags: Loading | Stale | Fast,
	Run: func(s *Session, _ [][]byte) { s.w.Int(s.h.lastSave(s.h.config.Store.Status())) },
}

// lastSave is in seconds since 1970.
func (h *Handler) lastSave(st status.Store) int64 {
	if st.Saved.At.IsZero() {
		return h.start.Unix()
	}
	return st.Saved.At.Unix()
}

var rlBackup = Command{
	Name: "RL.BACKUP", Args: "backup-name", Summary: "Takes a snapshot into a directory of its own below the data directory, and returns its path.",
	Complexity: "O(N), N being the keys", Since: "0.1.0", Group: "server", Flags: Admin | NoScript | NoMulti,
	Run: runBackup,
}

func runBackup(s *Session, args [][]byte) {
	name := args[1]
	if !backupName(name) {
		s.w.Error(resp.NewError("ERR", fmt.Sprintf("name must be 1 to %d of a-z, 0-9, - and _, got %s", maxBackupName, excerpt(name))))
		return
	}
	var path string
	s.deferReply(func(done func(error)) error {
		return resp.Expose(s.h.config.Store.Backup(string(name), func(at string, err error) {
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
