package scripts

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

// lawRuns are scripts with dear answers.
var lawRuns = []string{
	"local t = {} for i = 1, 20000 do t[i] = i end return t",
	"local t = {map = {}} for i = 1, 20000 do t.map[i + 0.5] = 1 end for i = 1, 20000 do t.map[i + 0.5] = nil end local " +
		"all = {} for i = 1, 2000 do all[i] = t end return all",
	"local t = {set = {}} for i = 1, 20000 do t.set[i + 0.5] = 1 end for i = 1, 20000 do t.set[i + 0.5] = nil end local " +
		"all = {} for i = 1, 2000 do all[i] = t end return all",
	"local t = {err = ('\\n'):rep(1e6)} local all = {} for i = 1, 200 do all[i] = t end return all",
	"local t = {ok = ('\\n'):rep(1e5)} local all = {} for i = 1, 200 do all[i] = t end return all",
	"local t = {big_number = ('1'):rep(1e5)} local all = {} for i = 1, 200 do all[i] = t end return all",
	"local t = {verbatim_string = {string = 'x', format = ('x'):rep(1e6)}} local all = {} for i = 1, 20000 do all[i] = " +
		"t end return all",
	"local t = {x = 1} local all = {} for i = 1, 20000 do all[i] = t end return all",
	"local s = ('x'):rep(1e5) local all = {} for i = 1, 150 do all[i] = s end return all",
	"local t = {} for i = 1, 200 do t = {t, t} end return t",
	"error(('\\n'):rep(1e7))",
	"error({err = ('x'):rep(1e7)})",
}

// TestRunsLaw is the law of TestStepsLaw for whole runs with their answers.
func TestRunsLaw(t *testing.T) {
	testwait.Sequential(t)
	lawTest(t)
	for _, text := range lawRuns {
		checkRun(t, text, func() (time.Duration, int64) { return timedRun(0, text, "0") })
	}
}

// TestKeysLaw is the law for commands with keys among many given keys, in the worst order.
func TestKeysLaw(t *testing.T) {
	testwait.Sequential(t)
	lawTest(t)
	args := []string{"5000"}
	for i := range 5000 {
		args = append(args, fmt.Sprint("key ", i))
	}
	const text = "for i = #KEYS, 1, -1 do redis.call('EXISTS', KEYS[i], KEYS[(i * 1777) % #KEYS + 1]) end"
	checkRun(t, text, func() (time.Duration, int64) { return timedRun(Declared, text, args...) })
}

// timedRun runs a script on a new node. It returns the time and the steps.
func timedRun(modes Modes, text string, args ...string) (took time.Duration, steps int64) {
	n := newNode()
	n.add(modes, 100*DefaultSteps, text, args...)
	took = threadTimeOf(func() { n.e.Apply(n.now, &n.batch) })
	return took, n.e.Stats().RunStats.Steps
}

// TestLoadLaw is the law for the code of libraries outside of functions, which always has the same
// budget.
func TestLoadLaw(t *testing.T) {
	testwait.Sequential(t)
	lawTest(t)
	for _, body := range []string{
		"redis.register_function('f' .. i, function() end)",
		"redis.register_function{function_name = 'f' .. i, callback = function() end, description = long}",
		"redis.register_function{function_name = 'f' .. i, callback = function() end, flags = flags}",
		"redis.log(redis.LOG_DEBUG, long) redis.log(('1'):rep(1), long)",
	} {
		text := "#!lua name=l\nlocal long, flags, i = ('x'):rep(100000), {}, 0 for j = 1, 2000 do flags[j] = 'no-writes' " +
			"end while true do i = i + 1 " + body + " end"
		checkRun(t, body, func() (took time.Duration, steps int64) {
			wrong := ""
			took = threadTimeOf(func() { _, wrong = CompileLibrary([]byte(text), true, false) })
			if wrong == "" {
				t.Fatalf("an endless library is loaded: %s", body)
			}
			return took, loadSteps
		})
	}
}

// lawTest prepares a test of the law.
func lawTest(t *testing.T) {
	t.Helper()
	percent := debug.SetGCPercent(-1) // a cycle beside other programs would slow many measures down
	most := debug.SetMemoryLimit(6 << 30)
	t.Cleanup(func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(most) })
}

// checkRun measures a run beside a plain loop until the run keeps the law.
func checkRun(t *testing.T, text string, run func() (took time.Duration, steps int64)) {
	t.Helper()
	ratio := 0.0
	inMachine(func(m *machine) {
		body, plain, err := m.lawFunctionsOf(lawText("", lawLoop, 64))
		if err != nil {
			t.Fatal(err, body)
		}
		ratio, _ = leastRatio(func() (float64, error) {
			took, steps := run()
			return float64(took) / float64(max(1, steps)), nil
		}, func() float64 {
			nanos, _, _ := m.perStep(plain, 5000)
			return nanos
		})
	})
	if ratio > lawRatio {
		t.Errorf("%s: a step takes %.1f times that of a plain loop, want at most %d", text, ratio, lawRatio)
	}
}

// TestNamesOfChunks: the names of chunks take no memory that is not charged. Each script keeps many
// that are long.
func TestNamesOfChunks(t *testing.T) {
	for _, name := range []string{"big", "'@' .. big", "'=' .. big"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := newNode().runAs(0, DefaultSteps, "local big = ('x'):rep(8e6) local name = "+name+
			" local t = {} for i = 1, 2000 do t[i] = loadstring('', name) end return #t", "0")
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 2*maxMemory ||
			!strings.HasPrefix(got, "-ERR script takes more than ") && got != ":2000|" {
			t.Errorf("name %s: %d MB are taken, want at most %d; %s", name, took>>20, 2*maxMemory>>20, got)
		}
	}
}

// TestAddedBytes: a run of any budget adds bounded bytes to the state.
func TestAddedBytes(t *testing.T) {
	for _, body := range []string{"redis.call('SETRANGE', 'k', 15e6, 'x') redis.call('DEL', 'k')",
		"redis.call('SET', 'k' .. i % 5, big)"} {
		n := newNode()
		text := "local big = ('x'):rep(5e6) for i = 1, 1000 do " + body + " end"
		if got := n.runAs(0, 1<<40, text, "0"); !strings.HasPrefix(got,
			"-ERR script takes more than 67108864 bytes of memory") {
			t.Errorf("%s: %s", body, got)
		}
		if steps := n.e.Stats().RunStats.Steps; steps < maxAdded/addedPerWork/2 ||
			steps > 2*(maxAdded+maxMemory)/addedPerWork {
			t.Errorf("%s: %d steps are taken", body, steps)
		}
	}
}
