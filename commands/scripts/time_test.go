package scripts

import (
	"strings"
	"testing"

	"limitsrv/engine/answer"
)

// TestTimesDiffer runs a sliding log many times in the same batch, and in more batches at
// the same time: each run is told a time of its own, so it counts.
func TestTimesDiffer(t *testing.T) {
	const text = `
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], 'NX', time[1] * 1000000 + time[2], time[1] .. '.' .. time[2])
return redis.call('ZCARD', KEYS[1])`
	s, wrong := Compile([]byte(text))
	if wrong != "" {
		t.Fatal(wrong)
	}
	n := newNode()
	for batch := range 3 {
		n.batch.Reset()
		for range 40 {
			n.add(s.Modes(), DefaultSteps, text, "1", "log")
		}
		n.e.SetMoments(n.now, &n.batch)
		n.e.Apply(n.now, &n.batch)
		for i := range n.batch.Calls {
			v, _, _ := answer.Next(n.batch.Calls[i].Answer)
			if want := int64(40*batch + i + 1); v.Int != want {
				t.Fatalf("run %d of batch %d counts %d, want %d", i, batch, v.Int, want)
			}
		}
	}
	if got := n.run("return redis.call('TIME')[2]", "0"); !strings.HasPrefix(got, "$1|0|") {
		t.Errorf("a run without a moment is told %q, want the time of its batch", got)
	}
}
