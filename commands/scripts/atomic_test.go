package scripts

import (
	"fmt"
	"strings"
	"testing"

	"limitsrv/commands/datatypes"
	"limitsrv/commands/spec"
	"limitsrv/engine"
)

// lines fills the batch with command lines.
func (n *node) lines(level uint8, lines ...string) {
	n.batch.Reset()
	n.batch.Level = level
	for _, line := range lines {
		words := strings.Fields(line)
		command := datatypes.Find([]byte(words[0]))
		if command == nil {
			panic(line)
		}
		command.SetCall(n.batch.AddCall(0), bytesOf(words[1:]))
	}
}

// TestAtomicWork: from level 2 on the calls of an atomic batch that start beyond MaxAtomicWork change
// nothing. They are the same calls, also if other calls only read between them. Other batches have no
// bound.
func TestAtomicWork(t *testing.T) {
	grow := []string{"SETRANGE a 16777215 x", "DEL a"} // work of 1 << 20
	const fit = engine.MaxAtomicWork >> 20
	for _, tt := range []struct {
		name   string
		level  uint8
		atomic bool
		read   string // between the calls that write
		want   int    // strings that grow
	}{
		{"atomic", 2, true, "", fit},
		{"atomic, with calls that read", 2, true, "STRLEN b", fit},
		{"atomic, with calls that read much", 2, true, "BITCOUNT b", fit},
		{"at level 1", 1, true, "", fit + 3},
		{"a pipeline", 2, false, "", fit + 3},
	} {
		n := newNode()
		n.lines(2, "SETRANGE b 16777215 x")
		n.e.Apply(n.now, &n.batch)
		var lines []string
		for range fit + 3 {
			lines = append(lines, grow...)
			if tt.read != "" {
				lines = append(lines, tt.read)
			}
		}
		n.lines(tt.level, lines...)
		n.batch.Atomic = tt.atomic
		n.e.Apply(n.now, &n.batch)
		grown, refused := 0, 0
		for i := range n.batch.Calls {
			switch got := respOf(&n.batch.Calls[i]); {
			case got == ":16777216|" && strings.HasPrefix(lines[i], "SETRANGE"):
				grown++
			case strings.HasPrefix(got, "-ERR the commands of a transaction visit at most"):
				refused++
				if n.batch.Decisions[i].Changed {
					t.Errorf("%s: %s is refused, and changes something", tt.name, lines[i])
				}
			}
		}
		if grown != tt.want || refused > 0 == (tt.want > fit) {
			t.Errorf("%s: %d strings grow, want %d; %d calls are refused", tt.name, grown, tt.want, refused)
		}
	}
}

// TestAtomicLooks: calls that only read have the bound too.
func TestAtomicLooks(t *testing.T) {
	n := newNode()
	n.lines(2, "SETRANGE b 16777215 x")
	n.e.Apply(n.now, &n.batch)
	var lines []string
	for range 200 {
		lines = append(lines, "BITCOUNT b")
	}
	n.lines(2, lines...)
	n.batch.Atomic = true
	n.e.Look(n.now, &n.batch)
	if first, last := respOf(&n.batch.Calls[0]),
		respOf(&n.batch.Calls[len(lines)-1]); first != ":4|" || !strings.HasPrefix(last, "-ERR the commands") {
		t.Errorf("the first of %d answers is %q, the last %q", len(lines), first, last)
	}
}

// TestReplaces: a command Replaces if it makes a string shorter, removes it, or sets another
// value.
func TestReplaces(t *testing.T) {
	const long = "SETRANGE k 200 x"
	cases := allCostCases()
	for number := range datatypes.All() {
		c := &datatypes.All()[number]
		if c.Flags&spec.Write == 0 || c.Name == "" {
			continue
		}
		more := []string{c.Name + " k", c.Name + " k -1", c.Name + " k 1", c.Name + " k 1 1", c.Name + " k PXAT 1",
			c.Name + " k s s", c.Name + " k l 0 -1", c.Name + " k x"}
		for _, line := range append(more, cases[c.Name]...) {
			last := line[strings.LastIndexByte(line, ';')+1:]
			for _, key := range []string{"k", "k1", "k2", "k3"} {
				if !strings.Contains(last+" ", " "+key+" ") {
					continue
				}
				n := newCostNode(64)
				if strings.Contains(line, ";") {
					n.do(strings.ReplaceAll(line[:strings.LastIndexByte(line, ';')], ";DEL k", ";DEL none"), 1)
				}
				n.do("SET "+key+" x", 1)
				n.do(strings.Replace(long, "k", key, 1), 1)
				n.do(last, 1)
				left := n.run("return redis.pcall('STRLEN', KEYS[1])", "1", key)
				var length int
				if fmt.Sscanf(left, ":%d", &length); length < 201 && c.Flags&spec.Replaces == 0 {
					t.Errorf("%s: %s has %q left of a string of 201 bytes, and the command does not say that it replaces", last, key,
						left)
				}
			}
		}
	}
}
