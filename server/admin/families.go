package admin

import (
	"encoding/hex"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"limitsrv/commands/session"
	"limitsrv/engine"
)

// Number of keys in the metrics, bytes of each, and number of scripts.
const (
	metricKeys     = 10
	metricKeyBytes = 128
	metricScripts  = 10
)

// families returns all metrics except the histogram and the metrics of the process.
func families() []family {
	return slices.Concat(serverFamilies, keyFamilies, ruleFamilies, eventFamilies, scriptFamilies, storeFamilies,
		raftFamilies, frontFamilies)
}

var serverFamilies = []family{
	{"build_info", "Version of the server and of Go; always 1.", gauge, []string{"version", "goversion"}, nil,
		func(v *view, value func(float64, ...string)) {
			value(1, v.version, runtime.Version())
		}},
	{"ready", "1 if /readyz reports ready, else 0.", gauge, nil, nil, boolean(func(v *view) bool { return v.ready })},
	{"degraded", "1 if /readyz reports degraded: decisions go on, and a condition fails, as for a full disk under " +
		"--fsync everysec; else 0.", gauge, nil, nil, boolean(func(v *view) bool { return v.degraded })},
	{"connections", "Client connections open now.", gauge, nil, nil,
		integer(func(v *view) int64 { return v.traffic.Clients })},
	{"max_connections", "Bound of the client connections open at once.", gauge, nil, nil,
		integer(func(v *view) int64 { return v.setting("max-clients") })},
	{"connections_total", "Client connections accepted, including those rejected.", counter, nil, nil,
		integer(func(v *view) int64 { return v.traffic.Connections })},
	{"rejected_connections_total", "Connections closed because the bound of client connections was reached.", counter, nil,
		nil, integer(func(v *view) int64 { return v.traffic.Rejected })},
	{"rejected_http_connections_total", "Connections closed because they spoke HTTP on a port for Redis clients, as web " +
		"pages and probes do; nothing that followed was executed.", counter, nil, nil,
		integer(func(v *view) int64 { return v.traffic.RejectedHTTP })},
	{"received_bytes_total", "Bytes read from clients.", counter, nil, nil,
		integer(func(v *view) int64 { return v.traffic.InputBytes })},
	{"sent_bytes_total", "Bytes written to clients.", counter, nil, nil,
		integer(func(v *view) int64 { return v.traffic.OutputBytes })},
	{"commands_total", "Calls executed, by command.", counter, []string{"command"}, nil,
		byCommand(func(c session.CommandCount) int64 { return c.Calls })},
	{"command_failures_total", "Calls executed and answered with an error, by command.", counter, []string{"command"}, nil,
		byCommand(func(c session.CommandCount) int64 { return c.Failed })},
	{"command_rejections_total", "Calls not executed because of a wrong number of arguments, a missing login or right, " +
		"or loading, by command.", counter, []string{"command"}, nil,
		byCommand(func(c session.CommandCount) int64 { return c.Rejected })},
	{"failed_logins_total", "Failed logins, of clients and on the admin listener.", counter, nil, nil,
		integer(func(v *view) int64 { return v.failedLogins })},
	{"certificate_expires_timestamp_seconds", "Expiry of the certificate in use for clients, or for links between " +
		"nodes, since 1970.", gauge, []string{"use"}, nil, func(v *view, value func(float64, ...string)) {
		for use, at := range v.expires {
			value(unix(at()), use)
		}
	}},
	{"refused_total", "Error replies, by code word.", counter, []string{"reason"}, nil,
		func(v *view, value func(float64, ...string)) {
			for code, n := range v.errors {
				value(float64(n), code)
			}
		}},
}

// byCommand emits a value for each command that was called.
func byCommand(of func(session.CommandCount) int64) func(*view, func(float64, ...string)) {
	return func(v *view, value func(float64, ...string)) {
		for _, c := range v.commands {
			value(float64(of(c)), c.Name)
		}
	}
}

var keyFamilies = []family{
	{"requests_total", "Requests of clients to this node, each once for any number of limits. via is command, grpc or " +
		"http. outcome is allowed, denied, shadow_denied (allowed, and a limit in shadow would have denied it), error, " +
		"no_quorum_allowed (allowed without a decision by --no-quorum allow), or repeated (with ONCE, and answered as " +
		"before). Requests that only look are left out; of LEAKY with SHADOW all count as allowed.", counter,
		[]string{"via", "outcome"}, nil, emitRequests},
	{"decisions_total", "Decisions about one limit each, by algorithm and outcome, allowed or denied; requests_total " +
		"counts requests. In a cluster each node counts the decisions of all nodes that it has applied: use one node's " +
		"value, not the sum.", counter, []string{"algorithm", "outcome"}, nil, emitDecisions},
	{"charges_cut_total", "Charges that were recorded in part or not at all, because the debt would have exceeded " +
		"another limit.", counter, nil, nil, integer(func(v *view) int64 { return v.stats.ChargesCut })},
	{"reservations", "Records of reservations. open: not settled, including expired reservations until they are " +
		"forgotten after five minutes; settled: remembered for five minutes.", gauge, []string{"state"}, nil,
		ofReservations((*engine.ReservationStats).States)},
	{"reservations_total", "Requests that reserve, by result: granted, limited, or repeated (answered from the record).",
		counter, []string{"result"}, nil, ofReservations((*engine.ReservationStats).Results)},
	{"reservations_settled_total", "Ends of reservations: committed, canceled, late (a commit after the end), or " +
		"expired: open records removed without a settlement, five minutes after the end of ttl, or earlier by DEL, a " +
		"flush or eviction. In a cluster each node counts all: use one node's value, not the sum. The same holds for all " +
		"metrics of reservations.", counter, []string{"how"}, nil,
		ofReservations((*engine.ReservationStats).Settlements)},
	{"reserved_tokens_total", "Tokens of reservations, summed over their limits: reserved; and of settled reservations " +
		"used, given_back, and beyond: charged because more was used.", counter, []string{"what"}, nil,
		ofReservations((*engine.ReservationStats).Tokens)},
	{"id_conflicts_total", "Requests answered BUSYKEY: their id belongs to another request, or to a reservation that " +
		"was canceled or has expired.", counter, nil, nil,
		integer(func(v *view) int64 { return v.stats.Reservations.Conflicts })},
	{"holds", "Holds of open reservations, each on one limit, including ended holds that are not yet removed.",
		gauge, nil, nil, integer(func(v *view) int64 { return v.stats.Holds.Open })},
	{"holds_total", "Holds of reservations, each on one limit: taken, settled by a commit or a cancel, or ended with " +
		"their ttl or their key.", counter, []string{"how"}, nil, emitHolds},
	{"shadow_denied_total", "Denied decisions that were answered as allowed because of SHADOW.", counter, nil, nil,
		integer(func(v *view) int64 { return v.stats.ShadowDenied })},
	{"keys", "Keys by shard, including fully reset keys not yet removed.", gauge, []string{"shard"}, nil,
		byShard(func(s engine.ShardStat) int64 { return s.Keys })},
	{"database_keys", "Keys by database, for those that have any, including expired keys not yet removed.", gauge,
		[]string{"db"}, nil, byDatabase(func(v *view, db int) int64 { return v.dbKeys[db] })},
	{"database_expiring_keys", "Keys by database that expire or will be fully reset.", gauge, []string{"db"}, nil,
		byDatabase(func(v *view, db int) int64 { return v.dbKeys[db] - v.dbLasting[db] })},
	{"memory_bytes", "Memory of the keys, by shard.", gauge, []string{"shard"}, nil,
		byShard(func(s engine.ShardStat) int64 { return s.MemoryBytes })},
	{"max_memory_bytes", "Bound of the memory of all keys; 0: no bound.", gauge, nil, nil,
		integer(func(v *view) int64 { return v.setting("max-memory") })},
	{"image_bytes", "Additional memory held by a snapshot being written.", gauge, nil, nil,
		integer(func(v *view) int64 { return v.stats.ImageBytes })},
	{"swept_keys_total", "Keys removed because they were fully reset.", counter, nil, nil,
		integer(func(v *view) int64 { return v.stats.Forgotten })},
	{"evicted_keys_total", "Live keys evicted because memory was full.", counter, nil, nil,
		integer(func(v *view) int64 { return v.stats.Evicted })},
	{"refused_for_memory_total", "Decisions rejected with OOM because memory was full.", counter, nil, nil,
		integer(func(v *view) int64 { return v.stats.Refused })},
	{"top_denied", "Denials of the keys denied most in the last minute: an upper bound.", gauge,
		[]string{"rank", "db", "key"}, showsKeys, emitTop(engine.TopDenied)},
	{"top_hot", "Requests of the keys requested most in the last minute: an upper bound.", gauge,
		[]string{"rank", "db", "key"}, showsKeys, emitTop(engine.TopHot)},
}

func emitRequests(v *view, value func(float64, ...string)) {
	for _, c := range v.requests {
		for o, n := range c.N {
			value(float64(n), c.Via, session.Outcome(o).String())
		}
	}
}

// ofReservations emits counts of reservations.
func ofReservations(of func(*engine.ReservationStats) []engine.Count) func(*view, func(float64, ...string)) {
	return func(v *view, value func(float64, ...string)) {
		for _, c := range of(&v.stats.Reservations) {
			value(float64(c.N), c.Name)
		}
	}
}

func emitHolds(v *view, value func(float64, ...string)) {
	h := &v.stats.Holds
	value(float64(h.Taken), "taken")
	value(float64(h.Settled), "settled")
	value(float64(h.Gone-h.Settled), "ended")
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

// byDatabase emits a value for each database that has keys.
func byDatabase(of func(v *view, db int) int64) func(*view, func(float64, ...string)) {
	return func(v *view, value func(float64, ...string)) {
		for db, keys := range v.dbKeys {
			if keys > 0 {
				value(float64(of(v, db)), strconv.Itoa(db))
			}
		}
	}
}

func emitTop(kind engine.TopKind) func(*view, func(float64, ...string)) {
	return func(v *view, value func(float64, ...string)) {
		for i, row := range v.top(kind) {
			value(float64(row.Count), strconv.Itoa(i+1), strconv.Itoa(int(row.Tag)), printable(row.Key, metricKeyBytes))
		}
	}
}

var scriptFamilies = []family{
	{"script_runs_total", "Runs of scripts and functions. In a cluster each node counts the runs of all nodes that it " +
		"has applied, except for read-only runs, which only one node executes.", counter, nil, nil,
		integer(func(v *view) int64 { return v.stats.Runs })},
	{"script_failures_total", "Runs of scripts and functions that were answered with an error.", counter, nil, nil,
		integer(func(v *view) int64 { return v.stats.Failed })},
	{"script_steps_total", "Steps of all runs; --script-steps bounds the steps of a run.", counter, nil, nil,
		integer(func(v *view) int64 { return v.stats.Steps })},
	{"script_turns_total", "Batches with scripts that are likely to end at their budgets. They wait for a turn while " +
		"scripts are heavy.", counter, nil, nil, integer(func(v *view) int64 { return v.turnsAdded })},
	{"script_turns_waiting", "Batches that wait for a turn now.", gauge, nil, nil,
		integer(func(v *view) int { return v.turnsWaiting })},
	{"script_longest_run_steps", "Steps of the longest run of a script, for the ten scripts with the longest runs, by " +
		"SHA-1.", gauge, []string{"rank", "sha1"}, nil, func(v *view, value func(float64, ...string)) {
		for i, c := range v.scripts.Costliest {
			value(float64(c.Steps), strconv.Itoa(i+1), hex.EncodeToString(c.ID[:]))
		}
	}},
	{"scripts", "Known scripts.", gauge, nil, nil, integer(func(v *view) int { return v.scripts.Known })},
	{"script_bytes", "Bytes of the texts of all scripts, flushed scripts included.", gauge, nil, nil,
		integer(func(v *view) int { return v.scripts.Bytes })},
	{"dropped_scripts_total", "Scripts dropped because there were too many.", counter, nil, nil,
		integer(func(v *view) int64 { return v.scripts.Dropped })},
}

var storeFamilies = []family{
	{"loading", "1 while the state is being loaded, else 0.", gauge, nil, nil,
		boolean(func(v *view) bool { return v.loading })},
	{"loading_read_keys", "Keys of the snapshot read so far at the start.", gauge, nil, hasLocalStore,
		integer(func(v *view) int64 { return v.store.Loading.Keys })},
	{"loading_keys", "Keys of the snapshot in total.", gauge, nil, hasLocalStore,
		integer(func(v *view) int64 { return v.store.Loading.AllKeys })},
	{"loading_read_bytes", "Bytes of the log read so far at the start.", gauge, nil, hasLocalStore,
		integer(func(v *view) int64 { return v.store.Loading.LogBytes })},
	{"loading_bytes", "Bytes of the log to read in total.", gauge, nil, hasLocalStore,
		integer(func(v *view) int64 { return v.store.Loading.AllLogBytes })},
	{"log_failing", "1 while decisions can't be written to disk as --fsync requires, else 0.", gauge, nil, hasLocalStore,
		boolean(func(v *view) bool { return v.store.Failed != nil })},
	{"log_bytes", "Bytes of the log on disk.", gauge, nil, hasStore,
		integer(func(v *view) int64 { return v.store.Log.Bytes })},
	{"log_segments", "Number of log files.", gauge, nil, hasStore,
		integer(func(v *view) int { return v.store.Log.Segments })},
	{"log_unsynced_decisions", "Decisions that a power loss would lose.", gauge, nil, hasLocalStore,
		integer(func(v *view) int64 { return v.store.Log.Unsynced })},
	{"log_lag_seconds", "Age of the oldest decision not synced.", gauge, nil, hasLocalStore,
		float(func(v *view) float64 { return v.store.Log.Lag.Seconds() })},
	{"log_delayed_syncs_total", "Syncs of the log that took more than a second.", counter, nil, hasLocalStore,
		integer(func(v *view) int64 { return v.store.Log.Delayed })},
	{"snapshot_timestamp_seconds", "Time of the newest snapshot, since 1970; 0 if there is no snapshot.", gauge, nil,
		hasStore, float(func(v *view) float64 { return unix(v.store.Saved.At) })},
	{"snapshot_duration_seconds", "Duration of the last attempt at a snapshot.", gauge, nil, hasStore,
		float(func(v *view) float64 { return v.store.Saved.Took.Seconds() })},
	{"snapshot_bytes", "Size of the newest snapshot.", gauge, nil, hasStore,
		integer(func(v *view) int64 { return v.store.Saved.Bytes })},
	{"snapshot_failing", "1 if the last attempt at a snapshot failed, else 0.", gauge, nil, hasStore,
		boolean(func(v *view) bool { return v.store.Saved.Err != nil })},
	{"snapshot_in_progress", "1 while a snapshot is being written, else 0.", gauge, nil, hasStore,
		boolean(func(v *view) bool { return !v.store.Saving.Since.IsZero() })},
	{"snapshots_total", "Snapshots that succeeded.", counter, nil, hasStore,
		integer(func(v *view) int64 { return v.store.Saved.Count })},
}

func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
