package main

import (
	"context"
	"errors"

	"limitsrv/commands"
	"limitsrv/engine"
	"limitsrv/persist"
)

// storeState is a state that outlives the process in a data directory.
type storeState struct {
	*persist.Store
	*commands.SystemClock
	policy persist.Policy
}

func (n *node) openStoreState(limits engine.Options) (commands.Config, error) {
	o, clock := n.options, commands.NewSystemClock(0)
	store, err := persist.Open(persist.Options{
		Dir:              o.Data,
		Policy:           o.Fsync,
		Engine:           limits,
		Clock:            clock,
		Logger:           n.log,
		SnapshotLogBytes: int64(o.SnapshotLogBytes),
	})
	if err != nil {
		return commands.Config{}, err
	}
	tuneThreads()
	n.state = &storeState{store, clock, o.Fsync}
	return commands.Config{Store: storeAdapter{store}}, nil
}

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

func (s *storeState) close(ctx context.Context, p commands.Parting) error {
	return s.Store.Close(ctx, partings[p])
}

// partings maps the save modes of the commands to those of the store.
var partings = [...]persist.Parting{
	commands.SaveIfQuick: persist.SaveIfQuick, commands.SaveNever: persist.SaveNever, commands.SaveAlways: persist.SaveAlways,
}

// storeAdapter makes a persist.Store a commands.Store.
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
		return commands.ErrSaving
	}
	return err
}

func (k storeAdapter) Standing() commands.Standing {
	st := k.Store.Status()
	s := commands.Standing{
		Fsync:   st.Policy.String(),
		Loading: commands.LoadStanding{Since: st.LoadBegun, Keys: st.LoadedKeys, AllKeys: st.KeysToLoad, LogBytes: st.ReplayedBytes, AllLogBytes: st.LogToRead},
		Saved: commands.SavedStanding{
			Keys: st.LastSave.Keys, Bytes: st.SnapshotBytes, Changes: st.Changes, Took: st.LastSaveTook, Err: st.LastSaveErr, Count: st.Saves,
		},
		Log: commands.LogStanding{
			Bytes: st.LogBytes, BaseBytes: st.LogBaseBytes, Segments: st.LogSegments, Unsynced: st.Unsynced, Lag: st.UnsyncedFor, Syncing: st.Syncing, Delayed: st.Delayed,
		},
	}
	if st.LastSave.Generation > 0 {
		s.Saved.At = st.LastSave.Meta.Taken
	}
	if st.Saving {
		s.Saving = commands.SavingStanding{Since: st.SaveBegun, Keys: st.SavedKeys, AllKeys: st.KeysToSave, Bytes: st.SavedBytes}
	}
	if f := st.Failure; f != nil {
		s.Failed, s.FailedSince = f.Err, f.Since
	}
	return s
}
