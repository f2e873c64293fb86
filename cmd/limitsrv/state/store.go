package state

import (
	"context"
	"errors"
	"os"
	"runtime"

	"limitsrv/commands/backend"
	"limitsrv/engine"
	"limitsrv/persist"
)

// storeState is a state that outlives the process in a data directory.
type storeState struct {
	*persist.Store
	*backend.SystemClock
	policy persist.Policy
}

func openStore(c Config, limits engine.Options, notices *engine.Notices) (Opened, error) {
	clock := backend.NewSystemClock(0)
	store, err := persist.Open(persist.Options{
		Dir:              c.Data,
		Policy:           c.Fsync,
		Engine:           limits,
		Clock:            clock,
		Notices:          notices,
		Logger:           c.Log,
		SnapshotLogBytes: int64(c.SnapshotLogBytes),
	})
	if err != nil {
		return Opened{}, err
	}
	tuneThreads()
	return Opened{
		State: &storeState{store, clock, c.Fsync}, Notices: notices, Store: storeAdapter{store},
		Cluster: singleServer(c.Options),
	}, nil
}

// tuneThreads raises GOMAXPROCS above NumCPU, because a goroutine blocked in fsync
// holds its P until sysmon retakes it, and because the kernel preempts the snapshot
// writer sooner than the runtime, which lets a goroutine run for 10 ms. GOMAXPROCS of
// the environment takes precedence.
func tuneThreads() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(4, runtime.NumCPU()+2))
	}
}

// Fsync returns the policy of --fsync.
func (s *storeState) Fsync() string { return s.policy.String() }

// Loads returns true: Load recovers the state.
func (*storeState) Loads() bool { return true }

// Load recovers the state, and moves the clock to its time if that is later.
func (s *storeState) Load(ctx context.Context) error {
	err := s.Recover(ctx)
	if err == nil {
		s.NotBefore(s.Engine().Now())
	}
	return err
}

// StepDown does nothing, because no other node can decide.
func (*storeState) StepDown(context.Context) {}

// Close closes the log, after a snapshot if p asks for it.
func (s *storeState) Close(ctx context.Context, p backend.Parting) error {
	return s.Store.Close(ctx, partings[p])
}

// partings maps the save modes of the commands to the save modes of the store.
var partings = [...]persist.Parting{
	backend.SaveIfQuick: persist.SaveIfQuick, backend.SaveNever: persist.SaveNever, backend.SaveAlways: persist.SaveAlways,
}

// storeAdapter makes a persist.Store a backend.Store.
type storeAdapter struct{ *persist.Store }

// Save implements backend.Store.
func (k storeAdapter) Save(done func(error)) error {
	return redisError(k.Store.Save(func(_ persist.Info, err error) { done(err) }))
}

// Backup implements backend.Store.
func (k storeAdapter) Backup(name string, done func(path string, err error)) error {
	return redisError(k.Store.Backup(name, done))
}

// redisError replaces err by Redis' error of the same meaning, if Redis has it.
func redisError(err error) error {
	if errors.Is(err, persist.ErrSaving) {
		return backend.ErrSaving
	}
	return err
}
