package datatypes

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// TestChangesAreTold carries out random lines. Each key that a line changes is told, and no
// key that the line does not name. Nearly all commands that write must have changed a key.
func TestChangesAreTold(t *testing.T) {
	seed := testwait.Seed(t)
	r := lineSource{rand.New(rand.NewPCG(seed, 4)), false, ""}
	var (
		e       = engine.New(engine.Options{Shards: 4, Seed: [16]byte{1}, Commands: allCalls})
		notices engine.Notices
		told    [][]byte
		known   = map[string]int64{} // fingerprints of all keys that lines have named
		changed = map[string]bool{}  // names of commands
		now     = someTime
	)
	notices.HandleChanges(func(changes []engine.Change) {
		for _, c := range changes {
			told = append(told, c.Key)
		}
	})
	notices.Track(1)
	first := []string{"ZADD z 0 a 0 b 0 c", "ZREM z a", "ZREMRANGEBYLEX z - +", "SADD s a", "SMOVE s u a"} // rare changes
	for n := range 60_000 / testwait.Slowdown() {
		r.family = families[n/50%len(families)]
		now += engine.Instant(r.Int64N(50e6))
		b := lines(r, 1)
		c := &b.Calls[0]
		if n < len(first) {
			words := bytes.Fields([]byte(first[n]))
			command := Find(words[0])
			command.SetCall(c, words[1:])
		}
		at, _ := allCalls.Keys(c, nil)
		var keys [][]byte
		for _, i := range at {
			keys = append(keys, c.Args[i])
			known[string(c.Args[i])] = 0
		}
		for key := range known {
			known[key] = e.Fingerprint(now, 0, []byte(key))
		}
		told, b.Notices = nil, &notices
		e.Apply(now, b)
		notices.Send()
		name := table[c.Command].Name
		for key, before := range known {
			isTold := slices.ContainsFunc(told, func(k []byte) bool { return string(k) == key })
			if e.Fingerprint(now, 0, []byte(key)) == before {
				continue
			}
			if changed[name] = true; !isTold {
				t.Fatalf("seed %d: %s %.60q changes %q, and does not tell", seed, name, c.Args, key)
			}
		}
		for _, key := range told {
			if !slices.ContainsFunc(keys, func(k []byte) bool { return string(k) == string(key) }) {
				t.Fatalf("seed %d: %s %.60q tells %q", seed, name, c.Args, key)
			}
		}
	}
	var silent []string
	for i := range table {
		if c := &table[i]; c.Flags&spec.Write != 0 && !changed[c.Name] {
			silent = append(silent, c.Name)
		}
	}
	if len(silent) > 8 && testwait.Slowdown() == 1 {
		t.Errorf("seed %d: no line of %q has changed a key", seed, silent)
	}
}
