package admin

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/engine/topk"
	"limitsrv/internal/status"
	"limitsrv/server"
)

// maxScrapes bounds the scrapes served at once.
const maxScrapes = 4

// A view holds the values of a scrape.
type view struct {
	stats   engine.Stats
	shards  []engine.ShardStat
	scripts engine.SourceStats
	// turnsWaiting and turnsAdded are the numbers of session.Handler.Turns.
	turnsWaiting int
	turnsAdded   int64
	// dbKeys are the keys of each database, and dbLasting the keys that never expire.
	dbKeys, dbLasting [engine.Databases]int64
	traffic           server.Stats
	commands          []session.CommandCount
	requests          []session.RequestCount
	errors            map[string]int64
	failedLogins      int64 // logins
	store             status.Store
	loading           bool
	ready, degraded   bool
	replication       status.Replication
	nodes             []status.Node
	setting           func(name string) int64
	version           string
	expires           map[string]func() time.Time
	rules             ruleViews
	events            status.Events
	keys              bool // include names of keys
	top               func(engine.TopKind) []topk.Row
}

// newView reads everything once.
func newView(cfg Config, series *ruleSeries) *view {
	h := cfg.Handler
	e := h.Engine()
	dbKeys, dbLasting := e.KeysIn()
	failed, _ := h.RulesFailed()
	waiting, added := h.Turns()
	return &view{
		turnsWaiting: waiting, turnsAdded: added,
		rules: ruleViews{h.Config().Rules.Current(), failed, h.RulesOK(), h.RulesFileDiffers(), series},
		stats: e.Stats(), shards: e.ShardStats(), scripts: e.SourceStats(metricScripts), dbKeys: dbKeys, dbLasting: dbLasting,
		traffic:  cfg.Traffic(),
		commands: h.CommandCounts(), requests: h.RequestCounts(), errors: h.Stats().Errors(),
		failedLogins: h.Logins().Failed(),
		store:        h.StoreStatus(), loading: h.IsLoading(), ready: h.NotReady() == "", degraded: h.Degraded() != "",
		replication: h.Replication(), nodes: h.Nodes(),
		setting: func(name string) int64 { return intSetting(h, name) }, version: h.Version(), expires: cfg.Expires,
		keys: cfg.KeyMetrics, events: h.Events(),
		top: func(kind engine.TopKind) []topk.Row {
			return h.Top(kind, topk.Minute, metricKeys).Rows
		},
	}
}

// Conditions of families that only some configurations have.
func hasStore(v *view) bool    { return v.store.Fsync != "" }
func isClustered(v *view) bool { return v.replication.Role != "" && !isFront(v) }
func showsKeys(v *view) bool   { return v.keys }

// hasLocalStore excludes nodes of a cluster, which do not have these values of their log:
// raft_sync_p99_seconds covers their disk, and they exit if they can't write.
func hasLocalStore(v *view) bool { return hasStore(v) && v.replication.Role == "" }

// A family is a metric, with or without labels.
type family struct {
	name, help string
	kind       prometheus.ValueType
	labels     []string
	when       func(*view) bool // nil: always
	emit       func(v *view, value func(value float64, labels ...string))
}

// The kinds of families.
const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

// float emits a single value without labels.
func float(of func(*view) float64) func(*view, func(float64, ...string)) {
	return func(v *view, value func(float64, ...string)) { value(of(v)) }
}

// integer is float for integers.
func integer[N int | int64 | uint64](of func(*view) N) func(*view, func(float64, ...string)) {
	return float(func(v *view) float64 { return float64(of(v)) })
}

// boolean is float for 1 or 0.
func boolean(of func(*view) bool) func(*view, func(float64, ...string)) {
	return float(func(v *view) float64 {
		if of(v) {
			return 1
		}
		return 0
	})
}

// namespace is the prefix of all our metrics.
const namespace = "limitsrv"

// The only histogram.
const (
	durationName = namespace + "_decision_duration_seconds"
	durationHelp = "Time from the submission of an operation on a key to its decision; all operations of a batch count " +
		"with the batch's time. The sum is exact to a sixteenth."
)

// A collector reads all families at each scrape.
type collector struct {
	cfg      Config
	families []family
	descs    []*prometheus.Desc // of the families, in their order
	duration *prometheus.Desc
	series   *ruleSeries
}

func newCollector(cfg Config) *collector {
	c := &collector{cfg: cfg, families: families(), series: new(ruleSeries)}
	for _, f := range c.families {
		c.descs = append(c.descs, prometheus.NewDesc(namespace+"_"+f.name, f.help, f.labels, nil))
	}
	c.duration = prometheus.NewDesc(durationName, durationHelp, nil, nil)
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
	to <- c.duration
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	v := newView(c.cfg, c.series)
	for i, f := range c.families {
		if f.when != nil && !f.when(v) {
			continue
		}
		f.emit(v, func(value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(c.descs[i], f.kind, value, labels...)
		})
	}
	waits := c.cfg.Handler.Stats().Waits()
	within := make(map[float64]uint64, len(durationBuckets))
	for _, d := range durationBuckets {
		within[d.Seconds()] = uint64(waits.Within(d))
	}
	to <- prometheus.MustNewConstHistogram(c.duration, uint64(waits.Total()), waits.Sum().Seconds(), within)
}

// durationBuckets are the buckets of the histogram.
var durationBuckets = []time.Duration{
	50 * time.Microsecond, 100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second,
}

// newMetrics returns the handler of scrapes.
func newMetrics(cfg Config) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(cfg), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
}
