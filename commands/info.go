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

	"limitsrv/engine"
)

var info = Command{
	Name: "INFO", Args: "[section ...]", Summary: "Describes the server, in sections.",
	Complexity: "O(1)", Since: "1.0.0", Group: "server", Flags: Loading | Stale,
	Run: func(s *Session, args [][]byte) { s.w.Verbatim(s.h.info(args[1:])) },
}

// A section of INFO writes its lines. An extra one is left out unless it is named.
type section struct {
	name  string
	extra bool
	write func(*Handler, *lines)
}

var sections = []section{
	{"Server", false, (*Handler).infoServer},
	{"Clients", false, (*Handler).infoClients},
	{"Memory", false, (*Handler).infoMemory},
	{"Persistence", false, (*Handler).infoPersistence},
	{"Stats", false, (*Handler).infoStats},
	{"Replication", false, (*Handler).infoReplication},
	{"Raft", false, (*Handler).infoRaft},
	{"CPU", false, infoCPU},
	{"Commandstats", true, (*Handler).infoCommands},
	{"Latencystats", true, (*Handler).infoLatency},
	{"Errorstats", false, (*Handler).infoErrors},
	{"Cluster", false, (*Handler).infoCluster},
	{"Limits", false, (*Handler).infoLimits},
	{"Keyspace", false, (*Handler).infoKeyspace},
}

// info returns the text of the named sections; with no name, of the default ones.
func (h *Handler) info(asked [][]byte) string {
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
		case strings.EqualFold(string(a), sec.name), isWord(a, "ALL"), isWord(a, "EVERYTHING"):
			return true
		case isWord(a, "DEFAULT") && !sec.extra:
			return true
		}
	}
	return false
}

// lines are name:value lines with INFO's line ends.
type lines struct{ strings.Builder }

func (l *lines) add(name string, value any) { fmt.Fprintf(l, "%s:%v\r\n", name, value) }

func (h *Handler) infoServer(l *lines) {
	up := int64(time.Since(h.start).Seconds())
	l.add("redis_version", redisVersion)
	l.add("limitsrv_version", h.config.Version)
	l.add("redis_mode", h.mode())
	l.add("os", runtime.GOOS+" "+runtime.GOARCH)
	l.add("arch_bits", strconv.IntSize)
	l.add("go_version", runtime.Version())
	l.add("process_id", os.Getpid())
	l.add("run_id", h.runID)
	l.add("tcp_port", h.port())
	l.add("server_time_usec", int64(h.now())/1000)
	l.add("uptime_in_seconds", up)
	l.add("uptime_in_days", up/(24*3600))
}

// port returns the port of the option listen, or 0.
func (h *Handler) port() string {
	listen := h.listen()
	if i := strings.LastIndexByte(listen, ':'); i >= 0 {
		return listen[i+1:]
	}
	return "0"
}

func (h *Handler) infoClients(l *lines) {
	h.mu.Lock()
	connected := len(h.sessions)
	h.mu.Unlock()
	l.add("connected_clients", connected)
	l.add("maxclients", h.setting("maxclients"))
	l.add("blocked_clients", 0)
	l.add("tracking_clients", 0)
	l.add("pubsub_clients", h.hub.sizes().clients)
}

func (h *Handler) infoMemory(l *lines) {
	m := readMemory()
	l.add("used_memory", m.used)
	l.add("used_memory_human", human(m.used))
	l.add("used_memory_rss", m.resident)
	l.add("used_memory_rss_human", human(m.resident))
	l.add("used_memory_dataset", h.Engine().Stats().MemoryBytes)
	l.add("maxmemory", h.setting("maxmemory"))
	l.add("maxmemory_policy", h.setting("maxmemory-policy"))
	l.add("mem_fragmentation_ratio", fmt.Sprintf("%.2f", float64(m.resident)/float64(max(m.used, 1))))
	l.add("mem_allocator", "go")
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

func (h *Handler) infoStats(l *lines) {
	listened := h.hub.sizes()
	total, limits := h.stats.total(), h.Engine().Stats()
	var errors int64
	for _, n := range h.stats.codes.Get() {
		errors += n
	}
	l.add("total_connections_received", h.stats.connections.Load())
	l.add("total_commands_processed", total.calls)
	l.add("instantaneous_ops_per_sec", h.stats.rate.sample(time.Now(), total.calls))
	h.infoNetwork(l)
	l.add("expired_keys", limits.Forgotten)
	l.add("evicted_keys", limits.Evicted)
	l.add("keyspace_hits", total.hits)
	l.add("keyspace_misses", total.misses)
	l.add("pubsub_channels", listened.channels)
	l.add("pubsub_patterns", listened.patterns)
	l.add("total_error_replies", errors)
	denied := h.Denied()
	l.add("acl_access_denied_auth", denied.Logins)
	l.add("acl_access_denied_cmd", denied.Commands)
	l.add("acl_access_denied_key", denied.Keys)
	l.add("acl_access_denied_channel", 0)
}

func infoCPU(_ *Handler, l *lines) {
	sys, user := cpuSeconds()
	l.add("used_cpu_sys", fmt.Sprintf("%.6f", sys))
	l.add("used_cpu_user", fmt.Sprintf("%.6f", user))
}

func (h *Handler) infoCommands(l *lines) {
	for _, c := range h.registry.allSpecs() {
		if t := h.stats.command(c.id); t.calls+t.rejected > 0 {
			l.add("cmdstat_"+c.name, t)
		}
	}
}

func (h *Handler) infoLatency(l *lines) {
	for _, c := range h.registry.allSpecs() {
		d := h.stats.latency(c.id)
		if d.Total() == 0 {
			continue
		}
		micros := func(perMille int64) float64 { return float64(d.Percentile(perMille)) / 1000 }
		l.add("latency_percentiles_usec_"+c.name, fmt.Sprintf("p50=%.3f,p99=%.3f,p99.9=%.3f", micros(500), micros(990), micros(999)))
	}
}

func (h *Handler) infoErrors(l *lines) {
	counts := h.stats.codes.Get()
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		l.add("errorstat_"+code, fmt.Sprintf("count=%d", counts[code]))
	}
}

func (h *Handler) infoCluster(l *lines) {
	l.add("cluster_enabled", oneIf(h.config.Cluster.Enabled()))
}

// infoLimits writes our own section: decisions by algorithm. Expired and evicted keys are
// in Stats under Redis' names.
func (h *Handler) infoLimits(l *lines) {
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

func (h *Handler) infoKeyspace(l *lines) {
	if n := h.Engine().Len(); n > 0 {
		l.add("db0", fmt.Sprintf("keys=%d,expires=%d,avg_ttl=0", n, n))
	}
}

// setting returns a value of CONFIG GET; empty if there is no such setting.
func (h *Handler) setting(name string) string {
	value, _ := option(h.settings(), name)
	return value
}
