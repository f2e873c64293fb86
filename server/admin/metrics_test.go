package admin

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"limitsrv/commands"
	"limitsrv/commands/backend"
	"limitsrv/commands/calls"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/internal/status"
	"limitsrv/server"
)

// fullServer starts a server that has all metrics of a single server.
func fullServer(t *testing.T) *fixture {
	f := serve(t, "", func(c *Config) {
		c.KeyMetrics = true
		c.Expires = map[string]func() time.Time{"clients": func() time.Time { return time.UnixMilli(2500) }}
	})
	f.store.status = status.Store{
		Fsync: "everysec", Failed: errors.New("disk full"),
		Loading: status.Load{Keys: 1, AllKeys: 2, LogBytes: 3, AllLogBytes: 4},
		Saved: status.Snapshot{At: time.UnixMilli(1500), Bytes: 5, Took: 250 * time.Millisecond,
			Err: errors.New("disk full"), Count: 6},
		Saving: status.Save{Since: time.Now()},
		Log:    status.Log{Bytes: 7, Segments: 8, Unsynced: 9, Lag: 1500 * time.Millisecond, Delayed: 10},
	}
	text := "domain: api\nrules:\n  - {name: login, per: [ip], limits: [5/minute]}\n"
	if _, err := f.handler.LoadRules(context.Background(),
		session.RulesLoad{Files: []source.File{{Text: []byte(text)}}, Expect: -1}); err != nil {
		t.Fatal(err)
	}
	f.execute("RL.CHECK api ip 1")
	f.wantErrors = 2
	f.execute("RL.TOKEN a 1 1", "RL.TOKEN a 1 1", "RL.TOKEN a 1 1 SHADOW", "RL.FIXED b\xff 10 day", "RL.TOKEN a", "XADD x",
		"EVAL return(1) 0")
	return f
}

// allMetrics returns the metrics of fullServer, and then the metrics of a similar node of a cluster, and
// of a front.
func allMetrics(t *testing.T) string {
	f := fullServer(t)
	_, alone := f.request("/metrics", "")
	f.cluster.ofThree()
	_, member := f.request("/metrics", "")
	for _, not := range []string{"limitsrv_log_failing", "limitsrv_log_unsynced", "limitsrv_log_lag",
		"limitsrv_log_delayed", "limitsrv_loading_"} {
		if strings.Contains(member, not) {
			t.Errorf("a node of a cluster has %s", not)
		}
	}
	f.cluster.r.Role, f.cluster.r.LastContact = status.Front, time.Second
	_, front := f.request("/metrics", "")
	if strings.Contains(front, "limitsrv_raft_") || strings.Contains(member, "limitsrv_front_") {
		t.Error("a front has metrics of raft, or a member those of a front")
	}
	return alone + member + front
}

func TestMetricsAreWellFormed(t *testing.T) {
	f := fullServer(t)
	f.cluster.ofThree()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(newCollector(f.cfg))
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestAllMetrics(t *testing.T) {
	text := allMetrics(t)
	for _, family := range families() {
		if !strings.Contains(text, "\n# TYPE limitsrv_"+family.name+" ") {
			t.Errorf("missing limitsrv_%s", family.name)
		}
	}
	for _, want := range []string{
		`limitsrv_build_info{goversion="go`,
		`limitsrv_ready 0`,
		`limitsrv_ready 1`,
		`limitsrv_degraded 1`,
		`limitsrv_connections 3`,
		`limitsrv_max_connections 50`,
		`limitsrv_connections_total 4`,
		`limitsrv_rejected_connections_total 1`,
		`limitsrv_received_bytes_total 10`,
		`limitsrv_sent_bytes_total 20`,
		`limitsrv_commands_total{command="rl.token"} 3`,
		`limitsrv_command_rejections_total{command="rl.token"} 1`,
		`limitsrv_refused_total{reason="ERR"} 2`,
		`limitsrv_decisions_total{algorithm="token",outcome="allowed"} 1`,
		`limitsrv_decisions_total{algorithm="token",outcome="denied"} 2`,
		`limitsrv_decisions_total{algorithm="fixed",outcome="allowed"} 1`,
		`limitsrv_shadow_denied_total 1`,
		`limitsrv_requests_total{outcome="denied",via="rl.token"} 1`,
		`limitsrv_requests_total{outcome="error",via="rl.token"} 1`,
		`limitsrv_requests_total{outcome="allowed",via="rl.check"} 1`,
		`limitsrv_rules_version 1`,
		`limitsrv_rules_ok 1`,
		`limitsrv_rules 1`,
		`limitsrv_overrides 0`,
		`limitsrv_rule_decisions_total{domain="api",limit="slide-1m",result="allowed",rule="login",tier=""} 1`,
		`limitsrv_rule_decisions_total{domain="api",limit="slide-1m",result="limited",rule="login",tier=""} 0`,
		`limitsrv_events_total{kind="near"} 5`,
		`limitsrv_events_dropped_total{reason="list"} 2`,
		`limitsrv_events_sent_total 4`,
		`limitsrv_event_delivery_failures_total 6`,
		`limitsrv_events_waiting 7`,
		`limitsrv_events_failing 1`,
		`limitsrv_max_memory_bytes 1e+06`,
		`limitsrv_top_denied{db="0",key="a",rank="1"} 2`,
		`limitsrv_top_hot{db="0",key="a",rank="1"} 3`,
		`limitsrv_top_hot{db="0",key="b\\xff",rank="2"} 1`,
		`limitsrv_decision_duration_seconds_count 8`,
		`limitsrv_decision_duration_seconds_bucket{le="10"} 8`,
		`limitsrv_certificate_expires_timestamp_seconds{use="clients"} 2.5`,
		`limitsrv_log_failing 1`,
		`limitsrv_log_lag_seconds 1.5`,
		`limitsrv_snapshot_timestamp_seconds 1.5`,
		`limitsrv_snapshot_duration_seconds 0.25`,
		`limitsrv_snapshot_in_progress 1`,
		`limitsrv_raft_role{role="leader"} 1`,
		`limitsrv_raft_role{role="follower"} 0`,
		`limitsrv_raft_member_lag_entries{member="10.0.0.2:8002"} 10`,
		`limitsrv_raft_member_online{member="10.0.0.3:8003"} 0`,
		`limitsrv_raft_last_contact_seconds 0`,
		`go_goroutines`, `process_resident_memory_bytes`,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("missing %s", want)
		}
	}
	if strings.Contains(text, `lag_entries{member="10.0.0.3:8003"}`) {
		t.Error("there is a lag of a member without contact")
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestScriptMetrics: runs of scripts are counted with their errors and steps, and keys by
// database.
func TestScriptMetrics(t *testing.T) {
	f := serve(t, "", nil)
	f.wantErrors = 2
	const short = "return(redis.call('SET',KEYS[1],1))"
	f.execute("SELECT 3", "EVAL "+short+" 1 a", "EVAL "+short+" 1 b", "EVAL_RO "+short+" 1 c", "SET d 1 EX 100",
		"SELECT 0",
		"EVAL repeat(redis.call)('GET','x')until(true) 0", "EVAL error('no') 0")
	_, text := f.request("/metrics", "")
	for _, want := range []string{
		"limitsrv_script_runs_total 5", "limitsrv_script_failures_total 2", "limitsrv_scripts 3",
		`limitsrv_database_keys{db="3"} 3`, `limitsrv_database_expiring_keys{db="3"} 1`,
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("missing %s in %s", want, text)
		}
	}
	if strings.Contains(text, `limitsrv_database_keys{db="0"}`) {
		t.Error("an empty database has a metric")
	}
}

func TestShardTotals(t *testing.T) {
	f := serve(t, "", nil)
	for i := range 1000 {
		f.execute(fmt.Sprintf("RL.FIXED key:%d 10 day", i))
	}
	v := newView(f.cfg, new(ruleSeries))
	var keys, memory int64
	for _, s := range v.shards {
		keys, memory = keys+s.Keys, memory+s.MemoryBytes
	}
	if keys != 1000 || memory != v.stats.MemoryBytes {
		t.Errorf("shards have %d keys in %d bytes, want 1000 in %d", keys, memory, v.stats.MemoryBytes)
	}
}

func TestMetricsOfSingleServerInMemory(t *testing.T) {
	f := serve(t, "", nil)
	f.execute("RL.TOKEN a 1 1")
	_, text := f.request("/metrics", "")
	for _, not := range []string{"limitsrv_raft_", "limitsrv_log_", "limitsrv_snapshot", "limitsrv_top_", `key="a"`} {
		if strings.Contains(text, not) {
			t.Errorf("a single server in memory has %s", not)
		}
	}
}

func TestPrintable(t *testing.T) {
	for _, tt := range []struct {
		name, key string
		most      int
		want      string
	}{
		{"text is unchanged", "user:42 é", 0, "user:42 é"},
		{"other bytes are escaped", "a\xff\xc3\x00", 0, `a\xff\xc3` + "\x00"},
		{"the replacement character is unchanged", "\uFFFD", 0, "\uFFFD"},
		{"long text is cut", "abcdef", 3, "abc"},
		{"a character is not split", "abé", 3, "ab"},
		{"an escape is not split", "a\xff", 4, "a"},
	} {
		if got := printable([]byte(tt.key), tt.most); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// BenchmarkScrape reads all metrics of a server with a million keys.
//
//	go test ./server/admin -run=- -bench=Scrape
func BenchmarkScrape(b *testing.B) {
	for _, keys := range []int{1, 1_000_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) { benchmarkScrape(b, keys) })
	}
}

func benchmarkScrape(b *testing.B, keys int) {
	e, clock := engine.New(engine.Options{Commands: calls.Commands}), backend.NewTestClock(testStart)
	h := commands.NewHandler(session.Config{
		Exec: &backend.Local{Engine: e, Clock: clock}, Engine: func() *engine.Engine { return e }, Clock: clock,
	})
	batch := &engine.Batch{}
	for i := range keys {
		batch.Reset()
		batch.Ops = append(batch.Ops, engine.Op{Kind: engine.Take, N: 1, Key: fmt.Appendf(nil, "key:%d", i),
			Params: engine.Params{Alg: engine.Fixed, Limit: 10, Calendar: engine.Day}})
		e.Apply(testStart, batch)
	}
	metrics := newMetrics(Config{Handler: h, Traffic: func() server.Stats { return server.Stats{} }, KeyMetrics: true})
	b.ResetTimer()
	for range b.N {
		w := httptest.NewRecorder()
		metrics.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}

// metricsDoc documents all metrics.
const metricsDoc = "../../docs/metrics.md"

var rewrite = flag.Bool("rewrite", false, "rewrite the table in docs/metrics.md")

func TestMetricsAreDocumented(t *testing.T) {
	begin, end := "<!-- metrics -->\n", "<!-- end of metrics -->\n"
	doc := readText(t, metricsDoc)
	before, rest, ok := strings.Cut(doc, begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s lacks the markers of the table", metricsDoc)
	}
	table := &strings.Builder{}
	table.WriteString("| Name | Kind | Labels | Meaning |\n|---|---|---|---|\n")
	for _, f := range families() {
		kind := "gauge"
		if f.kind == counter {
			kind = "counter"
		}
		fmt.Fprintf(table, "| `%s_%s` | %s | %s | %s |\n", namespace, f.name, kind, strings.Join(f.labels, ", "), f.help)
	}
	fmt.Fprintf(table, "| `%s` | histogram | | %s |\n", durationName, durationHelp)
	want := before + begin + table.String() + end + after
	if want == doc {
		return
	}
	if !*rewrite {
		t.Fatal("docs/metrics.md is not current: run go test ./server/admin -run Documented -rewrite")
	}
	if err := os.WriteFile(metricsDoc, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
