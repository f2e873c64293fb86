package admin

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"limitsrv/commands"
	"limitsrv/engine"
)

// Keys that metrics tell, and how many bytes of each.
const (
	metricKeys     = 10
	metricKeyBytes = 128
)

// families are all metrics but for histograms and those of the process.
func families() []family {
	return slices.Concat(serverFamilies, keyFamilies, storeFamilies, raftFamilies)
}

var serverFamilies = []family{
	{"build_info", "What is running: always 1.", gauge, []string{"version", "goversion"}, nil, func(v *view, value func(float64, ...string)) {
		value(1, v.version, runtime.Version())
	}},
	{"ready", "1 if /readyz says so, else 0.", gauge, nil, nil, boolean(func(v *view) bool { return v.ready })},
	{"connections", "Connections of clients now.", gauge, nil, nil, integer(func(v *view) int64 { return v.traffic.Clients })},
	{"max_connections", "How many there may be at once.", gauge, nil, nil, integer(func(v *view) int64 { return v.setting("max-clients") })},
	{"connections_total", "Connections of clients accepted, those rejected among them.", counter, nil, nil, integer(func(v *view) int64 { return v.traffic.Connections })},
	{"rejected_connections_total", "Connections closed for want of room.", counter, nil, nil, integer(func(v *view) int64 { return v.traffic.Rejected })},
	{"rejected_http_connections_total", "Connections closed because they spoke HTTP on a port for Redis clients, as web pages and probes do; nothing that followed was executed.", counter, nil, nil, integer(func(v *view) int64 { return v.traffic.RejectedHTTP })},
	{"received_bytes_total", "Bytes read from clients.", counter, nil, nil, integer(func(v *view) int64 { return v.traffic.InputBytes })},
	{"sent_bytes_total", "Bytes written to clients.", counter, nil, nil, integer(func(v *view) int64 { return v.traffic.OutputBytes })},
	{"commands_total", "Calls carried out, by command.", counter, []string{"command"}, nil, byCommand(func(c commands.CommandCount) int64 { return c.Calls })},
	{"command_failures_total", "Calls carried out and answered with an error, by command.", counter, []string{"command"}, nil, byCommand(func(c commands.CommandCount) int64 { return c.Failed })},
	{"command_rejections_total", "Calls not carried out, for their number of words, want of login or rights, or loading, by command.", counter, []string{"command"}, nil, byCommand(func(c commands.CommandCount) int64 { return c.Rejected })},
	{"failed_logins_total", "Attempts to log in that were refused, here and by clients.", counter, nil, nil, integer(func(v *view) int64 { return v.failedLogins })},
	{"certificate_expires_timestamp_seconds", "When the certificate in use for clients, or for links between nodes, expires, since 1970.", gauge, []string{"use"}, nil, func(v *view, value func(float64, ...string)) {
		for use, at := range v.expires {
			value(unix(at()), use)
		}
	}},
	{"refused_total", "Error replies, by code word.", counter, []string{"reason"}, nil, func(v *view, value func(float64, ...string)) {
		for code, n := range v.errors {
			value(float64(n), code)
		}
	}},
}

// byCommand is a value for each command that was called.
func byCommand(of func(commands.CommandCount) int64) func(*view, func(float64, ...string)) {
	return func(v *view, value func(float64, ...string)) {
		for _, c := range v.commands {
			value(float64(of(c)), c.Name)
		}
	}
}

var keyFamilies = []family{
	{"decisions_total", "Decisions by algorithm and outcome, allowed or denied. In a cluster those of all its nodes, as far as this one has them: take one node's, not their sum.", counter, []string{"algorithm", "outcome"}, nil, emitDecisions},
	{"shadow_denied_total", "Of those denied, how many were answered as allowed for SHADOW.", counter, nil, nil, integer(func(v *view) int64 { return v.stats.ShadowDenied })},
	{"keys", "Keys by shard, including those as good as new and not yet forgotten.", gauge, []string{"shard"}, nil, byShard(func(s engine.ShardStat) int64 { return s.Keys })},
	{"memory_bytes", "Memory of the keys by shard.", gauge, []string{"shard"}, nil, byShard(func(s engine.ShardStat) int64 { return s.MemoryBytes })},
	{"max_memory_bytes", "Bound of the memory of all keys; 0 is none.", gauge, nil, nil, integer(func(v *view) int64 { return v.setting("max-memory") })},
	{"image_bytes", "Memory that a snapshot being written holds besides.", gauge, nil, nil, integer(func(v *view) int64 { return v.stats.ImageBytes })},
	{"swept_keys_total", "Keys forgotten for being as good as new.", counter, nil, nil, integer(func(v *view) int64 { return v.stats.Forgotten })},
	{"evicted_keys_total", "Live keys dropped for want of memory.", counter, nil, nil, integer(func(v *view) int64 { return v.stats.Evicted })},
	{"refused_for_memory_total", "Decisions refused with OOM.", counter, nil, nil, integer(func(v *view) int64 { return v.stats.Refused })},
	{"top_denied", "How often the keys refused most were refused in the last minute, at most.", gauge, []string{"rank", "key"}, showsKeys, emitTop(engine.TopDenied)},
	{"top_hot", "How often the keys asked most were asked in the last minute, at most.", gauge, []string{"rank", "key"}, showsKeys, emitTop(engine.TopHot)},
}

func emitDecisions(v *view, value func(float64, ...string)) {
	for alg := range v.stats.Allowed {
		name := strings.ToLower(engine.Alg(alg).String())
		value(float64(v.stats.Allowed[alg]), name, "allowed")
		value(float64(v.stats.Denied[alg]), name, "denied")
	}
}

func byShard(of func(engine.ShardStat) int64) func(*view, func(float64, ...string)) {
	return func(v *view, value func(float64, ...string)) {
		for i, s := range v.shards {
			value(float64(of(s)), strconv.Itoa(i))
		}
	}
}

func emitTop(kind engine.TopKind) func(*view, func(float64, ...string)) {
	return func(v *view, value func(float64, ...string)) {
		for i, row := range v.top(kind) {
			value(float64(row.Count), strconv.Itoa(i+1), printable(row.Key, metricKeyBytes))
		}
	}
}

var storeFamilies = []family{
	{"loading", "1 while the state is being loaded, else 0.", gauge, nil, nil, boolean(func(v *view) bool { return v.loading })},
	{"loading_read_keys", "Keys of the snapshot that were read at the start.", gauge, nil, hasLocalStore, integer(func(v *view) int64 { return v.store.Loading.Keys })},
	{"loading_keys", "Keys that there were to read.", gauge, nil, hasLocalStore, integer(func(v *view) int64 { return v.store.Loading.AllKeys })},
	{"loading_read_bytes", "Bytes of the log that were read at the start.", gauge, nil, hasLocalStore, integer(func(v *view) int64 { return v.store.Loading.LogBytes })},
	{"loading_bytes", "Bytes of the log that there were to read.", gauge, nil, hasLocalStore, integer(func(v *view) int64 { return v.store.Loading.AllLogBytes })},
	{"log_failing", "1 while decisions can't be written to disk as promised, else 0.", gauge, nil, hasLocalStore, boolean(func(v *view) bool { return v.store.Failed != nil })},
	{"log_bytes", "Bytes of the log on disk.", gauge, nil, hasStore, integer(func(v *view) int64 { return v.store.Log.Bytes })},
	{"log_segments", "Files of the log.", gauge, nil, hasStore, integer(func(v *view) int { return v.store.Log.Segments })},
	{"log_unsynced_decisions", "Decisions that a power cut would take.", gauge, nil, hasLocalStore, integer(func(v *view) int64 { return v.store.Log.Unsynced })},
	{"log_lag_seconds", "How long ago the oldest of these was made.", gauge, nil, hasLocalStore, float(func(v *view) float64 { return v.store.Log.Lag.Seconds() })},
	{"log_delayed_syncs_total", "Syncs of the log that took more than a second.", counter, nil, hasLocalStore, integer(func(v *view) int64 { return v.store.Log.Delayed })},
	{"snapshot_timestamp_seconds", "When the newest snapshot was made, since 1970; 0 if there is none.", gauge, nil, hasStore, float(func(v *view) float64 { return unix(v.store.Saved.At) })},
	{"snapshot_duration_seconds", "How long the last attempt at one took.", gauge, nil, hasStore, float(func(v *view) float64 { return v.store.Saved.Took.Seconds() })},
	{"snapshot_bytes", "Size of the newest snapshot.", gauge, nil, hasStore, integer(func(v *view) int64 { return v.store.Saved.Bytes })},
	{"snapshot_failing", "1 if the last attempt failed, else 0.", gauge, nil, hasStore, boolean(func(v *view) bool { return v.store.Saved.Err != nil })},
	{"snapshot_in_progress", "1 while a snapshot is being written, else 0.", gauge, nil, hasStore, boolean(func(v *view) bool { return !v.store.Saving.Since.IsZero() })},
	{"snapshots_total", "Snapshots that succeeded.", counter, nil, hasStore, integer(func(v *view) int64 { return v.store.Saved.Count })},
}

func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
