package engine_test

import (
	"crypto/sha1"
	"fmt"
	"strings"
	"testing"

	"limitsrv/engine"
)

// learn applies a Learn and reports whether it changed anything.
func learn(e *engine.Engine, text string) bool {
	b := engine.Batch{Ops: []engine.Op{{Kind: engine.Learn, ID: []byte(text)}}}
	e.Apply(1e18, &b)
	return b.Decisions[0].Changed
}

func TestSources(t *testing.T) {
	e := engine.New(engine.Options{})
	empty := e.Digest(0)
	if !learn(e, "one") || !learn(e, "two") || learn(e, "one") {
		t.Error("a new source changed nothing, or a known one something")
	}
	if s := e.Source(sha1.Sum([]byte("one"))); s == nil || s.Text != "one" {
		t.Errorf("source one is %+v", s)
	}
	if s := e.Source(sha1.Sum([]byte("three"))); s != nil {
		t.Errorf("source three is %+v", s)
	}
	if n, bytes := e.Sources(); n != 2 || bytes != 6 || e.Digest(0) == empty {
		t.Errorf("%d sources of %d bytes, want 2 of 6", n, bytes)
	}
	apply(e, 1e18, engine.Op{Kind: engine.Flush})
	if n, _ := e.Sources(); n != 2 {
		t.Errorf("%d sources after a flush, want 2", n)
	}
	if !learn(e, "") || learn(e, "") || e.Digest(0) != empty {
		t.Error("not all sources were dropped once")
	}
}

// TestFlushedSources: a flushed source is unknown until it is learned again.
func TestFlushedSources(t *testing.T) {
	e := engine.New(engine.Options{})
	flush := func() bool {
		var b engine.Batch
		b.AddFlush()
		e.Apply(1e18, &b)
		return b.Decisions[0].Changed
	}
	one := engine.SourceID(sha1.Sum([]byte("one")))
	if flush() {
		t.Error("a flush of nothing changes something")
	}
	learn(e, "one")
	known := e.Digest(0)
	if !flush() || flush() || e.Source(one) != nil || e.Digest(0) == known {
		t.Error("the source was not flushed once")
	}
	if !learn(e, "one") || learn(e, "one") || e.Source(one) == nil || e.Digest(0) == known {
		t.Error("the source was not learned again, as the last one")
	}
	var b engine.Batch
	for i, want := range []struct{ known, decided bool }{{false, false}, {true, true}, {false, true}, {true, true}} {
		if known, decided := b.Learns(one); known != want.known || decided != want.decided {
			t.Errorf("after %d Learns: %t, %t, want %+v", i, known, decided, want)
		}
		if i%2 == 0 {
			b.AddLearn([]byte("one"))
		} else {
			b.AddFlush()
		}
	}
}

// TestSourceNamed finds a source by its name, also while other sources come and go.
func TestSourceNamed(t *testing.T) {
	e := engine.New(engine.Options{})
	flush := func() {
		var b engine.Batch
		b.AddFlush()
		e.Apply(1e18, &b)
	}
	name := fmt.Sprintf("%x", sha1.Sum([]byte("one")))
	for _, step := range []struct {
		name  string
		do    func()
		known bool
	}{
		{"not learned", func() {}, false},
		{"learned", func() { learn(e, "one") }, true},
		{"another learned", func() { learn(e, "two") }, true},
		{"flushed", flush, false},
		{"learned again", func() { learn(e, "one") }, true},
		{"dropped", func() { learn(e, "") }, false},
	} {
		step.do()
		for _, hash := range []string{name, name, strings.ToUpper(name)} {
			if s := e.SourceNamed([]byte(hash)); (s != nil) != step.known || s != nil && s.Text != "one" {
				t.Errorf("%s: %s is %+v", step.name, hash, s)
			}
		}
		for _, hash := range []string{"", name[1:], name + "0", "x" + name[1:], name[:38] + "00"} {
			if s := e.SourceNamed([]byte(hash)); s != nil {
				t.Errorf("%s: %q is %+v", step.name, hash, s)
			}
		}
	}
}

func TestSourcesAreBounded(t *testing.T) {
	e := engine.New(engine.Options{})
	big := strings.Repeat("x", engine.MaxSourceBytes-3)
	for i := range 40 {
		learn(e, fmt.Sprintf("%03d", i)+big)
	}
	if n, bytes := e.Sources(); n != 16 || bytes != engine.MaxSourcesBytes ||
		e.Source(sha1.Sum([]byte("024"+big))) == nil {
		t.Errorf("%d sources of %d bytes, want the last 16", n, bytes)
	}
	learn(e, "")
	for i := range engine.MaxSources + 5 {
		learn(e, fmt.Sprint("script ", i))
	}
	if n, _ := e.Sources(); n != engine.MaxSources || e.Source(sha1.Sum([]byte("script 4"))) != nil ||
		e.Source(sha1.Sum([]byte("script 5"))) == nil {
		t.Errorf("%d sources, want %d, those learned last", n, engine.MaxSources)
	}
}

// TestSnapshotOfSources freezes an engine with sources, with and without keys, learns more,
// and loads the snapshot.
func TestSnapshotOfSources(t *testing.T) {
	for _, keys := range []int{0, 3000} {
		e := engine.New(engine.Options{Shards: 2})
		for i := range keys {
			apply(e, 1e18, engine.Op{Kind: engine.Take, Params: counter(engine.Token, 3), N: 1, Key: fmt.Append(nil, "key ", i)})
		}
		for i := range 300 {
			learn(e, strings.Repeat(fmt.Sprint("line ", i, "\n"), 10))
		}
		var flush engine.Batch
		flush.AddFlush()
		e.Apply(1e18, &flush)
		learn(e, strings.Repeat("line 7\n", 10))
		digest := e.Digest(1e18)
		r := read(t, e.Freeze())
		learn(e, "more")
		learn(e, strings.Repeat("line 8\n", 10))
		r.all()
		r.n.Close()
		loaded := engine.New(engine.Options{Shards: 16})
		for _, block := range r.blocks {
			for range 2 { // sources may come again
				if err := loaded.Load(block); err != nil && keys == 0 {
					t.Fatal(err)
				}
			}
		}
		if got := loaded.Digest(1e18); got != digest {
			t.Errorf("with %d keys: digest %x, want %x", keys, got, digest)
		}
		if n, _ := loaded.Sources(); n != 300 {
			t.Errorf("with %d keys: %d sources, want 300", keys, n)
		}
	}
	for name, block := range map[string]string{
		"in version 1":     "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x3f\x02\x01x",
		"without an order": "\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x3f\x01\x01x",
		"without a text":   "\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x3f\x02\x00",
		"cut":              "\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x3f\x02\x02x",
		"twice":            "\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x3f\x02\x01x\x00\x3f\x04\x01x",
	} {
		if engine.New(engine.Options{}).Load([]byte(block)) == nil {
			t.Errorf("a source %s was loaded", name)
		}
	}
}

// TestLearnAndDo learns a source and reads a key at the same moment.
func TestLearnAndDo(t *testing.T) {
	e := engine.New(engine.Options{Commands: toy{}})
	for _, atomic := range []bool{false, true} {
		b := engine.Batch{Atomic: atomic}
		call(&b, 0, toySet, "key", "x", "0")
		b.Ops = append(b.Ops, engine.Op{Kind: engine.Learn, ID: fmt.Append(nil, "source ", atomic)})
		call(&b, 0, toyGet, "key")
		e.Apply(1e18, &b)
		if got := string(b.Calls[1].Answer); got != "x 0" || !b.Decisions[1].Changed {
			t.Errorf("atomic %t: %q, %+v", atomic, got, b.Decisions[1])
		}
	}
}

// TestFlushedSourcesGivePlaces fills all places, flushes, and learns a source again, and then other
// sources up to the bound of sources: all of them are known. At level 1 a source keeps its rank.
func TestFlushedSourcesGivePlaces(t *testing.T) {
	learnAt := func(e *engine.Engine, level uint8, text string) {
		b := engine.Batch{Level: level, Ops: []engine.Op{{Kind: engine.Learn, ID: []byte(text)}}}
		e.Apply(1e18, &b)
	}
	isKnown := func(e *engine.Engine, text string) bool { return e.Source(sha1.Sum([]byte(text))) != nil }
	for _, level := range []uint8{0, 1, 2} {
		e := engine.New(engine.Options{})
		for i := range engine.MaxSources {
			learnAt(e, level, fmt.Sprint("source ", i))
		}
		var flush engine.Batch
		flush.AddFlush()
		e.Apply(1e18, &flush)
		learnAt(e, level, "source 0")
		learnAt(e, level, "more")
		if got, want := isKnown(e, "source 0"), level != 1; got != want {
			t.Errorf("level %d: the first source, learned again, is known: %t, want %t", level, got, want)
		}
		if level == 1 {
			continue
		}
		restored := engine.New(engine.Options{})
		r := read(t, e.Freeze())
		r.all()
		r.n.Close()
		for _, block := range r.blocks {
			if err := restored.Load(block); err != nil {
				t.Fatal(err)
			}
		}
		for i := range engine.MaxSources - 2 {
			learnAt(e, level, fmt.Sprint("another ", i))
			learnAt(restored, level, fmt.Sprint("another ", i))
		}
		for _, text := range []string{"source 0", "more", "another 0", fmt.Sprint("another ", engine.MaxSources-3)} {
			if !isKnown(e, text) {
				t.Errorf("level %d: %q is unknown among as many as may be known", level, text)
			}
		}
		if got, want := restored.Digest(0), e.Digest(0); got != want {
			t.Errorf("level %d: after a snapshot the digest is %x, want %x", level, got, want)
		}
	}
	// A source that was learned again at level 1 stands before flushed sources, which go first.
	e := engine.New(engine.Options{})
	for i := range engine.MaxSources {
		learnAt(e, 1, fmt.Sprint("source ", i))
	}
	var flush engine.Batch
	flush.AddFlush()
	e.Apply(1e18, &flush)
	learnAt(e, 1, "source 0")
	learnAt(e, 2, "more")
	if !isKnown(e, "source 0") {
		t.Error("a known source was dropped before flushed sources")
	}
}
