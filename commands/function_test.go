package commands

import (
	"testing"

	"limitsrv/commands/backend"
	"limitsrv/commands/calls"
	"limitsrv/engine"
)

// TestShardsOfFunctions: a run enters the shards of its keys only if the function that the node
// knows cannot be old.
func TestShardsOfFunctions(t *testing.T) {
	e := engine.New(engine.Options{Commands: calls.Commands})
	load := words("FUNCTION LOAD")
	load = append(load,
		[]byte("#!lua name=l\nredis.register_function('f', function(keys) return redis.call('INCR', keys[1]) end)"))
	line := words("FCALL f 1 k")
	for _, tt := range []struct {
		name          string
		loaded, leads bool
		before        [][]byte // in the same batch
		all           bool
	}{
		{"not loaded", false, true, nil, true},
		{"loaded", true, true, nil, false},
		{"on a follower", true, false, nil, true},
		{"behind a library", true, true, load, true},
		{"behind another run", true, true, line, false},
	} {
		h := &scriptHost{engine: func() *engine.Engine { return e }, leads: func() bool { return tt.leads },
			budget: newScriptBudget(1000, backend.NewTestClock(testStart))}
		var b engine.Batch
		if tt.loaded {
			if err := h.opFunctionLoad(&b, load); err != nil {
				t.Fatal(err)
			}
			e.Apply(testStart, &b)
			b.Reset()
		}
		switch {
		case tt.before == nil:
		case string(tt.before[0]) == "FCALL":
			_ = h.opFunction(0)(&b, line)
		default:
			_ = h.opFunctionLoad(&b, load)
		}
		if err := h.opFunction(0)(&b, line); err != nil {
			t.Fatal(err)
		}
		if _, all := calls.Commands.Keys(&b.Calls[len(b.Calls)-1], nil); all != tt.all {
			t.Errorf("%s: all shards: %t, want %t", tt.name, all, tt.all)
		}
	}
}
