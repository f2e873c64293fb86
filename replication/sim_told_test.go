package replication

import (
	"sync"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
)

// simTold are the keys that the clients of a front were told to have changed. Concurrency: any goroutine.
type simTold struct {
	mu   sync.Mutex
	keys map[string]bool
	all  bool
}

// changed notes keys. It is the function of engine.Notices.HandleChanges.
func (s *simTold) changed(changes []engine.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range changes {
		s.keys[string(changes[i].Key)] = true
		s.all = s.all || changes[i].All
	}
}

// forget forgets all keys.
func (s *simTold) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.all = map[string]bool{}, false
}

// has reports whether clients were told of a key.
func (s *simTold) has(key []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all || s.keys[string(key)]
}

// awaitTold waits until the clients of the front were told of the changes of an answered call, and checks
// that they were.
func (f *simFront) awaitTold(call *simtest.Call, b *engine.Batch) {
	done := make(chan error, 2)
	f.front.Fresh(func(err error) { done <- err })
	select {
	case err := <-done:
		if err != nil {
			return
		}
	case <-f.gone:
		return
	case <-time.After(simPatience):
		f.cluster.fault("after call %d the front was not fresh within %v", call.Number, simPatience)
		return
	}
	// A shadow request and a member of a denied group may seem to be allowed and take nothing.
	for i := 0; i < len(b.Ops); i += max(1, int(b.Ops[i].Group)) {
		op, d := &b.Ops[i], &b.Decisions[i]
		if op.Kind != engine.Take || op.Mode != 0 || op.Group > 0 || op.N == 0 || d.Status != engine.OK || d.Allowed == 0 {
			continue
		}
		if f.checked++; !f.told.has(op.Key) {
			f.cluster.fault("call %d took permits of %q, and the clients of the front were not told", call.Number, op.Key)
		}
	}
}
