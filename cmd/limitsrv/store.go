package main

import (
	"context"
	"errors"

	"limitsrv/commands/backend"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/persist"
)

// storeState is a state that outlives the process in a data directory.
type storeState struct {
	*persist.Store
	*backend.SystemClock
	policy persist.Policy
}

func (n *node) openStoreState(limits engine.Options) (session.Config, error) {
	o, clock := n.options, backend.NewSystemClock(0)
	store, err := persist.Open(persist.Options{
		Dir:              o.Data,
		Policy:           o.Fsync,
		Engine:           limits,
		Clock:            clock,
		Logger:           n.log,
		SnapshotLogBytes: int64(o.SnapshotLogBytes),
	})
	if err != nil {
		return session.Config{}, err
	}
	tuneThreads()
	n.state = &storeState{store, clock, o.Fsync}
	return session.Config{Store: storeAdapter{store}}, nil
}

func (s *storeState) commit() func() { return s.Store.Commit }

func (s *storeState) fsync() string { return s.policy.String() }

func (*storeState) loads() bool { return true }

func (s *storeState) load(ctx context.Context) error {
	err := s.Recover(ctx)
	if err == nil {
		s.NotBefore(s.Engine().Now())
	}
	return err
}

func (*storeState) stepDown(context.Context) {}

func (s *storeState) close(ctx context.Context, p backend.Parting) error {
	return s.Store.Close(ctx, partings[p])
}

// partings maps the save modes of the commands to those of the store.
var partings = [...]persist.Parting{
	backend.SaveIfQuick: persist.SaveIfQuick, backend.SaveNever: persist.SaveNever, backend.SaveAlways: persist.SaveAlways,
}

// storeAdapter makes a persist.Store a backend.Store.
type storeAdapter struct{ *persist.Store }

func (k storeAdapter) Save(done func(error)) error {
	return redisError(k.Store.Save(func(_ persist.Info, err error) { done(err) }))
}

func (k storeAdapter) Backup(name string, done func(path string, err error)) error {
	return redisError(k.Store.Backup(name, done))
}

// redisError replaces err by Redis's error of the same meaning, if there is one.
func redisError(err error) error {
	if errors.Is(err, persist.ErrSaving) {
		return backend.ErrSaving
	}
	return err
}

func (k storeAdapter) Standing() backend.Standing {
	st := k.Store.Status()
	s := backend.Standing{
		Fsync:   st.Policy.String(),
		Loading: backend.LoadStanding{Since: st.LoadBegun, Keys: st.LoadedKeys, AllKeys: st.KeysToLoad, LogBytes: st.ReplayedBytes, AllLogBytes: st.LogToRead},
		Saved: backend.SavedStanding{
			Keys: st.LastSave.Keys, Bytes: st.SnapshotBytes, Changes: st.Changes, Took: st.LastSaveTook, Err: st.LastSaveErr, Count: st.Saves,
		},
		Log: backend.LogStanding{
			Bytes: st.LogBytes, BaseBytes: st.LogBaseBytes, Segments: st.LogSegments, Unsynced: st.Unsynced, Lag: st.UnsyncedFor, Syncing: st.Syncing, Delayed: st.Delayed,
		},
	}
	if st.LastSave.Generation > 0 {
		s.Saved.At = st.LastSave.Meta.Taken
	}
	if st.Saving {
		s.Saving = backend.SavingStanding{Since: st.SaveBegun, Keys: st.SavedKeys, AllKeys: st.KeysToSave, Bytes: st.SavedBytes}
	}
	if f := st.Failure; f != nil {
		s.Failed, s.FailedSince = f.Err, f.Since
	}
	return s
}
