package commands

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

var info = spec.Command{
	Name: "INFO", Args: "[section ...]", Summary: "Describes the server, in sections.",
	Complexity: "O(1)", Since: "1.0.0", Group: "server", Flags: spec.Loading | spec.Stale,
	Fresh: func(args [][]byte) bool {
		return slices.ContainsFunc(args[1:], func(a []byte) bool { return word.Is(a, "KEYSPACE") })
	},
	Body: session.Run(func(s *session.Session, w *resp.Writer,
		args [][]byte) {
		w.Verbatim(infoText(s.Handler(), args[1:]))
	}),
}

// A section of INFO writes its lines. An extra section is left out unless it is named.
type section struct {
	name  string
	extra bool
	write func(*session.Handler, *lines)
}

var sections = []section{
	{"Server", false, infoServer},
	{"Clients", false, infoClients},
	{"Memory", false, infoMemory},
	{"Persistence", false, infoPersistence},
	{"Stats", false, infoStats},
	{"Replication", false, infoReplication},
	{"Raft", false, infoRaft},
	{"CPU", false, infoCPU},
	{"Commandstats", true, infoCommands},
	{"Latencystats", true, infoLatency},
	{"Errorstats", false, infoErrors},
	{"Cluster", false, infoCluster},
	{"Limits", false, infoLimits},
	{"Reservations", false, infoReservations},
	{"Rules", false, infoRules},
	{"Events", false, infoEvents},
	{"Scripts", false, infoScripts},
	{"Keyspace", false, infoKeyspace},
}

// infoText returns the text of the named sections; with no name, of the default sections.
func infoText(h *session.Handler, asked [][]byte) string {
	var text lines
	for _, sec := range sections {
		if !wanted(sec, asked) {
			continue
		}
		if text.Len() > 0 {
			text.WriteString("\r\n")
		}
		text.WriteString("# " + sec.name + "\r\n")
		sec.write(h, &text)
	}
	return text.String()
}

func wanted(sec section, asked [][]byte) bool {
	if len(asked) == 0 {
		return !sec.extra
	}
	for _, a := range asked {
		switch {
		case strings.EqualFold(string(a), sec.name), word.Is(a, "ALL"), word.Is(a, "EVERYTHING"):
			return true
		case word.Is(a, "DEFAULT") && !sec.extra:
			return true
		}
	}
	return false
}

// lines are name:value lines with INFO's line ends.
type lines struct{ strings.Builder }

func (l *lines) add(name string, value any) { fmt.Fprintf(l, "%s:%v\r\n", name, value) }

func infoServer(h *session.Handler, l *lines) {
	up := int64(time.Since(h.Started()).Seconds())
	l.add("redis_version", redisVersion)
	l.add("limitsrv_version", h.Version())
	l.add("redis_mode", modeOf(h))
	l.add("os", runtime.GOOS+" "+runtime.GOARCH)
	l.add("arch_bits", strconv.IntSize)
	l.add("go_version", runtime.Version())
	l.add("process_id", os.Getpid())
	l.add("run_id", h.RunID())
	l.add("tcp_port", port(h))
	l.add("server_time_usec", int64(h.Now())/1000)
	l.add("uptime_in_seconds", up)
	l.add("uptime_in_days", up/(24*3600))
	why := h.NotReady()
	l.add("ready", oneIf(why == ""))
	l.add("not_ready", why)
	l.add("degraded", h.Degraded())
}

// port returns the port of the option listen, or 0.
func port(h *session.Handler) string {
	listen := h.Option("listen")
	if i := strings.LastIndexByte(listen, ':'); i >= 0 {
		return listen[i+1:]
	}
	return "0"
}

func infoClients(h *session.Handler, l *lines) {
	l.add("connected_clients", h.Connected())
	l.add("maxclients", setting(h, "maxclients"))
	l.add("blocked_clients", h.Waiting())
	l.add("tracking_clients", h.Tracked().Sizes().Clients)
	l.add("pubsub_clients", h.Hub().Sizes().Clients)
}

func infoMemory(h *session.Handler, l *lines) {
	m, dataset := readMemory(), h.Engine().Stats().MemoryBytes
	l.add("used_memory", dataset)
	l.add("used_memory_human", human(dataset))
	l.add("used_memory_rss", m.resident)
	l.add("used_memory_rss_human", human(m.resident))
	scripts := h.Engine().SourceStats(0)
	l.add("used_memory_scripts_eval", scripts.Bytes)
	l.add("number_of_cached_scripts", scripts.Known)
	l.add("used_memory_dataset", dataset)
	l.add("maxmemory", setting(h, "maxmemory"))
	l.add("maxmemory_policy", setting(h, "maxmemory-policy"))
	l.add("mem_fragmentation_ratio", fmt.Sprintf("%.2f", float64(m.resident)/float64(max(m.resident-m.idle, 1))))
	l.add("mem_allocator", "go")
	l.add("allocator_allocated", m.used)
}

// human returns a size in the form of Redis' human-readable fields.
func human(bytes int64) string {
	size, unit := float64(bytes), "B"
	for _, next := range []string{"K", "M", "G", "T"} {
		if size < 1024 {
			break
		}
		size, unit = size/1024, next
	}
	if unit == "B" {
		return strconv.FormatInt(bytes, 10) + unit
	}
	return fmt.Sprintf("%.2f%s", size, unit)
}

func infoStats(h *session.Handler, l *lines) {
	listened := h.Hub().Sizes()
	total, limits := h.Stats().Total(), h.Engine().Stats()
	var errors int64
	for _, n := range h.Stats().Errors() {
		errors += n
	}
	l.add("total_connections_received", h.Stats().Connections())
	l.add("total_commands_processed", total.Calls)
	network := h.Stats().Network()
	rates := h.Stats().Rates(total.Calls, network)
	l.add("instantaneous_ops_per_sec", rates.Commands)
	l.add("total_net_input_bytes", network.InputBytes)
	l.add("total_net_output_bytes", network.OutputBytes)
	l.add("instantaneous_input_kbps", kilobytes(rates.InputBytes))
	l.add("instantaneous_output_kbps", kilobytes(rates.OutputBytes))
	l.add("rejected_connections", network.Rejected)
	l.add("rejected_http_connections", network.RejectedHTTP)
	l.add("expired_keys", limits.Forgotten)
	l.add("evicted_keys", limits.Evicted)
	l.add("evicted_scripts", h.Engine().SourceStats(0).Dropped)
	l.add("keyspace_hits", total.Hits)
	l.add("keyspace_misses", total.Misses)
	l.add("pubsub_channels", listened.Channels)
	l.add("pubsub_patterns", listened.Patterns)
	l.add("total_error_replies", errors)
	tracked := h.Tracked().Sizes()
	l.add("tracking_total_keys", tracked.Keys)
	l.add("tracking_total_items", tracked.Items)
	l.add("tracking_total_prefixes", tracked.Prefixes)
	denied := h.Denied()
	l.add("acl_access_denied_auth", denied.Logins)
	l.add("acl_access_denied_cmd", denied.Commands)
	l.add("acl_access_denied_key", denied.Keys)
	l.add("acl_access_denied_channel", 0)
}

// kilobytes writes bytes in the form of Redis' kilobytes per second.
func kilobytes(bytes int64) string { return fmt.Sprintf("%.2f", float64(bytes)/1024) }

func infoCPU(_ *session.Handler, l *lines) {
	sys, user := cpuSeconds()
	l.add("used_cpu_sys", fmt.Sprintf("%.6f", sys))
	l.add("used_cpu_user", fmt.Sprintf("%.6f", user))
}

func infoCommands(h *session.Handler, l *lines) {
	for _, c := range h.Registry().Specs() {
		if t := h.Stats().Command(c.ID); t.Calls+t.Rejected > 0 {
			l.add("cmdstat_"+c.FullName, commandStat(t))
		}
	}
}

// commandStat returns the value of a line of Commandstats.
func commandStat(t session.Totals) string {
	micros := float64(t.Nanos) / 1000
	return fmt.Sprintf("calls=%d,usec=%.0f,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
		t.Calls, micros, micros/float64(max(t.Calls, 1)), t.Rejected, t.Failed)
}

func infoLatency(h *session.Handler, l *lines) {
	for _, c := range h.Registry().Specs() {
		d := h.Stats().Latency(c.ID)
		if d.Total() == 0 {
			continue
		}
		micros := func(perMille int64) float64 { return float64(d.Percentile(perMille)) / 1000 }
		l.add("latency_percentiles_usec_"+c.FullName,
			fmt.Sprintf("p50=%.3f,p99=%.3f,p99.9=%.3f", micros(500), micros(990), micros(999)))
	}
}

func infoErrors(h *session.Handler, l *lines) {
	counts := h.Stats().Errors()
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		l.add("errorstat_"+code, fmt.Sprintf("count=%d", counts[code]))
	}
}

func infoCluster(h *session.Handler, l *lines) {
	l.add("cluster_enabled", oneIf(h.Config().Cluster.Enabled()))
}

// infoLimits writes our own section: decisions by algorithm. Expired and evicted keys are
// in Stats under Redis' names.
func infoLimits(h *session.Handler, l *lines) {
	s := h.Engine().Stats()
	l.add("limits_keys", s.Keys)
	l.add("limits_memory_bytes", s.MemoryBytes)
	for i := range s.Allowed {
		name := typeName(engine.Alg(i))
		l.add("allowed_"+name, s.Allowed[i])
		l.add("denied_"+name, s.Denied[i])
	}
	l.add("shadow_denied", s.ShadowDenied)
	l.add("refused_for_memory", s.Refused)
}

// infoReservations writes our own section: reservations by state and by their end, and their tokens.
func infoReservations(h *session.Handler, l *lines) {
	s := h.Engine().Stats()
	add := func(prefix string, counts []engine.Count) {
		for _, c := range counts {
			l.add(prefix+c.Name, c.N)
		}
	}
	add("reservations_", s.Reservations.States())
	l.add("open_holds", s.Holds.Open)
	add("reservations_", s.Reservations.Results())
	add("reservations_", s.Reservations.Settlements())
	add("tokens_", s.Reservations.Tokens())
	l.add("id_conflicts", s.Reservations.Conflicts)
}

// infoCostliest is the number of scripts in infoScripts, with their longest runs.
const infoCostliest = 5

// infoScripts writes our own section: runs of scripts, and the scripts with the longest runs.
func infoScripts(h *session.Handler, l *lines) {
	s := h.Engine().Stats().RunStats
	l.add("script_runs", s.Runs)
	l.add("script_failures", s.Failed)
	l.add("script_steps", s.Steps)
	waiting, added := h.Turns()
	l.add("script_turns", added)
	l.add("script_turns_waiting", waiting)
	for i, c := range h.Engine().SourceStats(infoCostliest).Costliest {
		l.add(fmt.Sprintf("longest_script_%d", i+1), fmt.Sprintf("sha1=%x,steps=%d", c.ID, c.Steps))
	}
}

func infoKeyspace(h *session.Handler, l *lines) {
	keys, lasting := h.Engine().KeysIn()
	for db, n := range keys {
		if n > 0 {
			l.add(fmt.Sprintf("db%d", db), fmt.Sprintf("keys=%d,expires=%d,avg_ttl=0", n, n-lasting[db]))
		}
	}
}

// setting returns a value of CONFIG GET; empty if there is no such setting.
func setting(h *session.Handler, name string) string {
	value, _ := option(settings(h), name)
	return value
}
