package engine_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"limitsrv/engine"
)

// withPlain returns an engine with strings in three databases, a limit and a source.
func withPlain(seed uint64, keys int) *engine.Engine {
	r := rand.New(rand.NewPCG(seed, 11))
	e := engine.New(engine.Options{Shards: 1, Seed: [16]byte{5}, Commands: toy{}})
	var b engine.Batch
	for i := range keys {
		expiry := []string{"0", "1000000001000"}[r.IntN(2)]
		text := someText(r)
		call(&b, uint8(r.IntN(3)*7), toySet, fmt.Sprint("key ", i), text[:min(len(text), 60)], expiry)
	}
	b.Ops = append(b.Ops,
		engine.Op{Kind: engine.Take, Params: counter(engine.Token, 3), N: 1, Key: []byte("limit"), DB: 2},
		engine.Op{Kind: engine.Learn, ID: []byte("return 1")})
	e.Apply(1e18, &b)
	return e
}

// TestBlockVersions checks the bytes of blocks: documents are in version 3, plain values,
// databases and sources in version 2, all else in version 1.
func TestBlockVersions(t *testing.T) {
	head := func(version string) string { return version + " 000064a7 b3b6e00d " } // 1e18
	take := engine.Op{Kind: engine.Take, Params: engine.Params{Alg: engine.Fixed, Limit: 3, Period: 1000 * second}, N: 1,
		Key: []byte("k")}
	other := take
	other.DB = 15
	set := func(db uint8, text, expiry string) func(b *engine.Batch) {
		return func(b *engine.Batch) { call(b, db, toySet, "k", text, expiry) }
	}
	ops := func(ops ...engine.Op) func(b *engine.Batch) {
		return func(b *engine.Batch) { b.Ops = append(b.Ops, ops...) }
	}
	for _, tt := range []struct {
		name string
		make func(b *engine.Batch)
		want string
	}{
		{"a limit", ops(take), head("01") + "00 0200 03 00 80a094a58d1d 0010097c9cb7e00d 0100000000000000 016b"},
		{"a number", set(0, "-2", "0"), head("02") + "00 2000000000 0000000000000000 feffffffffffffff 016b"},
		{"a number with an expiry in a database", set(3, "5", "1000000000001"),
			head("02") + "00 6000000000 03 0110a5d4e8000000 0500000000000000 016b"},
		{"a short text", set(0, "abc", "0"), head("02") + "00 2100000000 0000000000000000 6162630000000003 016b"},
		{"a text of 8 bytes", set(0, "abcdefgh", "0"),
			head("02") + "00 2200000000 0000000000000000 6162636465666768 0000000000000008 016b"},
		{"a text of 16 bytes", set(0, "abcdefghabcdefgh", "0"),
			head("02") + "00 2300000000 0000000000000000 6162636465666768 6162636465666768 0000000000000010 016b"},
		{"a text with a past expiry", set(0, "a", "300"), ""},
		{"a long text that lasts", set(0, strings.Repeat("a", 24), "1000000000001"),
			head("02") + "00 2400000000 016b 01 81a094a58d1d 30" + strings.Repeat("61", 24)},
		{"a limit in a database", ops(other),
			head("02") + "00 4200 03 00 80a094a58d1d 0f 0010097c9cb7e00d 0100000000000000 016b"},
		{"a source", ops(engine.Op{Kind: engine.Learn, ID: []byte("s")}), "02 0000000000000000 003f 02 01 73"},
		{"a document", func(b *engine.Batch) { call(b, 0, shelve, "n", "text") },
			head("03") + "003e 00 01 00 00 00 003e 00 01 808090bbbad6adf00d 01 6e 04 74657874"},
	} {
		e := engine.New(engine.Options{Shards: 1, Commands: librarian{}})
		var b engine.Batch
		tt.make(&b)
		e.Apply(1e18, &b)
		r := read(t, e.Freeze())
		r.all()
		r.n.Close()
		got := ""
		for _, block := range r.blocks {
			got += hex.EncodeToString(block)
		}
		if want := strings.ReplaceAll(tt.want, " ", ""); got != want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, want)
		}
	}
}

// TestLoadChecksPlain checks the validation of plain values.
func TestLoadChecksPlain(t *testing.T) {
	const head = "02 000064a7 b3b6e00d 00 "
	for _, tt := range []struct {
		name, hex string
		ok        bool
	}{
		{"a number", "2000000000 0000000000000000 0500000000000000 016b", true},
		{"a number that has expired", "2000000000 0100000000000000 0500000000000000 016b", true},
		{"an expiry before the epoch", "2000000000 00000000000000f0 0500000000000000 016b", false},
		{"a number with a limit", "2000010000 0000000000000000 0500000000000000 016b", false},
		{"a number with a past", "a000000000 010100 0000000000000000 0500000000000000 016b", false},
		{"a number in database 0", "6000000000 00 0000000000000000 0500000000000000 016b", false},
		{"a number in database 16", "6000000000 10 0000000000000000 0500000000000000 016b", false},
		{"an unknown row", "2900000000 0000000000000000 0500000000000000 016b", false},
		{"a text", "2100000000 0000000000000000 6162630000000003 016b", true},
		{"a text that is a number", "2100000000 0000000000000000 3132330000000003 016b", false},
		{"a text that is too long", "2100000000 0000000000000000 6162630000000008 016b", false},
		{"a text with bytes behind it", "2100000000 0000000000000000 6162636400000003 016b", false},
		{"a text in too many words", "2200000000 0000000000000000 6162636465666700 0000000000000007 016b", false},
		{"a long text", "2400000000 016b 01 00 30" + strings.Repeat("61", 24), true},
		{"a long text that was changed", "2400000000 016b 01 00 31" + strings.Repeat("61", 24), true},
		{"a longer text that was changed", "2400000000 016b 01 00 5b" + strings.Repeat("61", 45), false},
		{"a long text that is short", "2400000000 016b 01 00 2e" + strings.Repeat("61", 23), false},
		{"a long text that is cut", "2400000000 016b 01 00 30" + strings.Repeat("61", 23), false},
	} {
		block, err := hex.DecodeString(strings.ReplaceAll(head+tt.hex, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		e := engine.New(engine.Options{})
		if err = e.Load(block); (err == nil) != tt.ok || e.Len() != yes(tt.ok) {
			t.Errorf("%s: Load is %v, and the engine has %d keys, want it loaded: %t", tt.name, err, e.Len(), tt.ok)
		}
		block[0] = 1
		if engine.New(engine.Options{}).Load(block) == nil {
			t.Errorf("%s: it was loaded in version 1", tt.name)
		}
	}
}

// TestDatabasesOfLimits counts with the same name in all databases, and compares the engine
// with an engine that has replayed the ops, and an engine that has loaded a snapshot.
func TestDatabasesOfLimits(t *testing.T) {
	p := engine.Params{Alg: engine.Log, Limit: 100, Period: 1000 * second}
	e, other := engine.New(engine.Options{}), engine.New(engine.Options{Shards: 2})
	replay := other.NewReplay(func(n int, each func(int)) {
		for i := range n {
			each(i)
		}
	})
	for round := range 3 {
		var b engine.Batch
		for db := range uint8(engine.Databases) {
			b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Params: p, N: int64(db) + 1, Key: []byte("key"), DB: db})
		}
		b.Atomic = round == 1
		e.Apply(1e18, &b)
		replay.Apply(1e18, &b)
	}
	replay.Finish()
	r := read(t, e.Freeze())
	r.all()
	r.n.Close()
	loaded := r.load(rand.New(rand.NewPCG(1, 1)), 4)
	for db := range uint8(engine.Databases) {
		want := 100 - 3*(int64(db)+1)
		for name, e := range map[string]*engine.Engine{"the engine": e, "the replay": other, "the snapshot": loaded} {
			d := apply(e, 1e18, engine.Op{Kind: engine.Peek, Key: []byte("key"), DB: db})[0]
			if d.Remaining != want || e.Fingerprint(1e18, db, []byte("key")) == 0 || e.KeyBytes(1e18, db, []byte("key")) == 0 {
				t.Errorf("%s: %d left in database %d, want %d", name, d.Remaining, db, want)
			}
		}
		block, ok := e.Export(1e18, db, []byte("key"), nil)
		alone := engine.New(engine.Options{})
		if !ok || alone.Load(block) != nil || alone.Fingerprint(1e18, db, []byte("key")) == 0 {
			t.Errorf("database %d: its key was not exported", db)
		}
	}
	if victims := e.Victims(1e18, 1<<20); len(victims) == 0 || victims[0].DB == victims[len(victims)-1].DB {
		t.Errorf("victims %v, want some of several databases", victims)
	}
	if e.Digest(1e18) == engine.New(engine.Options{}).Digest(1e18) {
		t.Error("the digest has no keys")
	}
}
