package engine_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// The commands of toy, by number, with their arguments.
const (
	toySet    = iota // key value expiry
	toyGet           // key: its value and expiry
	toyAdd           // key n: adds to a number, and answers it
	toyExpire        // key expiry
	toyDrop          // key
	toyRename        // key key
	toyGetAny        // key, without naming it
	toyTake          // key: a permit of 3
	toyDraw          // key: a random number
	toyMove          // key key: moves 1 from a number to another
)

// toy is a small set of commands.
type toy struct{}

func (toy) Check(c *engine.Call) error {
	if c.Command > toyMove {
		return fmt.Errorf("command %d", c.Command)
	}
	return nil
}

func (toy) Level() uint8 { return 1 }

func (toy) Keys(c *engine.Call, dst []int) ([]int, bool) {
	if c.Command == toyRename || c.Command == toyMove {
		return append(dst, 0, 1), false
	}
	return append(dst, 0), c.Command == toyGetAny
}

func (toy) Do(tx *engine.Tx, c *engine.Call) {
	e, found := tx.Find(c.Args[0])
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(string(c.Args[i]), 10, 64)
		return n
	}
	switch c.Command {
	case toySet:
		if at := number(2); at != 0 && at < tx.Now().Millis() {
			if found {
				tx.Drop(e)
			}
		} else if _, ok := tx.Put(e, c.Args[1], at); !ok {
			c.Answer = append(c.Answer, "full"...)
		}
	case toyGet, toyGetAny:
		if !found {
			c.Answer = append(c.Answer, "none"...)
		} else if e.Alg().IsPlain() {
			c.Answer = strconv.AppendInt(append(tx.Bytes(e, c.Answer), ' '), tx.Expiry(e), 10)
			if n := tx.Len(e); n != bytes.LastIndexByte(c.Answer, ' ') {
				c.Answer = fmt.Appendf(c.Answer, " but a length of %d", n)
			}
		}
	case toyAdd:
		n, ok := int64(0), !found
		at := int64(0)
		if found && e.Alg().IsPlain() {
			n, ok = tx.Int(e)
			at = tx.Expiry(e)
		}
		if ok {
			n += number(1)
			if x := tx.Number(c.Args[0]); x != nil && n%2 == 0 {
				tx.SetNumber(x, n, at)
			} else {
				_, ok = tx.PutInt(e, n, at)
			}
		}
		c.Answer = fmt.Append(c.Answer, n, ok)
	case toyExpire:
		if x := tx.Number(c.Args[0]); x != nil && x.Value%2 == 0 {
			tx.SetNumber(x, x.Value, number(1))
		} else if found && e.Alg().IsPlain() {
			tx.Expire(e, number(1))
		}
	case toyDrop:
		if found {
			tx.Drop(e)
		}
	case toyRename:
		to, _ := tx.Find(c.Args[1])
		if found && !bytes.Equal(c.Args[0], c.Args[1]) {
			tx.Rename(e, to)
		}
	case toyMove:
		to, toThere := tx.Find(c.Args[1])
		if found && toThere && !bytes.Equal(c.Args[0], c.Args[1]) {
			less, _ := tx.Int(e)
			more, _ := tx.Int(to)
			tx.PutInt(e, less-1, 0)
			tx.PutInt(to, more+1, 0)
		}
	case toyTake:
		b := engine.Batch{Ops: []engine.Op{{Params: engine.Params{Alg: engine.Slide, Limit: 3, Period: second}, N: 1,
			Key: c.Args[0]}}}
		tx.Decide(&b)
		d := b.Decisions[0]
		c.Answer = fmt.Append(c.Answer, d.Status, d.Allowed, d.Remaining)
	case toyDraw:
		c.Answer = fmt.Append(c.Answer, tx.Random().Uint64())
	}
}

// call adds a call of toy to a batch.
func call(b *engine.Batch, db uint8, command uint16, args ...string) {
	c := b.AddCall(db)
	c.Command, c.ReadOnly = command, command == toyGet || command == toyGetAny || command == toyDraw
	for _, arg := range args {
		c.Args = append(c.Args, []byte(arg))
	}
}

// do applies a call and returns its answer.
func do(e *engine.Engine, now engine.Instant, command uint16, args ...string) string {
	var b engine.Batch
	call(&b, 0, command, args...)
	e.Apply(now, &b)
	return string(b.Calls[0].Answer)
}

// TestSizes: limits are bound by memory, so ops and decisions must not grow.
func TestSizes(t *testing.T) {
	if op, d := unsafe.Sizeof(engine.Op{}), unsafe.Sizeof(engine.Decision{}); op != 96 || d != 88 {
		t.Errorf("an Op has %d bytes and a Decision %d, want 96 and 88", op, d)
	}
}

// aValue is a value of the model of toy: a string, or the decisions of a limit.
type aValue struct {
	text   string
	expiry int64
}

// A toyModel is what an engine with toy should hold, by database and key.
type toyModel map[string]aValue

func (m toyModel) get(now engine.Instant, db uint8, key string) (v aValue, there bool) {
	v, there = m[string('a'+rune(db))+key]
	return v, there && (v.expiry == 0 || now.Millis() <= v.expiry)
}

func (m toyModel) set(db uint8, key string, v aValue) { m[string('a'+rune(db))+key] = v }

// do returns the answer to a call.
func (m toyModel) do(now engine.Instant, db uint8, command uint16, args []string) string {
	v, there := m.get(now, db, args[0])
	number := func(s string) (int64, bool) {
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil && strconv.FormatInt(n, 10) == s
	}
	switch command {
	case toySet:
		at, _ := number(args[2])
		m.set(db, args[0], aValue{args[1], at})
	case toyGet, toyGetAny:
		if !there {
			return "none"
		}
		return fmt.Sprint(v.text, " ", v.expiry)
	case toyAdd:
		n, ok := int64(0), true
		if there {
			if n, ok = number(v.text); !ok {
				return "0 false"
			}
		} else {
			v = aValue{}
		}
		add, _ := number(args[1])
		n += add
		m.set(db, args[0], aValue{strconv.FormatInt(n, 10), v.expiry})
		return fmt.Sprint(n, " true")
	case toyExpire:
		if there {
			at, _ := number(args[1])
			m.set(db, args[0], aValue{v.text, at})
		}
	case toyDrop:
		delete(m, string('a'+rune(db))+args[0])
	case toyRename:
		if there && args[0] != args[1] {
			delete(m, string('a'+rune(db))+args[0])
			m.set(db, args[1], v)
		}
	}
	return ""
}

// someText draws a number, or a string with the first or last length of a row.
func someText(r *rand.Rand) string {
	if r.IntN(3) == 0 {
		return strconv.FormatInt([]int64{0, 1, -1, math.MaxInt64, math.MinInt64, r.Int64N(1000)}[r.IntN(6)], 10)
	}
	return strings.Repeat(string('a'+rune(r.IntN(26))),
		[]int{0, 1, 7, 8, 15, 16, 23, 24, 25, r.IntN(100), r.IntN(5000)}[r.IntN(11)])
}

// TestCalls applies calls in three databases to an engine, to an engine that replays only
// the calls that changed something, and to a model. Now and then the engine is frozen, and
// read while the calls go on, and compared with an engine that loaded the snapshot.
func TestCalls(t *testing.T) {
	for seed := range uint64(12 / testwait.Slowdown()) {
		r := rand.New(rand.NewPCG(seed, 3))
		o := engine.Options{Shards: []int{1, 4, 16}[seed%3], Seed: [16]byte{9}, Commands: toy{}}
		e, other, m := engine.New(o), engine.New(o), toyModel{}
		replay := other.NewReplay(func(n int, each func(int)) {
			for i := range n {
				each(i)
			}
		})
		now := instant("2025-06-15T12:34:56Z")
		var frozen *reading
		var then uint64
		for range 400 {
			now += engine.Instant(r.Int64N(2e6))
			var b engine.Batch
			var want []string
			for range 1 + r.IntN(12) {
				db, command := uint8(r.IntN(3)*7), uint16(r.IntN(toyGetAny+1))
				args := []string{fmt.Sprint("key ", r.IntN(60))}
				expiry := strconv.FormatInt([]int64{0, now.Millis() + r.Int64N(10)}[r.IntN(2)], 10)
				switch command {
				case toySet:
					args = append(args, someText(r), expiry)
				case toyAdd:
					args = append(args, strconv.Itoa(r.IntN(100)-50))
				case toyExpire:
					args = append(args, expiry)
				case toyRename:
					args = append(args, fmt.Sprint("key ", r.IntN(60)))
				}
				if v, there := m.get(now, db, args[0]); command == toyAdd && there && len(v.text) > 15 {
					continue // the sum might overflow
				}
				call(&b, db, command, args...)
				want = append(want, m.do(now, db, command, args))
			}
			if len(b.Ops) == 0 {
				continue
			}
			b.Atomic = r.IntN(4) == 0
			e.Apply(now, &b)
			changed := engine.Batch{Atomic: b.Atomic}
			for i := range b.Ops {
				c := &b.Calls[i]
				if string(c.Answer) != want[i] {
					t.Fatalf("seed %d: command %d of %.60q answers %.60q, want %.60q", seed, c.Command, c.Args, c.Answer, want[i])
				}
				if b.Decisions[i].Changed {
					copied := changed.AddCall(b.Ops[i].DB)
					copied.Command, copied.Args = c.Command, c.Args
				}
			}
			if len(changed.Ops) > 0 {
				replay.Apply(now, &changed)
			}
			switch {
			case frozen == nil && r.IntN(20) == 0:
				replay.Finish()
				if then = e.Digest(now); then != other.Digest(now) {
					t.Fatalf("seed %d: digest %x, of the replay %x", seed, then, other.Digest(now))
				}
				frozen = read(t, e.Freeze())
			case frozen != nil && !frozen.some(r):
				loaded := engine.New(engine.Options{Shards: 8, Seed: o.Seed, Commands: toy{}})
				for _, block := range frozen.blocks {
					if err := loaded.Load(block); err != nil {
						t.Fatal(err)
					}
				}
				if got := loaded.Digest(frozen.n.Now()); got != then {
					t.Fatalf("seed %d: digest %x after a load, want %x", seed, got, then)
				}
				frozen.n.Close()
				frozen = nil
			}
		}
		checkCounts(t, e, m, now)
	}
}

// checkCounts compares the counts of keys with a model, after expired keys are gone.
func checkCounts(t *testing.T, e *engine.Engine, m toyModel, now engine.Instant) {
	t.Helper()
	var keys, lasting [engine.Databases]int64
	for name := range m {
		db := uint8(name[0] - 'a')
		if v, there := m.get(now, db, name[1:]); there {
			keys[db]++
			if v.expiry == 0 {
				lasting[db]++
			}
		}
	}
	e.SweepExpired(now, 100_000)
	if gotKeys, gotLasting := e.KeysIn(); gotKeys != keys || gotLasting != lasting {
		t.Errorf("%v keys, %v of them without expiry; want %v and %v", gotKeys, gotLasting, keys, lasting)
	}
}

// TestCallsAndLimits checks that each key has one kind, and what a limit does in a call.
func TestCallsAndLimits(t *testing.T) {
	e := engine.New(engine.Options{Commands: toy{}})
	now := instant("2025-06-15T12:34:56Z")
	p := engine.Params{Alg: engine.Slide, Limit: 3, Period: second}
	for i, want := range []string{"0 1 2", "0 1 1", "0 1 0", "0 0 0"} {
		if got := do(e, now, toyTake, "limit"); got != want {
			t.Errorf("take %d answers %q, want %q", i+1, got, want)
		}
	}
	if got := do(e, now, toyGet, "limit"); got != "" {
		t.Errorf("a limit has the value %q", got)
	}
	do(e, now, toySet, "value", "x", "0")
	for name, op := range map[string]engine.Op{
		"take":   {Kind: engine.Take, Params: p, N: 1},
		"look":   {Kind: engine.Take, Params: p},
		"refund": {Kind: engine.Refund, N: 1},
		"charge": {Kind: engine.Charge, N: 1},
		"acquire": {Kind: engine.Acquire, Params: engine.Params{Alg: engine.Lease, Limit: 1, Period: second}, N: 1,
			ID: []byte("a")},
		"release": {Kind: engine.Release, ID: []byte("a")},
	} {
		op.Key = []byte("value")
		if d := apply(e, now, op)[0]; d.Status != engine.WrongType || !d.Params.Alg.IsPlain() || d.Reset != engine.Never ||
			d.Changed {
			t.Errorf("%s of a string: %+v, want WrongType", name, d)
		}
	}
	if d := apply(e, now, engine.Op{Kind: engine.Peek, Key: []byte("value")})[0]; d.Status != engine.OK ||
		d.Reset != engine.Never {
		t.Errorf("a peek at a string: %+v", d)
	}
	do(e, now, toyRename, "limit", "value")
	if d := apply(e, now, engine.Op{Kind: engine.Peek, Key: []byte("value")})[0]; d.Params != p || d.Remaining != 0 {
		t.Errorf("a renamed limit: %+v", d)
	}
	do(e, now, toySet, "value", "x", "0")
	if got := do(e, now, toyGet, "value"); got != "x 0" {
		t.Errorf("a string in place of a limit is %q", got)
	}
}

// TestExpiryOfPlainValues: as in Redis a value lives in the millisecond of its expiry.
func TestExpiryOfPlainValues(t *testing.T) {
	e := engine.New(engine.Options{Commands: toy{}})
	now := instant("2025-06-15T12:34:56Z")
	do(e, now, toySet, "key", "x", strconv.FormatInt(now.Millis()+5, 10))
	peek := engine.Op{Kind: engine.Peek, Key: []byte("key")}
	if d := apply(e, now+1, peek)[0]; d.Reset != (engine.Span{Millis: 5, Nanos: 999_999}) {
		t.Errorf("one nanosecond later it lives for %+v", d.Reset)
	}
	if d := apply(e, now+6e6-1, peek)[0]; d.Status != engine.OK {
		t.Errorf("in the millisecond of its expiry: %+v", d)
	}
	if d := apply(e, now+6e6, peek)[0]; d.Status != engine.Missing {
		t.Errorf("after its expiry: %+v", d)
	}
}

// TestTightBatches: in a tight batch no value is made or grows.
func TestTightBatches(t *testing.T) {
	e := engine.New(engine.Options{Commands: toy{}})
	now := instant("2025-06-15T12:34:56Z")
	long := strings.Repeat("x", 100)
	do(e, now, toySet, "number", "1", "0")
	do(e, now, toySet, "text", "sixteen bytes is", "0")
	do(e, now, toySet, "long", long, "0")
	for _, tt := range []struct {
		command uint16
		args    []string
		want    string
	}{
		{toySet, []string{"new", "x", "0"}, "full"},
		{toyAdd, []string{"new", "1"}, "1 false"},
		{toyAdd, []string{"number", "41"}, "42 true"},
		{toySet, []string{"number", "7 bytes", "0"}, ""},
		{toySet, []string{"number", "8 bytes.", "0"}, "full"},
		{toySet, []string{"text", "short", "0"}, ""},
		{toySet, []string{"long", long[:99], "0"}, ""},
		{toySet, []string{"long", long, "0"}, "full"},
		{toyExpire, []string{"long", "99999999999999"}, ""},
		{toyTake, []string{"limit"}, "3 0 0"},
	} {
		b := engine.Batch{Tight: true}
		call(&b, 0, tt.command, tt.args...)
		e.Apply(now, &b)
		if got := string(b.Calls[0].Answer); got != tt.want {
			t.Errorf("command %d of %.30q answers %q, want %q", tt.command, tt.args, got, tt.want)
		}
	}
}

// TestCallsLook: a read-only call leaves even an expired key.
func TestCallsLook(t *testing.T) {
	e := engine.New(engine.Options{Commands: toy{}})
	now := instant("2025-06-15T12:34:56Z")
	do(e, now, toySet, "key", "x", strconv.FormatInt(now.Millis()+5, 10))
	var b engine.Batch
	call(&b, 0, toyGet, "key")
	call(&b, 0, toyGetAny, "key")
	e.Look(now+1e9, &b)
	if got := string(b.Calls[0].Answer) + string(b.Calls[1].Answer); got != "nonenone" || e.Now() != now || e.Len() != 1 {
		t.Errorf("answers %q; then the time is %d and there are %d keys", got, e.Now(), e.Len())
	}
}

// TestRandom: the numbers follow from the time and the key alone.
func TestRandom(t *testing.T) {
	now := instant("2025-06-15T12:34:56Z")
	seen := map[string]bool{}
	for _, shards := range []int{1, 16} {
		e := engine.New(engine.Options{Shards: shards, Commands: toy{}})
		for i := range 3 {
			seen[do(e, now+engine.Instant(i), toyDraw, "key")] = true
		}
		seen[do(e, now+2, toyDraw, "other")] = true
	}
	if len(seen) != 4 {
		t.Errorf("numbers %v, want 4 of them", seen)
	}
}

// TestFlushDatabase drops the keys of a database.
func TestFlushDatabase(t *testing.T) {
	for _, others := range []int{0, 500} {
		e := engine.New(engine.Options{Shards: 2, Commands: toy{}})
		var b engine.Batch
		for i := range 500 {
			call(&b, 3, toySet, fmt.Sprint("key ", i), someText(rand.New(rand.NewPCG(1, uint64(i)))), "0")
		}
		for i := range others {
			b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Params: counter(engine.Token, 3), N: 1,
				Key: fmt.Append(nil, "key ", i)})
		}
		e.Apply(1e18, &b)
		apply(e, 1e18, engine.Op{Kind: engine.Flush, DB: 3, N: 1})
		keys, lasting := e.KeysIn()
		if keys != [engine.Databases]int64{int64(others)} || lasting != [engine.Databases]int64{} ||
			e.Len() != int64(others) {
			t.Errorf("beside %d keys of another database: %v keys, %v without expiry", others, keys, lasting)
		}
		if got := len(scanAll(t, e, 1e18, 10)); got != others {
			t.Errorf("a scan finds %d keys of database 0, want %d", got, others)
		}
	}
}

// TestMakeRoom fills an engine with strings: strings with an expiry are evicted, if that is
// wanted, strings without an expiry never.
func TestMakeRoom(t *testing.T) {
	for _, tt := range []struct {
		name          string
		evict, lasts  bool
		full, evicted bool
	}{
		{"refuse", false, false, true, false},
		{"evict", true, false, false, true},
		{"evict what lasts", true, true, true, false},
	} {
		const (
			bound     = 4 << 20
			calls     = 32       // of a batch
			pageSlack = 64 << 10 // pages that a batch may add
		)
		e := engine.New(engine.Options{MaxMemory: bound, Evict: tt.evict, Commands: toy{}})
		now, full := instant("2025-06-15T12:34:56Z"), 0
		for n := 0; n < 20_000; n += calls {
			var b engine.Batch
			for i := n; i < n+calls; i++ {
				expiry := "0"
				if !tt.lasts {
					expiry = strconv.FormatInt(now.Millis()+3_600_000+int64(i), 10)
				}
				call(&b, 0, toySet, fmt.Sprint("key ", i), strings.Repeat("x", 1000), expiry)
			}
			e.MakeRoom(now, &b)
			e.Apply(now, &b)
			for i := range b.Calls {
				full += len(b.Calls[i].Answer)
			}
		}
		evicted := e.Stats().Evicted
		if (full > 0) != tt.full || (evicted > 0) != tt.evicted || e.MemoryBytes() > bound+pageSlack {
			t.Errorf("%s: %d bytes of answers, %d evicted, %d bytes in use", tt.name, full, evicted, e.MemoryBytes())
		}
	}
}
