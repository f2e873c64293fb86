package scripts

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/value"
	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// lawRatio is the bound of the time of a charged step, as a multiple of a step of a plain loop: the
// law is 4, and machines with other programs need a margin.
const lawRatio = 4 * 2

// lawSizes are the lengths of arguments.
var lawSizes = []int{64, 64 << 10, 8 << 20}

// lawSource is the length of the longest text that is compiled: the memory of a run is not enough for
// a text that is much longer.
const lawSource = 300_000

// lawLoop is the body of the plain loop: a call that does nothing.
const lawLoop = "plain(i)"

// lawCommands hand the Tx of a call to a test.
type lawCommands struct {
	*spec.Calls
	do func(tx *engine.Tx, c *engine.Call)
}

func (x lawCommands) Do(tx *engine.Tx, c *engine.Call) { x.do(tx, c) }

// lawText returns a script that returns two functions of the number of turns: of a body, and of the
// plain loop. n is the length of arguments.
func lawText(before, body string, n int) string {
	return fmt.Sprintf("local n, m, big, plain = %d, %d, ('x'):rep(%d), function(x) return x end %s return "+
		"function(turns) for i = 1, turns do %s end end, function(turns) for i = 1, turns do %s end end",
		n, min(n, lawSource), n, before, body, lawLoop)
}

// inMachine calls a function with a machine in a run.
func inMachine(f func(m *machine)) {
	e := engine.New(engine.Options{Shards: 4, Seed: [16]byte{1},
		Commands: lawCommands{Calls: allCalls, do: func(tx *engine.Tx, c *engine.Call) {
			m := machineFor(tx)
			m.tx, m.run = tx, c
			f(m)
		}}})
	var b engine.Batch
	SetRun(b.AddCall(0), 0, Steps(1), hashOf(""), bytesOf([]string{"0"}))
	e.Apply(start, &b)
	b.Reset()
}

// lawFunctionsOf runs a script of lawText.
func (m *machine) lawFunctionsOf(text string) (body, plain value.Value, err error) {
	s, wrong := Compile([]byte(text))
	if wrong != "" {
		return body, plain, errors.New(wrong)
	}
	const plenty = 1 << 40
	m.st.Reset(lua.Limits{Steps: plenty, Memory: plenty, Prepaid: true})
	keys, argv, _ := m.arguments()
	m.st.SetList(m.keys, keys)
	m.st.SetList(m.argv, argv)
	made, err := m.st.Run(s.chunk)
	if err != nil {
		return body, plain, err
	}
	return made[0], made[1], nil
}

// perStep returns the time of a step of some turns of a function, in nanoseconds, and the steps.
func (m *machine) perStep(function value.Value, turns int) (nanos float64, steps int64, err error) {
	left := m.st.StepsLeft()
	took := threadTimeOf(func() { _, err = m.st.RunFunction(function, value.Number(float64(turns))) })
	steps = left - m.st.StepsLeft()
	return float64(took) / float64(max(1, steps)), steps, err
}

// threadTimeOf returns the processor time of a function on the thread that runs it. The goroutine keeps the thread:
// the difference between the clocks of two threads can be anything, also below 0.
func threadTimeOf(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime()
	f()
	return threadTime() - before
}

// threadTime returns the processor time of the thread so far.
func threadTime() time.Duration {
	const threadClock = 3 // CLOCK_THREAD_CPUTIME_ID
	var at syscall.Timespec
	if _, _, failed := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadClock, uintptr(unsafe.Pointer(&at)),
		0); failed != 0 {
		panic(failed)
	}
	return time.Duration(at.Nano())
}

// lawFunctions returns the names of all functions that scripts can see, such as string.rep. The
// table redis has another name too.
func lawFunctions(t *testing.T) []string {
	t.Helper()
	n := newNode()
	got := n.run(`local names = {}
		local function visit(t, prefix)
			for k, v in pairs(t) do
				if type(v) == 'function' then names[#names + 1] = prefix .. k
				elseif type(v) == 'table' and v ~= _G and (k == 'redis' or v ~= redis) then visit(v, prefix .. k .. '.') end
			end
		end
		visit(_G, '') table.sort(names) return table.concat(names, ' ')`, "0")
	_, text, _ := strings.Cut(strings.TrimSuffix(got, "|"), "|")
	names := strings.Fields(text)
	if len(names) < 100 {
		t.Fatalf("%d functions: %s", len(names), got)
	}
	return append(names, "redis.register_function")
}

// TestStepsLaw compares the time per charged step of each function of the libraries with a plain
// loop: for short and long arguments, in success and failure. A function without a case fails.
func TestStepsLaw(t *testing.T) {
	testwait.Sequential(t)
	lawTest(t)
	sizes := lawSizes
	if testing.Short() {
		sizes = sizes[:2]
	}
	all := lawFunctions(t)
	for name := range lawCases {
		if !slices.Contains(all, name) {
			t.Errorf("there are cases of %s, which is no function", name)
		}
	}
	for _, name := range all {
		t.Run(name, func(t *testing.T) {
			if len(lawCases[name]) == 0 {
				t.Errorf("%s has no case", name)
			}
			for _, x := range lawCases[name] {
				for _, n := range sizes {
					checkLaw(t, x, n)
				}
			}
		})
	}
}

// checkLaw measures a case until it keeps the law. On a busy machine measures may be wrong by much,
// but hardly the least of many.
func checkLaw(t *testing.T, x lawCase, n int) {
	t.Helper()
	if n > 1<<20 {
		runtime.GC()
	}
	inMachine(func(m *machine) {
		body, plain, err := m.lawFunctionsOf(lawText(x.before, x.body, n))
		if err != nil {
			t.Errorf("%d bytes: %s: %v", n, x.before, err)
			return
		}
		ratio, err := m.lawRatioOf(body, plain)
		if err != nil || ratio > lawRatio {
			t.Errorf("%d bytes: %s: a step takes %.1f times that of a plain loop, want at most %d (%v)", n, x.body, ratio,
				lawRatio, err)
		}
	})
}

// lawRatioOf returns the time of a step of a body, as a multiple of a step of the plain
// loop.
func (m *machine) lawRatioOf(body, plain value.Value) (ratio float64, err error) {
	const most, enough = 1000, 20_000 // turns, and steps of a measure
	nanos, steps := math.Inf(1), int64(0)
	for range 3 { // the first turn makes room
		once, n, err := m.perStep(body, 1)
		if err != nil {
			return 0, err
		}
		nanos, steps = min(nanos, once), n
	}
	turns := int(max(1, min(most, enough/max(1, steps), int64(200e6/(1+nanos*float64(steps))))))
	return leastRatio(func() (float64, error) {
		nanos, _, err := m.perStep(body, turns)
		return nanos, err
	}, func() float64 {
		nanos, _, _ := m.perStep(plain, enough/4)
		return nanos
	})
}

// leastRatio returns the least of many measures of a step over the least of as many of a step of the
// plain loop. It ends when they keep the law.
func leastRatio(measure func() (nanos float64, err error), plain func() float64) (ratio float64, err error) {
	least, unit, begin := math.Inf(1), math.Inf(1), time.Now()
	for i := 0; i < 5 || time.Since(begin) < 10*time.Second; i++ {
		if i%5 == 4 {
			runtime.GC()
		}
		nanos, err := measure()
		if err != nil {
			return 0, err
		}
		least, unit = min(least, nanos), min(unit, plain())
		if least <= lawRatio*unit {
			break
		}
	}
	return least / unit, nil
}
