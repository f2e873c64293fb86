package persist

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// The commands of scribe, by number.
const (
	scribeAppend = iota // key text: appends to a string, and answers its length
	scribeGet           // key: its string
	scribeSwap          // key key: exchanges two strings
	scribeShelve        // name text: sets a document
)

// scribe is a small set of commands.
type scribe struct{}

func (scribe) Level() uint8 { return 3 }

func (scribe) Check(c *engine.Call) error {
	if c.Command > scribeShelve || len(c.Args) != []int{2, 1, 2, 2}[c.Command] {
		return fmt.Errorf("command %d with %d arguments", c.Command, len(c.Args))
	}
	c.ReadOnly = c.Command == scribeGet
	return nil
}

func (scribe) Keys(c *engine.Call, dst []int) ([]int, bool) {
	if c.Command == scribeSwap {
		return append(dst, 0, 1), false
	}
	return append(dst, 0), c.Command == scribeShelve
}

func (scribe) Do(tx *engine.Tx, c *engine.Call) {
	read := func(key []byte) (engine.Entry, []byte) {
		e, found := tx.Find(key)
		if !found {
			return e, nil
		}
		return e, tx.Bytes(e, nil)
	}
	if c.Command == scribeShelve {
		if err := tx.SetDocument(engine.Libraries, string(c.Args[0]), string(c.Args[1])); err != nil {
			c.Answer = append(c.Answer, err.Error()...)
		}
		return
	}
	e, text := read(c.Args[0])
	switch c.Command {
	case scribeAppend:
		text = append(text, c.Args[1]...)
		if _, ok := tx.Put(e, text, 0); !ok {
			c.Answer = append(c.Answer, "full"...)
			return
		}
		c.Answer = strconv.AppendInt(c.Answer, int64(len(text)), 10)
	case scribeGet:
		c.Answer = append(c.Answer, text...)
	case scribeSwap:
		other, second := read(c.Args[1])
		tx.Put(e, second, 0)
		tx.Put(other, text, 0)
	}
}

// write adds a call of scribe to a batch.
func write(b *engine.Batch, db uint8, command uint16, args ...string) {
	c := b.AddCall(db)
	c.Command, c.ReadOnly, c.Micros = command, command == scribeGet, 300*uint32(command)
	for _, arg := range args {
		c.Args = append(c.Args, []byte(arg))
	}
}

// TestCallEntries checks the bytes of entries with calls and databases.
func TestCallEntries(t *testing.T) {
	get := engine.Op{Kind: engine.Peek, Key: []byte("k")}
	for _, tt := range []struct {
		name string
		make func(b *engine.Batch)
		want string
	}{
		{"a call", func(b *engine.Batch) { write(b, 0, scribeGet, "k") }, "02 4f02 03 0a 01 ac02 01 016b"},
		{"a call in a database", func(b *engine.Batch) { write(b, 9, scribeAppend, "k", "") },
			"02 4f02 03 8a 10 09 00 00 02 016b 00"},
		{"a tight and full batch of two calls", func(b *engine.Batch) {
			write(b, 0, scribeGet, "k")
			write(b, 0, scribeSwap, "a", "b")
			b.Tight, b.Full, b.Atomic = true, true, true
		}, "02 ff02 03 0a 01 ac02 01 016b 0a 02 d804 02 0161 0162"},
		{"a limit beside a call", func(b *engine.Batch) {
			b.Ops = append(b.Ops, get)
			write(b, 0, scribeGet, "k")
		}, "02 4f02 03 0100016b 0a 01 ac02 01 016b"},
		{"a limit alone", func(b *engine.Batch) { b.Ops, b.Tight = append(b.Ops, get), true }, "01 0f02 0100016b"},
		{"a limit in a database", func(b *engine.Batch) {
			b.Ops = append(b.Ops, get)
			b.Ops[0].DB = 15
		}, "02 0f02 81 10 0f 00 016b"},
		{"a source", func(b *engine.Batch) { b.Ops = []engine.Op{{Kind: engine.Learn, ID: []byte("s")}} },
			"02 0f02 8b 08 00 0173"},
		{"no sources", func(b *engine.Batch) { b.Ops = []engine.Op{{Kind: engine.Learn}} }, "02 0f02 0b 00"},
		{"a flush", func(b *engine.Batch) { b.Ops = []engine.Op{{Kind: engine.Flush}} }, "01 0f02 07 00"},
		{"a flush of a database", func(b *engine.Batch) { b.Ops = []engine.Op{{Kind: engine.Flush, N: 1}} }, "02 0f02 47"},
	} {
		b := &engine.Batch{Level: 3}
		tt.make(b)
		var e Entry
		e.Append(1, b)
		want := strings.ReplaceAll(tt.want, " ", "")
		if got := hex.EncodeToString(e.Bytes()); got != want {
			t.Errorf("%s: %s, want %s", tt.name, got, want)
		}
		d := Decoder{Commands: scribe{}}
		err := d.Decode(e.Bytes(), func(_ engine.Instant, got *engine.Batch) error {
			if !sameBatch(got, b) {
				t.Errorf("%s: decoded\n%+v %+v, want\n%+v %+v", tt.name, got.Ops, got.Calls, b.Ops, b.Calls)
			}
			var again Entry
			again.Append(1, got)
			if !bytes.Equal(again.Bytes(), e.Bytes()) {
				t.Errorf("%s: %x encoded again is %x", tt.name, e.Bytes(), again.Bytes())
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// sameBatch compares the parts of batches that an entry has.
func sameBatch(got, want *engine.Batch) bool {
	if len(got.Calls) != len(want.Calls) || !reflect.DeepEqual(got.Ops, want.Ops) || got.Atomic != want.Atomic ||
		got.Full != want.Full {
		return false
	}
	if len(want.Calls) > 0 && (got.Level != want.Level || got.Tight != want.Tight) {
		return false
	}
	for i := range want.Calls {
		g, w := &got.Calls[i], &want.Calls[i]
		if g.Command != w.Command || g.Micros != w.Micros || g.ReadOnly != w.ReadOnly || !reflect.DeepEqual(g.Args, w.Args) {
			return false
		}
	}
	return true
}

// TestDecodeRejectsCalls checks what a version may have, and the bounds of calls.
func TestDecodeRejectsCalls(t *testing.T) {
	for _, tt := range []struct{ name, hex, want string }{
		{"a call in version 1", "01 0f02 0a01 00 01 016b", "without a level"},
		{"a level in version 1", "01 4f02 03 0a01 00 01 016b", "is not the head"},
		{"a database in version 1", "01 0f02 81 10 0f 00 016b", "unknown flags"},
		{"a call without a level", "02 0f02 0a01 00 01 016b", "without a level"},
		{"level 0", "02 4f02 00 0a01 00 01 016b", "level 0"},
		{"a newer level", "02 4f02 04 0a01 00 01 016b", "format 4, and this limitsrv supports formats up to 3"},
		{"no level", "02 4f02", "too early"},
		{"an unknown command", "02 4f02 03 0a04 00 01 016b", "command 4"},
		{"a command of 17 bits", "02 4f02 03 0a808004 00 01 016b", "unknown command"},
		{"another number of arguments", "02 4f02 03 0a01 00 02 016b 00", "with 2 arguments"},
		{"a moment too late", "02 4f02 03 0a01 c1843d 01 016b", "1000001 microseconds"},
		{"more arguments than bytes", "02 4f02 03 0a01 00 ffff03 016b", "too early"},
		{"an argument that is cut", "02 4f02 03 0a01 00 01 026b", "too early"},
		{"database 0", "02 4f02 03 8a 10 00 01 00 01 016b", "database 0"},
		{"database 16", "02 4f02 03 8a 10 10 01 00 01 016b", "database 16"},
		{"a source in version 1", "01 0f02 8b 08 00 0173", "unknown kind"},
		{"other flags of a call", "02 4f02 03 8a 04 01 00 01 016b", "unknown flags"},
		{"a call of one", "02 4f02 03 4a 01 00 01 016b", "not the start of a call"},
	} {
		data, err := hex.DecodeString(strings.ReplaceAll(tt.hex, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		d := Decoder{Commands: scribe{}}
		err = d.Decode(data, func(engine.Instant, *engine.Batch) error { return nil })
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
	group := engine.Batch{Level: 3, Ops: []engine.Op{{Kind: engine.Take, Group: 2, Params: token, N: 1, Key: []byte("k")}}}
	write(&group, 0, scribeGet, "k")
	var e Entry
	e.Append(1, &group)
	for want, d := range map[error]*Decoder{errCallInGroup: {Commands: scribe{}}, errCalls: {}} {
		if err := d.Decode(e.Bytes(), func(engine.Instant, *engine.Batch) error { return nil }); !errors.Is(err, want) {
			t.Errorf("a call in a group: error %v, want %v", err, want)
		}
	}
}

// FuzzDecodeCalls checks that any bytes are rejected, or encode to bytes that decode to the
// same, and can be applied.
func FuzzDecodeCalls(f *testing.F) {
	for _, text := range []string{"024f02030a0101016b", "024f02038a10090002016b00", "02ff02030a0101016b0a020201610162",
		"020f028110" + "0f00016b", "020f0247", "024f02030a030002016e0474657874"} {
		data, _ := hex.DecodeString(text)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e := engine.New(engine.Options{Shards: 2, Commands: scribe{}})
		replay := e.NewReplay(func(n int, each func(int)) {
			for i := range n {
				each(i)
			}
		})
		d, again := Decoder{Commands: scribe{}}, Decoder{Commands: scribe{}}
		_ = d.Decode(data, func(stamp engine.Instant, b *engine.Batch) error {
			var entry Entry
			entry.Append(stamp, b)
			if err := again.Decode(entry.Bytes(), func(at engine.Instant, got *engine.Batch) error {
				if at != stamp || !sameBatch(got, b) {
					t.Errorf("encoded again: at %d\n%+v %+v, want at %d\n%+v %+v", at, got.Ops, got.Calls, stamp, b.Ops, b.Calls)
				}
				return nil
			}); err != nil {
				t.Errorf("encoded again: %v", err)
			}
			replay.Apply(stamp, b)
			return nil
		})
		replay.Finish()
	})
}

// TestStoreKeepsCalls writes strings from several goroutines, each its own, beside permits
// of limits, and reopens the Store from the log and from a snapshot.
func TestStoreKeepsCalls(t *testing.T) {
	for _, policy := range []Policy{Always, EverySecond, Never} {
		o := testOptions(t, vfs.NewMem(), policy)
		o.Engine = engine.Options{Seed: [16]byte{4}, Commands: scribe{}}
		s := start(t, o)
		want := map[int]int{} // length of each writer's string
		for round := range 4 {
			var wait sync.WaitGroup
			for writer := range 6 {
				wait.Go(func() { writeStrings(t, s, writer, want[writer]) })
			}
			wait.Wait()
			for writer := range 6 {
				want[writer] += 20 / testwait.Slowdown()
			}
			if err := perform(s, &engine.Batch{Ops: []engine.Op{{Kind: engine.Learn,
				ID: fmt.Append(nil, "source ", round)}}}); err != nil {
				t.Fatal(err)
			}
			var titled engine.Batch
			write(&titled, 0, scribeShelve, fmt.Sprint("name ", round%3), fmt.Sprint("text ", round))
			if err := perform(s, &titled); err != nil {
				t.Fatal(err)
			}
			digest := s.Engine().Digest(0)
			end(t, s, round%2 == 1)
			s = start(t, o)
			if got := s.Engine().Digest(0); got != digest {
				t.Fatalf("policy %v: digest %x after a restart, want %x", policy, got, digest)
			}
			if n, _ := s.Engine().Sources(); n != round+1 {
				t.Fatalf("policy %v: %d sources after a restart, want %d", policy, n, round+1)
			}
			if d := s.Engine().Document(engine.Libraries, fmt.Sprint("name ", round%3)); d == nil ||
				d.Text != fmt.Sprint("text ", round) || d.Version != uint64(round+1) {
				t.Fatalf("policy %v: document %+v after a restart, want that of change %d", policy, d, round+1)
			}
		}
		end(t, s, true)
		if state, err := ReadState(context.Background(), o.FS, testDir, scribe{}); err != nil || state.Engine.Len() == 0 {
			t.Errorf("policy %v: ReadState: %v", policy, err)
		}
	}
}

// writeStrings appends to a writer's string, which has a length, and checks each answer.
func writeStrings(t *testing.T, s *Store, writer, length int) {
	key, db := fmt.Sprint("writer ", writer), uint8(writer%3)
	for range 20 / testwait.Slowdown() {
		var b engine.Batch
		b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Params: counterOf, N: 1, Key: []byte("limit")})
		write(&b, db, scribeGet, key)
		write(&b, db, scribeAppend, key, "x")
		write(&b, db, scribeSwap, "left", "right")
		b.Atomic = writer == 0
		if err := perform(s, &b); err != nil {
			t.Error(err)
			return
		}
		length++
		if got := string(b.Calls[1].Answer); got != strconv.Itoa(length) || len(b.Calls[0].Answer) != length-1 {
			t.Errorf("%s: %d bytes, then a length of %s, want %d", key, len(b.Calls[0].Answer), got, length)
			return
		}
	}
}

// TestCallsAtTheBound fills a store with strings, which never expire.
func TestCallsAtTheBound(t *testing.T) {
	for _, policy := range []Policy{Always, EverySecond} {
		for _, evict := range []bool{false, true} {
			o := testOptions(t, vfs.NewMem(), policy)
			o.Engine = engine.Options{MaxMemory: 1 << 20, Evict: evict, Commands: scribe{}}
			s := start(t, o)
			full := 0
			for i := range 400 {
				var b engine.Batch
				for j := range 20 {
					write(&b, 0, scribeAppend, fmt.Sprint("key ", i, " ", j), strings.Repeat("x", 300))
				}
				if err := perform(s, &b); err != nil {
					t.Fatal(err)
				}
				if string(b.Calls[0].Answer) == "full" {
					full++
				}
			}
			if used := s.Engine().MemoryBytes(); full < 100 || used > 5<<20/4 {
				t.Errorf("policy %v, evict %t: %d of 400 batches were refused, %d bytes are used", policy, evict, full, used)
			}
			digest := s.Engine().Digest(0)
			end(t, s, false)
			s = start(t, o)
			if got := s.Engine().Digest(0); got != digest {
				t.Errorf("policy %v, evict %t: digest %x after a restart, want %x", policy, evict, got, digest)
			}
			end(t, s, false)
		}
	}
}
