package datatypes

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"limitsrv/engine"
)

// Lists that commands lengthen or move are reported while clients wait, in order; replays and
// other commands report nothing.
func TestGrowth(t *testing.T) {
	e, n := engine.New(engine.Options{Commands: allCalls}), new(engine.Notices)
	var got []string
	n.HandleGrowth(func(lists []engine.Growth) {
		if lists == nil {
			got = append(got, "any")
		}
		for _, l := range lists {
			got = append(got, fmt.Sprintf("%d %s %d", l.DB, l.Key, l.Count))
		}
	})
	do := func(notices *engine.Notices, lines string) string {
		got = nil
		var b engine.Batch
		for line := range strings.SplitSeq(lines, "; ") {
			words := bytes.Fields([]byte(line))
			command := Find(words[0])
			command.SetCall(b.AddCall(3), words[1:])
		}
		b.Atomic, b.Notices = true, notices
		e.Apply(someTime, &b)
		notices.Send()
		return strings.Join(got, ", ")
	}
	if text := do(n, "RPUSH l a"); text != "" {
		t.Errorf("while nobody waits: %s", text)
	}
	n.Replaced()
	n.Watch(1)
	for _, tt := range []struct{ lines, want string }{
		{"RPUSH l b c", "3 l 3"},
		{"LPUSH m a; LPUSHX l a; LPUSHX none a", "3 m 1, 3 l 4"},
		{"LINSERT l BEFORE a x; LSET l 0 y; LREM l 0 y; LTRIM l 1 -1; LPOP l; BLPOP l 0; LLEN l", "3 l 5"},
		{"RPOPLPUSH l m; RPOPLPUSH m m", "3 m 2"},
		{"RENAME m o; RENAMENX o m; SET s v; RENAME s o; HSET h f v; RENAME h o; SADD set a b", "3 o 2, 3 m 2"},
		{"DEL m; RPUSH o a", ""},
	} {
		if text := do(n, tt.lines); text != tt.want {
			t.Errorf("%s: reported %q, want %q", tt.lines, text, tt.want)
		}
	}
	if text := do(nil, "RPUSH l a"); text != "" {
		t.Errorf("a replay: %s", text)
	}
	got = nil
	if n.Replaced(); fmt.Sprint(got) != "[any]" {
		t.Errorf("another state: %q", got)
	}
	n.Watch(-1)
	if text := do(n, "RPUSH l a"); text != "" {
		t.Errorf("when nobody waits any more: %s", text)
	}
}

// While nobody waits, a push and a pop allocate nothing.
func TestGrowthDoesNotAllocate(t *testing.T) {
	e, n := engine.New(engine.Options{Commands: allCalls}), new(engine.Notices)
	var b engine.Batch
	push := Find([]byte("RPUSH"))
	pop := Find([]byte("LPOP"))
	args := [][]byte{[]byte("l"), []byte("element")}
	step := func() {
		b.Reset()
		push.SetCall(b.AddCall(0), args)
		push.SetCall(b.AddCall(0), args)
		pop.SetCall(b.AddCall(0), args[:1])
		pop.SetCall(b.AddCall(0), args[:1])
		b.Notices = n
		e.Apply(someTime, &b)
		n.Send()
	}
	step()
	if allocs := testing.AllocsPerRun(1000, step); allocs > 0 {
		t.Errorf("%.1f allocations", allocs)
	}
}
