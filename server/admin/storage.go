package admin

import (
	"strings"

	"limitsrv/commands/session"
)

// storage is the state of the log and of the snapshots on disk.
type storage struct {
	Fsync    string `json:"fsync"`
	Failed   string `json:"failed"` // error of the log; empty: no error
	LogBytes int64  `json:"log_bytes"`
	Segments int    `json:"log_segments"`
	// Unsynced are decisions that a power loss would lose; null in a cluster, where that
	// is not measured.
	Unsynced *int64   `json:"unsynced"`
	Snapshot snapshot `json:"snapshot"`
}

type snapshot struct {
	Time    int64  `json:"time_ms"` // 0: no snapshot
	Bytes   int64  `json:"bytes"`
	Took    int64  `json:"took_ms"`
	Failed  string `json:"failed"` // error of the last attempt; empty: no error
	Writing bool   `json:"writing"`
}

// newStorage returns nil if the state is in memory only.
func newStorage(h *session.Handler) *storage {
	status := h.StoreStatus()
	if status.Fsync == "" {
		return nil
	}
	s := &storage{
		Fsync: status.Fsync, LogBytes: status.Log.Bytes, Segments: status.Log.Segments,
		Snapshot: snapshot{Bytes: status.Saved.Bytes, Took: status.Saved.Took.Milliseconds(),
			Writing: !status.Saving.Since.IsZero()},
	}
	if !status.Saved.At.IsZero() {
		s.Snapshot.Time = status.Saved.At.UnixMilli()
	}
	if status.Saved.Err != nil {
		s.Snapshot.Failed = oneLine(status.Saved.Err.Error())
	}
	if status.Failed != nil {
		s.Failed = oneLine(status.Failed.Error())
	}
	if h.Replication().Role == "" {
		s.Unsynced = &status.Log.Unsynced
	}
	return s
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
