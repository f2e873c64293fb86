package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"limitsrv/engine"
	"limitsrv/engine/enginetest"
)

// The commands of librarian, by number, with their arguments.
const (
	shelve     = toyMove + 1 + iota // name text: sets a document, or answers the error
	shelveBoth                      // name name text: sets two documents to the same text
	withdraw                        // name: drops a document
	clearOut                        // drops all documents
	inventory                       // key: all documents, without naming all keys
	shelveHere                      // name text: sets a document without naming all keys
)

// librarian has commands on documents besides the commands of toy.
type librarian struct{ toy }

func (librarian) Check(c *engine.Call) error { return nil }

func (x librarian) Keys(c *engine.Call, dst []int) ([]int, bool) {
	switch c.Command {
	case inventory:
		return append(dst, 0), false
	case shelveHere:
		return dst, false
	}
	if c.Command >= shelve {
		return dst, true
	}
	return x.toy.Keys(c, dst)
}

func (x librarian) Do(tx *engine.Tx, c *engine.Call) {
	set := func(name, text []byte) {
		if err := tx.SetDocument(engine.Libraries, string(name), string(text)); err != nil {
			c.Answer = append(c.Answer, err.Error()...)
		}
	}
	switch c.Command {
	case shelve, shelveHere:
		set(c.Args[0], c.Args[1])
	case shelveBoth:
		set(c.Args[0], c.Args[2])
		set(c.Args[1], c.Args[2])
	case withdraw:
		c.Answer = fmt.Append(c.Answer, tx.DropDocument(engine.Libraries, string(c.Args[0])))
	case clearOut:
		tx.DropDocuments(engine.Libraries)
	case inventory:
		c.Answer = fmt.Append(c.Answer, tx.DocumentsVersion(engine.Libraries))
		for _, d := range tx.Documents(engine.Libraries) {
			c.Answer = fmt.Appendf(c.Answer, " %s=%s:%d@%d", d.Name, d.Text, d.Version, d.Set-1e18)
			if tx.Document(engine.Libraries, d.Name) != d {
				c.Answer = append(c.Answer, " is not found"...)
			}
		}
	default:
		x.toy.Do(tx, c)
	}
}

func newLibrary(shards int) *engine.Engine {
	return engine.New(engine.Options{Shards: shards, Seed: [16]byte{5}, Commands: librarian{}})
}

// TestDocuments sets and drops documents, and looks at them from calls and from outside.
func TestDocuments(t *testing.T) {
	for _, shards := range []int{1, 8} {
		e := newLibrary(shards)
		digests := map[uint64]string{}
		for i, tt := range []struct {
			name    string
			command uint16
			args    []string
			answer  string
			want    string // the inventory then
		}{
			{"nothing is there", withdraw, []string{"b"}, "false", "0"},
			{"nothing to drop is no change", clearOut, nil, "", "0"},
			{"a document", shelve, []string{"b", "text"}, "", "1 b=text:1@2"},
			{"another", shelve, []string{"a", ""}, "", "2 a=:2@3 b=text:1@2"},
			{"the same text again is a change", shelve, []string{"b", "text"}, "", "3 a=:2@3 b=text:3@4"},
			{"another text", shelve, []string{"b", "Text"}, "", "4 a=:2@3 b=Text:4@5"},
			{"no name", shelve, []string{"", "text"}, "a name of 0 bytes, 1 to 256 are allowed", "4 a=:2@3 b=Text:4@5"},
			{"a drop", withdraw, []string{"a"}, "true", "5 b=Text:4@5"},
			{"a drop of another name", withdraw, []string{"a"}, "false", "5 b=Text:4@5"},
			{"two at once", shelveBoth, []string{"c", "aa", "x"}, "", "7 aa=x:7@9 b=Text:4@5 c=x:6@9"},
			{"a drop of all", clearOut, nil, "", "8"},
			{"a document then", shelve, []string{"b", "text"}, "", "9 b=text:9@11"},
		} {
			before := e.Digest(0)
			if got := do(e, engine.Instant(1e18+i), tt.command, tt.args...); got != tt.answer {
				t.Errorf("%s: %q, want %q", tt.name, got, tt.answer)
			}
			if got := do(e, 1e18+100, inventory, "key"); got != tt.want {
				t.Errorf("%s: the inventory is %q, want %q", tt.name, got, tt.want)
			}
			if same, known := digests[e.Digest(0)]; known && same != tt.want {
				t.Errorf("%s: the digest of %q is that of %q", tt.name, tt.want, same)
			}
			digests[e.Digest(0)] = tt.want
			if changed := strings.HasPrefix(tt.name, "a document"); changed && e.Digest(0) == before {
				t.Errorf("%s: the digest is the same", tt.name)
			}
			e = reloaded(t, e, shards) // at the instant of the last call, not of the inventory
		}
		apply(e, 1e18+200, engine.Op{Kind: engine.Flush})
		if d := e.Document(engine.Libraries, "b"); d == nil || d.Text != "text" || len(e.Documents(engine.Libraries)) != 1 ||
			e.DocumentsVersion(engine.Libraries) != 9 {
			t.Errorf("%d shards: after a flush the document is %+v", shards, d)
		}
		if e.Document(engine.Libraries, "a") != nil {
			t.Error("a document that was dropped is there")
		}
		if e.Clear(); e.Digest(0) != newLibrary(1).Digest(0) || e.DocumentsVersion(engine.Libraries) != 0 {
			t.Error("a cleared engine is not an empty one")
		}
	}
}

// reloaded returns an engine with the keys and documents of another, at an earlier time.
func reloaded(t *testing.T, e *engine.Engine, shards int) *engine.Engine {
	r := read(t, e.Freeze())
	defer r.n.Close()
	r.all()
	to := newLibrary(shards)
	for _, block := range r.blocks {
		if err := to.Load(block); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := to.Digest(0), e.Digest(0); got != want {
		t.Fatalf("digest %x from the snapshot, want %x", got, want)
	}
	return to
}

func TestDocumentsAreBounded(t *testing.T) {
	e := newLibrary(2)
	long := strings.Repeat("x", engine.MaxDocumentBytes)
	for name, line := range map[string][]string{
		"a name of 257 bytes, 1 to 256 are allowed":                 {strings.Repeat("n", engine.MaxDocumentName+1), "text"},
		"a text of 1048577 bytes, at most 1048576 are allowed":      {"name", long + "x"},
		"16777218 bytes in all texts, at most 16777216 are allowed": nil,
	} {
		if line == nil {
			for i := range 15 {
				do(e, 1e18, shelve, fmt.Sprint(i+10), long)
			}
			if got := do(e, 1e18, shelve, "10", long); got != "" {
				t.Errorf("a text in place of an equal one: %q", got)
			}
			line = []string{"last", long[:len(long)-15*2-2]}
		}
		digest := e.Digest(0)
		if got := do(e, 1e18, shelve, line...); got != name || e.Digest(0) != digest {
			t.Errorf("%q, want %q and no change", got, name)
		}
	}
	do(e, 1e18, clearOut)
	for i := range engine.MaxDocuments[engine.Libraries] {
		if got := do(e, 1e18, shelve, fmt.Sprint(i), "text"); got != "" {
			t.Fatalf("document %d: %s", i, got)
		}
	}
	if got := do(e, 1e18, shelve, "one more", "text"); got != "10001 texts, at most 10000 are allowed" {
		t.Errorf("one document more: %q", got)
	}
	if got := do(e, 1e18, shelve, "7", "Text"); got != "" || e.Document(engine.Libraries, "7").Text != "Text" {
		t.Errorf("another text in place of one: %q", got)
	}
	reloaded(t, e, 4)
}

func TestDocumentsNeedAllShards(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a call of one shard has set a document")
		}
	}()
	do(newLibrary(2), 1e18, shelveHere, "name", "text")
}

// TestEffectsOfDocuments compares the checksums of calls that differ in a text only.
func TestEffectsOfDocuments(t *testing.T) {
	sums := map[uint64]string{}
	for _, line := range [][]string{{"shelve", "a", "text"}, {"shelve", "a", "Text"}, {"shelve", "b", "text"},
		{"withdraw", "a"}, {"clear"}, {"inventory", "a"}} {
		e := engine.New(engine.Options{Commands: librarian{}, Effects: true})
		do(e, 1e18, shelveBoth, "a", "z", "text")
		var b engine.Batch
		call(&b, 0, map[string]uint16{"shelve": shelve, "withdraw": withdraw, "clear": clearOut,
			"inventory": inventory}[line[0]], line[1:]...)
		e.Apply(1e18, &b)
		if same, known := sums[b.Effects]; known {
			t.Errorf("%q has the effects of %q", line, same)
		}
		sums[b.Effects] = fmt.Sprint(line)
		if b.Decisions[0].Changed != (line[0] != "inventory") {
			t.Errorf("%q: %+v", line, b.Decisions[0])
		}
	}
}

// someShelving adds a call of librarian to a batch.
func someShelving(r *rand.Rand, b *engine.Batch) {
	name := func() string { return fmt.Sprint("name ", r.IntN(6)) }
	switch r.IntN(12) {
	case 0:
		call(b, 0, clearOut)
	case 1, 2:
		call(b, 0, withdraw, name())
	case 3, 4, 5:
		call(b, 0, shelve, name(), strings.Repeat("text ", r.IntN(900)))
	case 6:
		call(b, 0, shelveBoth, name(), name(), fmt.Sprint(r.IntN(100)))
	case 7:
		call(b, 0, toySet, fmt.Sprint("key ", r.IntN(9)), fmt.Sprint(r.IntN(100)), "0")
	default:
		call(b, 0, inventory, fmt.Sprint("key ", r.IntN(9)))
	}
}

// TestLawsOfDocuments compares random calls in batches, by a Replay, and after a snapshot.
func TestLawsOfDocuments(t *testing.T) {
	for seed := range uint64(8) {
		session := enginetest.Session{
			Options: engine.Options{Seed: [16]byte{5}, Commands: librarian{}},
			Start:   1e18, Pause: 1000, Steps: 80, Calls: 5, Add: someShelving,
		}
		session.Compare(t, seed)
	}
}

// TestSnapshotOfDocuments freezes an engine, changes its documents, and loads the snapshot.
func TestSnapshotOfDocuments(t *testing.T) {
	for _, keys := range []int{0, 3000} {
		e := newLibrary(2)
		for i := range keys {
			apply(e, 1e18, engine.Op{Kind: engine.Take, Params: counter(engine.Token, 3), N: 1, Key: fmt.Append(nil, "key ", i)})
		}
		learn(e, "source")
		for i := range 300 {
			do(e, 1e18, shelve, fmt.Sprint("name ", i), strings.Repeat("line\n", i))
		}
		digest := e.Digest(0)
		r := read(t, e.Freeze())
		do(e, 1e18, shelve, "more", "text")
		do(e, 1e18, withdraw, "name 7")
		r.all()
		r.n.Close()
		loaded := newLibrary(16)
		for i := len(r.blocks) - 1; i >= 0; i-- {
			for range 2 { // documents may come again
				if err := loaded.Load(r.blocks[i]); err != nil && keys == 0 {
					t.Fatal(err)
				}
			}
		}
		if got := loaded.Digest(0); got != digest || loaded.DocumentsVersion(engine.Libraries) != 300 {
			t.Errorf("with %d keys: digest %x and version %d, want %x and 300", keys, got,
				loaded.DocumentsVersion(engine.Libraries), digest)
		}
	}
	const head, time = "\x03", "\x05\x00\x00\x00\x00\x00\x00\x00"
	for name, block := range map[string]string{
		"in version 2":                    "\x02" + time + "\x00\x3e\x00\x01\x05\x01n\x01t",
		"of an unknown space":             head + time + "\x00\x3e\x7f\x01\x05\x01n\x01t",
		"of version 0":                    head + time + "\x00\x3e\x00\x00\x05\x01n\x01t",
		"of a later time":                 head + time + "\x00\x3e\x00\x01\x06\x01n\x01t",
		"with a text and without a name":  head + time + "\x00\x3e\x00\x01\x00\x00\x01t",
		"with a time and without a name":  head + time + "\x00\x3e\x00\x01\x05\x00\x00",
		"with a name that is too long":    head + time + "\x00\x3e\x00\x01\x05\x81\x02" + strings.Repeat("n", 257) + "\x00",
		"with a text that is cut":         head + time + "\x00\x3e\x00\x01\x05\x01n\x02t",
		"with a name that is cut":         head + time + "\x00\x3e\x00\x01\x05\x02n",
		"of which only the mark is there": head + time + "\x00\x3e",
		"twice":                           head + time + "\x00\x3e\x00\x01\x05\x01n\x01t" + "\x00\x3e\x00\x02\x05\x01n\x01t",
		"of a version that another has":   head + time + "\x00\x3e\x00\x01\x05\x01n\x01t" + "\x00\x3e\x00\x01\x05\x01m\x01t",
	} {
		e := newLibrary(1)
		if e.Load([]byte(block)) == nil || e.DocumentsVersion(engine.Libraries) > 0 {
			t.Errorf("a document %s was loaded", name)
		}
	}
}

// TestRaceDocuments changes pairs of documents, each by one call, while calls of single shards
// and readers outside look at them.
func TestRaceDocuments(t *testing.T) {
	e := newLibrary(8)
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for last := uint64(0); ; {
			select {
			case <-done:
				return
			default:
			}
			list := e.Documents(engine.Libraries)
			version := e.DocumentsVersion(engine.Libraries)
			for i, d := range list {
				if d.Version > version || i > 0 && d.Name <= list[i-1].Name {
					t.Errorf("document %q of version %d among changes up to %d", d.Name, d.Version, version)
				}
				d.Compiled.CompareAndSwap(nil, d.Text)
			}
			if d := e.Document(engine.Libraries, "left1"); d != nil && d.Compiled.Load() != nil &&
				d.Compiled.Load() != d.Text || version < last {
				t.Errorf("document %+v, version %d after %d", d, version, last)
			}
			last = version
		}
	})
	race(e, func(g int, r *rand.Rand, now func() engine.Instant) {
		for i := range 60 {
			pair := r.IntN(2)
			left, right := fmt.Sprint("left", pair), fmt.Sprint("right", pair)
			switch r.IntN(4) {
			case 0:
				do(e, now(), shelveBoth, left, right, fmt.Sprint(g, "/", i))
			case 1:
				do(e, now(), clearOut)
			default:
				texts := map[string]int{}
				for _, word := range strings.Fields(do(e, now(), inventory, fmt.Sprint("key ", r.IntN(20))))[1:] {
					_, text, _ := strings.Cut(word, "=")
					text, _, _ = strings.Cut(text, ":")
					texts[text]++
				}
				for text, n := range texts {
					if n != 2 {
						t.Errorf("a call sees %q %d times, want both of a pair", text, n)
					}
				}
			}
		}
	})
	close(done)
	watcher.Wait()
}
