package scripts

import (
	"fmt"
	"strings"
	"testing"

	"limitsrv/engine"
)

// TestKeepsCompiled: a source takes over the script that a command has compiled; scripts in turn
// that all fit into the memory for compiled scripts are compiled once; scripts that do not fit take
// steps again.
func TestKeepsCompiled(t *testing.T) {
	texts, n := make([]string, 20), newNode()
	for i := range texts {
		texts[i] = fmt.Sprintf("if ARGV[1] == 'x' then local a = %d ", i) + strings.Repeat("a = a + 1 ", 500) +
			fmt.Sprintf("end return %d", i)
		if _, wrong := Compile([]byte(texts[i])); wrong != "" {
			t.Fatal(wrong)
		}
		n.batch.Reset()
		n.batch.AddLearn([]byte(texts[i]))
		n.e.Apply(n.now, &n.batch)
		source := n.e.SourceNamed(hashOf(texts[i]))
		if steps := StepsTo(source); steps != 0 {
			t.Fatalf("script %d takes %d steps though it was compiled", i, steps)
		}
		Of(source)
	}
	taken := func() (steps int64) {
		for _, text := range texts {
			source := n.e.SourceNamed(hashOf(text))
			steps += StepsTo(source)
			Of(source)
		}
		return steps
	}
	if steps := taken(); steps != 0 {
		t.Errorf("scripts in turn take %d steps to compile, want 0", steps)
	}
	compiled.setMost(t, 10*Of(n.e.SourceNamed(hashOf(texts[0]))).size(0))
	for _, text := range texts {
		n.e.SourceNamed(hashOf(text)).Compiled.Store((*Script)(nil))
	}
	taken()
	if steps, all := taken(), CompileSteps(len(strings.Join(texts, ""))); steps != all {
		t.Errorf("twice as many scripts in turn as there is memory for take %d steps, want %d", steps, all)
	}
}

// TestNoSteps: a run without steps, from level 2 on, does not even compile its script.
func TestNoSteps(t *testing.T) {
	n := newNode()
	const text = "return 'a script that nothing compiles' -- "
	for level, want := range map[uint8]int64{1: 0, 2: CompileSteps(len(text))} {
		n.batch.Reset()
		n.batch.Level = level
		n.batch.AddLearn([]byte(text))
		SetRun(n.batch.AddCall(0), 0, Steps(0), hashOf(text), bytesOf([]string{"0"}))
		n.e.Apply(n.now, &n.batch)
		if got := respOf(&n.batch.Calls[0]); !strings.HasPrefix(got, "-ERR script takes more than 0 steps") {
			t.Errorf("level %d: %s", level, got)
		}
		if got := StepsTo(n.e.SourceNamed(hashOf(text))); got != want {
			t.Errorf("level %d: the script takes %d more steps to compile, want %d", level, got, want)
		}
		n.e.Apply(n.now, &engine.Batch{Ops: []engine.Op{{Kind: engine.Learn}}}) // drops all sources
	}
}
