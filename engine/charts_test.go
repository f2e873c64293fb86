package engine_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"limitsrv/engine"
)

var rewriteCharts = flag.Bool("rewrite", false, "write the charts of docs/charts anew")

const (
	chartsDir = "../docs/charts"

	chartBegin  = engine.Instant(1_700_000_000 * second) // begin of a window of 10 s
	chartSpan   = 60 * second
	chartLimit  = 10
	chartSample = second / 10
)

// chartTraffic returns the times of the requests that each rate limit of the charts
// decides: an even load below the limit, a burst on either side of the boundary of two
// windows, a pause, twice the limit, and half of it.
func chartTraffic() (at []int64) {
	every := func(from, to, step int64) {
		for t := from; t < to; t += step {
			at = append(at, t)
		}
	}
	every(second/2, 8*second, 3*second/2)
	every(8500*second/1000, 9600*second/1000, second/10)
	every(10300*second/1000, 11400*second/1000, second/10)
	every(23*second, 41*second, second/2)
	every(42*second, 60*second, 2*second)
	return at
}

// chartedLimit returns a limit of an algorithm for chartTraffic, and its command.
func chartedLimit(a engine.Alg) (p engine.Params, command string) {
	if a.Usage().Period == engine.Rate {
		return engine.Params{Alg: a, Limit: chartLimit, Count: 1, Period: second}, fmt.Sprintf("RL.%v key 10 1", a)
	}
	return engine.Params{Alg: a, Limit: chartLimit, Period: 10 * second}, fmt.Sprintf("RL.%v key 10 10s", a)
}

// TestCharts requires the charts of docs/charts to be the pictures of the engine's
// decisions, and a page to show them. With -rewrite it writes the charts.
func TestCharts(t *testing.T) {
	charts := map[string]string{"acquire.svg": chartLeases(t)}
	for _, a := range counted() {
		charts[strings.ToLower(a.String())+".svg"] = chartLimited(t, a)
	}
	page, err := os.ReadFile("../docs/algorithms.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range charts {
		if !strings.Contains(string(page), "(charts/"+name+")") {
			t.Errorf("docs/algorithms.md does not show charts/%s", name)
		}
		name = filepath.Join(chartsDir, name)
		if *rewriteCharts {
			if err := os.MkdirAll(chartsDir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s is not the picture of the engine's decisions (%v): go test ./engine -run Charts -rewrite", name, err)
		}
	}
	files, err := filepath.Glob(chartsDir + "/*")
	if err != nil || len(files) != len(charts) {
		t.Errorf("%s has %d files (%v), want the %d charts", chartsDir, len(files), err, len(charts))
	}
}

// chartDecide applies an op at a time since chartBegin.
func chartDecide(e *engine.Engine, at int64, op engine.Op) engine.Decision {
	b := engine.Batch{Ops: []engine.Op{op}}
	e.Apply(chartBegin+engine.Instant(at), &b)
	return b.Decisions[0]
}

// chartLimited draws the requests of chartTraffic under a limit of an algorithm, and the tokens that
// remain.
func chartLimited(t *testing.T, a engine.Alg) string {
	t.Helper()
	params, command := chartedLimit(a)
	e, key := engine.New(engine.Options{}), []byte("key")
	var allowed, denied, leaves, samples []int64
	remaining := func(at int64) int64 {
		d := chartDecide(e, at, engine.Op{Kind: engine.Take, Params: params, Key: key})
		if d.Status != engine.OK {
			t.Fatalf("%s at %d: status %v", command, at, d.Status)
		}
		return d.Remaining
	}
	traffic := chartTraffic()
	for at := int64(0); at <= chartSpan; at += chartSample {
		for len(traffic) > 0 && traffic[0] <= at {
			d := chartDecide(e, traffic[0], engine.Op{Kind: engine.Take, Params: params, Key: key, N: 1})
			if d.Allowed == 1 {
				allowed = append(allowed, traffic[0])
				leaves = append(leaves, traffic[0]+d.Wait.Millis*1_000_000+d.Wait.Nanos)
			} else {
				denied = append(denied, traffic[0])
			}
			traffic = traffic[1:]
		}
		samples = append(samples, remaining(at))
	}
	const (
		top, bottom = 50, 150
		rowHeight   = 14
	)
	c := newChart(command, fmt.Sprintf("%d of %d allowed, at most %d within 10 s", len(allowed),
		len(allowed)+len(denied), mostWithin(allowed, 10*second)))
	if referenceOf(a).earns == inWindows {
		c.windows(10*second, top, bottom)
	}
	for n := int64(0); n <= chartLimit; n += 5 {
		y := bottom - n*(bottom-top)/chartLimit
		c.line("grid", 0, y, chartSpan, y)
		c.label(y+4, fmt.Sprint(n))
	}
	c.steps(samples, func(n int64) int64 { return bottom - n*(bottom-top)/chartLimit })
	rows := []struct {
		class, name string
		at          []int64
	}{{"allowed", "allowed", allowed}, {"denied", "denied", denied}}
	if a.Holds() {
		rows = slices.Insert(rows, 1, struct {
			class, name string
			at          []int64
		}{"leaves", "leaves", leaves})
	}
	y := int64(bottom + 12)
	for _, r := range rows {
		c.ticks(r.class, y, rowHeight, r.at)
		c.label(y+rowHeight-3, r.name)
		y += rowHeight + 5
	}
	return c.end(y)
}

// mostWithin returns how many of the ascending times are within a span, at most. A span
// includes its start and not its end.
func mostWithin(at []int64, span int64) (most int) {
	for i := range at {
		end, _ := slices.BinarySearch(at, at[i]+span)
		most = max(most, end-i)
	}
	return most
}

// A chartedJob asks for a lease, and releases it or dies at its end.
type chartedJob struct {
	id         string
	begin, end int64 // in seconds
	dies       bool
}

// chartLeases draws jobs that share three leases of 10 s.
func chartLeases(t *testing.T) string {
	t.Helper()
	const (
		ttl       = 10
		rowHeight = 18
		top       = 46
	)
	params := engine.Params{Alg: engine.Lease, Limit: 3, Period: ttl * second}
	jobs := []chartedJob{
		{"a", 2, 9, false}, {"b", 4, 8, true}, {"c", 6, 20, false}, {"d", 7, 12, false},
		{"e", 10, 18, false}, {"f", 15, 24, false}, {"g", 19, 26, false}, {"h", 28, 52, false}, {"i", 30, 36, true},
		{"j", 44, 50, false},
	}
	type event struct {
		at, job int64
		kind    engine.Kind
	}
	var events []event
	for i, j := range jobs {
		for at := j.begin; at < j.end; at += ttl / 2 { // acquired, and then renewed in time
			events = append(events, event{at, int64(i), engine.Acquire})
		}
		if !j.dies {
			events = append(events, event{j.end, int64(i), engine.Release})
		}
	}
	slices.SortStableFunc(events, func(x, y event) int { return cmp.Compare(x.at, y.at) })
	e := engine.New(engine.Options{})
	c := newChart("RL.ACQUIRE key 3 10s id", "")
	rejected := make([]bool, len(jobs))
	renewed := make([]int64, len(jobs))
	for _, v := range events {
		if rejected[v.job] {
			continue
		}
		d := chartDecide(e, v.at*second,
			engine.Op{Kind: v.kind, Params: params, N: 1, Key: []byte("key"), ID: []byte(jobs[v.job].id)})
		switch {
		case d.Status != engine.OK:
			t.Fatalf("job %s: status %v", jobs[v.job].id, d.Status)
		case d.Allowed == 0:
			rejected[v.job] = true
		case v.kind == engine.Acquire:
			renewed[v.job] = v.at
		}
	}
	held := 0
	for i, j := range jobs {
		y := int64(top + i*rowHeight)
		c.label(y+9, j.id)
		switch {
		case rejected[i]:
			c.ticks("denied", y-2, rowHeight-4, []int64{j.begin * second})
			c.note(j.begin*second, y+9, "denied")
			continue
		case j.dies:
			c.bar("expires", j.end*second, (renewed[i]+ttl)*second, y, rowHeight-8)
			c.note((renewed[i]+ttl)*second, y+9, "dies: its lease ends by itself")
		}
		held++
		c.bar("held", j.begin*second, j.end*second, y, rowHeight-8)
	}
	c.result = fmt.Sprintf("%d of %d jobs get a lease, three at a time", held, len(jobs))
	return c.end(int64(top + len(jobs)*rowHeight))
}
