package engine_test

import (
	"testing"

	"limitsrv/engine"
	"limitsrv/engine/slots"
)

// Foreign finds a key of another slot in each kind of op and in calls, and nothing in ops without a key.
func TestForeign(t *testing.T) {
	own, foreign := []byte("foo"), []byte("bar")
	slot := slots.Of(own)
	for kind := engine.Kind(0); kind.String() != ""; kind++ {
		for _, key := range [][]byte{own, foreign} {
			e := engine.New(engine.Options{Commands: churn{}})
			var b engine.Batch
			keyed := true
			switch kind {
			case engine.Do:
				b.AddCall(0).Args = [][]byte{own, key}
			case engine.Flush, engine.Learn, engine.Needs:
				b.Ops, keyed = []engine.Op{{Kind: kind}}, false
			default:
				b.Ops = []engine.Op{{Kind: kind, Key: key}}
			}
			if _, any := e.Foreign(&b); any {
				t.Errorf("%v: a key is foreign to an engine that owns all slots", kind)
			}
			e.SetOwned(slots.Set{{First: slot, Last: slot}})
			want := keyed && string(key) == string(foreign)
			if got, any := e.Foreign(&b); any != want || any && got != slots.Of(foreign) {
				t.Errorf("%v of %s: slot %d is foreign %v, want %v", kind, key, got, any, want)
			}
			e.SetOwned(nil)
			if _, any := e.Foreign(&b); any {
				t.Errorf("%v: the bound remains", kind)
			}
		}
	}
}
