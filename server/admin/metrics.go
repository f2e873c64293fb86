package admin

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"limitsrv/commands"
	"limitsrv/engine"
	"limitsrv/server"
)

// maxScrapes is how many may be answered at once.
const maxScrapes = 4

// A view is the server as one scrape sees it.
type view struct {
	stats        engine.Stats
	shards       []engine.ShardStat
	traffic      server.Stats
	commands     []commands.CommandCount
	errors       map[string]int64
	failedLogins int64 // logins
	store        commands.Standing
	loading      bool
	ready        bool
	replication  commands.Replication
	nodes        []commands.Node
	setting      func(name string) int64
	version      string
	expires      map[string]func() time.Time
	keys         bool // names of keys are told
	top          func(engine.TopKind) []engine.TopRow
}

// newView reads everything once.
func newView(cfg Config) *view {
	h := cfg.Handler
	e := h.Engine()
	return &view{
		stats: e.Stats(), shards: e.ShardStats(), traffic: cfg.Traffic(),
		commands: h.CommandCounts(), errors: h.ErrorCounts(), failedLogins: h.FailedLogins(),
		store: h.Standing(), loading: h.IsLoading(), ready: notReady(h) == "",
		replication: h.Replication(), nodes: h.Nodes(),
		setting: func(name string) int64 { return intSetting(h, name) }, version: h.Version(), expires: cfg.Expires,
		keys: cfg.KeyMetrics,
		top: func(kind engine.TopKind) []engine.TopRow {
			return e.Top(h.Now(), kind, engine.TopMinute, metricKeys).Rows
		},
	}
}

// The parts of a view that are told in some setups only.
func hasStore(v *view) bool    { return v.store.Fsync != "" }
func isClustered(v *view) bool { return v.replication.Role != "" }
func showsKeys(v *view) bool   { return v.keys }

// storesAlone is for what a node of a cluster does not know of its log: its disk is
// told by raft_sync_p99_seconds, and it ends where it can't write.
func hasLocalStore(v *view) bool { return hasStore(v) && !isClustered(v) }

// A family is one metric, with or without labels.
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

// one is the tell of a family without labels.
func float(of func(*view) float64) func(*view, func(float64, ...string)) {
	return func(v *view, value func(float64, ...string)) { value(of(v)) }
}

// whole is one for whole numbers.
func integer[N int | int64 | uint64](of func(*view) N) func(*view, func(float64, ...string)) {
	return float(func(v *view) float64 { return float64(of(v)) })
}

// truth is one for what is so or not: 1 or 0.
func boolean(of func(*view) bool) func(*view, func(float64, ...string)) {
	return float(func(v *view) float64 {
		if of(v) {
			return 1
		}
		return 0
	})
}

// namespace is what the names of all our metrics begin with.
const namespace = "limitsrv"

// The one histogram.
const (
	durationName = namespace + "_decision_duration_seconds"
	durationHelp = "How long operations on keys took from being handed on to being decided, each as long as the batch that it came in. The sum is exact to a sixteenth."
)

// A collector reads all families of a server at each scrape.
type collector struct {
	cfg      Config
	families []family
	descs    []*prometheus.Desc // the families, in their order
	duration *prometheus.Desc
}

func newCollector(cfg Config) *collector {
	c := &collector{cfg: cfg, families: families()}
	for _, f := range c.families {
		c.descs = append(c.descs, prometheus.NewDesc(namespace+"_"+f.name, f.help, f.labels, nil))
	}
	c.duration = prometheus.NewDesc(durationName, durationHelp, nil, nil)
	return c
}

// Describe is a prometheus.Collector's.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		to <- d
	}
	to <- c.duration
}

// Collect is a prometheus.Collector's.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	v := newView(c.cfg)
	for i, f := range c.families {
		if f.when != nil && !f.when(v) {
			continue
		}
		f.emit(v, func(value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(c.descs[i], f.kind, value, labels...)
		})
	}
	waits := c.cfg.Handler.Waits()
	within := make(map[float64]uint64, len(durationBuckets))
	for _, d := range durationBuckets {
		within[d.Seconds()] = uint64(waits.Within(d))
	}
	to <- prometheus.MustNewConstHistogram(c.duration, uint64(waits.Total()), waits.Sum().Seconds(), within)
}

// steps are the buckets of a histogram of durations.
var durationBuckets = []time.Duration{
	50 * time.Microsecond, 100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second,
}

// newMetrics answers scrapes.
func newMetrics(cfg Config) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(cfg), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
}

// scrape answers GET /metrics. Who may not see all keys may not see their names here.
func (s *Server) scrape(w http.ResponseWriter, r *http.Request, id identity) {
	if s.cfg.KeyMetrics {
		if err := s.mayListKeys(id); err != nil {
			s.replyCommandError(w, err)
			return
		}
	}
	s.metrics.ServeHTTP(w, r)
}
