package lua_test

import (
	"flag"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// TestSameAsRedis runs the scripts of testdata on both. A line of two dashes ends each.
func TestSameAsRedis(t *testing.T) {
	files, err := filepath.Glob("testdata/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts: %v", len(files), err)
	}
	redis, ours := startRedis(t), newOurs()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, script := range strings.Split(string(text), "\n--\n") {
			script = strings.TrimSpace(script)
			if got, want := ours.eval(script), redis.eval(script); got != want {
				t.Errorf("%s: %s\n got %.500s\nwant %.500s", file, script, got, want)
			}
		}
	}
}

var (
	programs = flag.Int("redis-programs", 3000,
		"number of generated programs to compare with redis-server; sources and scripts on data are twice as many")
	firstSeed = flag.Uint64("redis-seed", 0, "seed of the first of them; the others have the seeds behind it")
)

// seeds returns the seeds of n generated scripts.
func seeds(t *testing.T, n int) iter.Seq[uint64] {
	t.Logf("seeds %d to %d", *firstSeed, *firstSeed+uint64(n)-1)
	return func(yield func(uint64) bool) {
		for i := range uint64(n) {
			if !yield(*firstSeed + i) {
				return
			}
		}
	}
}

// TestGeneratedSameAsRedis runs generated programs on both. A failure is made shorter by
// leaving out segments.
func TestGeneratedSameAsRedis(t *testing.T) {
	testwait.Sequential(t)
	redis, ours := startRedis(t), newOurs()
	differ := func(segments []string) bool {
		got := ours.eval(join(segments))
		return got != limited && got != redis.eval(join(segments))
	}
	failures := 0
	for seed := range seeds(t, *programs) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
		segments := g.program()
		if !differ(segments) {
			continue
		}
		for i := 0; i < len(segments); {
			if fewer := slices.Delete(slices.Clone(segments), i, i+1); differ(fewer) {
				segments = fewer
			} else {
				i++
			}
		}
		script := join(segments)
		t.Errorf("seed %d:\n%s\n got %.1000s\nwant %.1000s", seed, strings.TrimPrefix(script, prelude), ours.eval(script),
			redis.eval(script))
		if failures++; failures == 8 {
			t.FailNow()
		}
	}
}

// TestGeneratedDataSameAsRedis runs cjson, struct and bit on random data on both.
func TestGeneratedDataSameAsRedis(t *testing.T) {
	testwait.Sequential(t)
	redis, ours := startRedis(t), newOurs()
	failures := 0
	for seed := range seeds(t, 2**programs) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 3))}
		script := g.data()
		got, want := ours.eval(script), redis.eval(script)
		if got != want {
			t.Errorf("seed %d: %s\n got %.500s\nwant %.500s", seed, script, got, want)
			if failures++; failures == 10 {
				t.FailNow()
			}
		}
	}
}

// TestGeneratedSourcesSameAsRedis compiles random tokens on both.
func TestGeneratedSourcesSameAsRedis(t *testing.T) {
	testwait.Sequential(t)
	redis, ours := startRedis(t), newOurs()
	failures := 0
	for seed := range seeds(t, 2**programs) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 2))}
		source := g.source()
		script := "local f, e = loadstring(" + luaString(source) + ") return {type(f), e}"
		if got, want := ours.eval(script), redis.eval(script); got != want {
			t.Errorf("seed %d: %q\n got %s\nwant %s", seed, source, got, want)
			if failures++; failures == 20 {
				t.FailNow()
			}
		}
	}
}
