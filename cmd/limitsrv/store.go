package main

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"runtime"
	"time"

	"limitsrv/commands"
	"limitsrv/engine"
	"limitsrv/persist"
)

// keep makes the engine and the clock, and what keeps the state if there is a
// data directory. It is the part of a Config that depends on that.
func (n *node) keep() (commands.Config, error) {
	o := n.options
	limits := engine.Options{MaxMemory: int64(o.MaxMemory), Evict: o.OnFull == "evict"}
	if o.TestClock {
		clock := commands.NewTestClock(engine.Instant(time.Now().UnixNano()))
		n.clock = clock
		return commands.Config{Exec: n.inMemory(limits), TestClock: clock}, nil
	}
	n.clock = commands.NewSystemClock(0)
	if o.Data == "" {
		return commands.Config{Exec: n.inMemory(limits)}, nil
	}
	var err error
	n.store, err = persist.Open(persist.Options{
		Dir:              o.Data,
		Policy:           o.Fsync,
		Engine:           limits,
		Clock:            n.clock,
		Logger:           n.log,
		SnapshotLogBytes: int64(o.SnapshotLogBytes),
	})
	if err != nil {
		return commands.Config{}, err
	}
	n.engine = n.store.Engine()
	tuneThreads()
	return commands.Config{Exec: n.store, Store: keeper{n.store}}, nil
}

func (n *node) inMemory(limits engine.Options) *commands.Local {
	rand.Read(limits.Seed[:])
	n.engine = engine.New(limits)
	return &commands.Local{Engine: n.engine, Clock: n.clock}
}

// boundKeys bounds the memory of keys from now on.
func (n *node) boundKeys(maxMemory int64, evict bool) {
	if n.store != nil {
		n.store.SetBound(maxMemory, evict)
		return
	}
	n.engine.SetBound(maxMemory, evict)
}

// tuneThreads makes up for goroutines that wait for the disk, whose threads the
// runtime takes for busy at first, and for the one that writes a snapshot: who
// shares a core with it is for the system to say, which does so within less time
// than the 10 ms that the runtime leaves a goroutine.
func tuneThreads() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(4, runtime.NumCPU()+2))
	}
}

// commit is what the server calls before it writes replies.
func (n *node) commit() func() {
	if n.store == nil {
		return nil
	}
	return n.store.Commit
}

// fsync is when the log is synced, for people.
func (n *node) fsync() string {
	if n.store == nil {
		return "in memory only"
	}
	return n.options.Fsync.String()
}

// load recovers the state, if any is kept. Its end comes through the channel.
func (n *node) load(ctx context.Context) <-chan error {
	loaded := make(chan error, 1)
	if n.store == nil {
		loaded <- nil
		return loaded
	}
	n.handler.SetLoading(true)
	go func() {
		err := n.store.Recover(ctx)
		if err == nil {
			n.clock.(*commands.SystemClock).NotBefore(n.engine.Now())
		}
		loaded <- err
	}()
	return loaded
}

// end writes what is still to be written. A second signal ends that at once.
func (n *node) end(signals <-chan os.Signal, save bool) error {
	closed := make(chan error, 1)
	go func() { closed <- n.close(save) }()
	select {
	case err := <-closed:
		if err == nil {
			n.log.Info("stopped")
		}
		return err
	case <-signals:
		return errAgain
	}
}

// close ends the store, with a snapshot if save says so.
func (n *node) close(save bool) error {
	if n.store == nil {
		return nil
	}
	return n.store.Close(context.Background(), save)
}

// keeper is a persist.Store as the commands know it.
type keeper struct{ *persist.Store }

func (k keeper) Save(done func(error)) error {
	return told(k.Store.Save(func(_ persist.Info, err error) { done(err) }))
}

func (k keeper) Backup(name string, done func(path string, err error)) error {
	return told(k.Store.Backup(name, done))
}

// told is an error in the words of Redis where it has some.
func told(err error) error {
	if errors.Is(err, persist.ErrSaving) {
		return commands.ErrSaving
	}
	return err
}

func (k keeper) Standing() commands.Standing {
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
