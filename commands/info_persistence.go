package commands

import (
	"fmt"
	"strings"
	"time"

	"limitsrv/commands/session"
	"limitsrv/internal/status"
)

// infoPersistence writes the store's status under Redis' names: the RDB file is the
// snapshot, the AOF is the log, which is truncated instead of rewritten. Our own lines
// follow.
func infoPersistence(h *session.Handler, l *lines) {
	st := h.StoreStatus()
	l.add("loading", oneIf(h.IsLoading()))
	l.add("async_loading", 0)
	l.add("current_save_keys_processed", st.Saving.Keys)
	l.add("current_save_keys_total", st.Saving.AllKeys)
	l.add("rdb_changes_since_last_save", st.Saved.Changes)
	l.add("rdb_bgsave_in_progress", oneIf(!st.Saving.Since.IsZero()))
	l.add("rdb_last_save_time", lastSaved(h, st))
	l.add("rdb_last_bgsave_status", okUnless(st.Saved.Err))
	l.add("rdb_last_bgsave_time_sec", wholeSeconds(st.Saved.Took))
	l.add("rdb_current_bgsave_time_sec", secondsSince(st.Saving.Since))
	l.add("rdb_saves", st.Saved.Count)
	l.add("rdb_last_load_keys_expired", 0)
	l.add("rdb_last_load_keys_loaded", st.Loading.Keys)
	l.add("aof_enabled", oneIf(st.Fsync != ""))
	l.add("aof_rewrite_in_progress", 0)
	l.add("aof_rewrite_scheduled", 0)
	l.add("aof_last_rewrite_time_sec", -1)
	l.add("aof_current_rewrite_time_sec", -1)
	l.add("aof_last_bgrewrite_status", "ok")
	l.add("aof_rewrites", 0)
	l.add("aof_rewrites_consecutive_failures", 0)
	l.add("aof_last_write_status", okUnless(st.Failed))
	if st.Fsync == "" {
		l.add("persist_mode", "memory")
		return
	}
	l.add("aof_current_size", st.Log.Bytes)
	l.add("aof_base_size", st.Log.BaseBytes)
	l.add("aof_pending_rewrite", 0)
	l.add("aof_buffer_length", 0)
	l.add("aof_pending_bio_fsync", oneIf(st.Log.Syncing))
	l.add("aof_delayed_fsync", st.Log.Delayed)
	if h.IsLoading() {
		infoLoading(l, st)
	}
	infoStore(l, st)
}

// infoLoading writes the progress of loading, in bytes as Redis does: the share of the work
// that is done is taken as a share of the bytes.
func infoLoading(l *lines, st status.Store) {
	all, share := st.Loading.SnapshotBytes+st.Loading.AllLogBytes, st.Loading.Share()
	done, eta := int64(share*float64(all)), int64(1) // Redis' value before the first progress
	if share > 0 {
		eta = int64(st.Loading.Left(time.Now()).Seconds())
	}
	l.add("loading_start_time", st.Loading.Since.Unix())
	l.add("loading_total_bytes", all)
	l.add("loading_loaded_bytes", done)
	l.add("loading_loaded_perc", fmt.Sprintf("%.2f", 100*share))
	l.add("loading_eta_seconds", eta)
}

// infoStore writes our own lines.
func infoStore(l *lines, st status.Store) {
	l.add("persist_mode", st.Fsync)
	l.add("persist_snapshot_age_seconds", secondsSince(st.Saved.At))
	l.add("persist_snapshot_bytes", st.Saved.Bytes)
	l.add("persist_snapshot_keys", st.Saved.Keys)
	l.add("persist_snapshot_seconds", fmt.Sprintf("%.3f", st.Saved.Took.Seconds()))
	l.add("persist_snapshot_written_bytes", st.Saving.Bytes)
	l.add("persist_snapshot_error", text(st.Saved.Err))
	l.add("persist_log_bytes", st.Log.Bytes)
	l.add("persist_log_segments", st.Log.Segments)
	l.add("persist_unsynced_decisions", st.Log.Unsynced)
	l.add("persist_unsynced_seconds", fmt.Sprintf("%.3f", st.Log.Lag.Seconds()))
	l.add("persist_error", text(st.Failed))
	l.add("persist_error_seconds", secondsSince(st.FailedSince))
}

func oneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}

func okUnless(err error) string {
	if err != nil {
		return "err"
	}
	return "ok"
}

// text returns an error on a line, or nothing.
func text(err error) string {
	if err == nil {
		return ""
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// secondsSince returns -1 for a zero time.
func secondsSince(t time.Time) int64 {
	if t.IsZero() {
		return -1
	}
	return max(0, int64(time.Since(t).Seconds()))
}

// wholeSeconds returns -1 for a zero duration.
func wholeSeconds(d time.Duration) int64 {
	if d == 0 {
		return -1
	}
	return int64(d.Seconds())
}
