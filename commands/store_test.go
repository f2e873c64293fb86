package commands

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/session"
	"limitsrv/internal/status"
)

// A fakeStore begins one operation at a time and completes it when end is called.
type fakeStore struct {
	standing status.Store
	begun    string // operation in progress
	done     func(error)
	shut     string // arguments of the shutdown
	rejected error  // returned instead of beginning an operation
}

func (f *fakeStore) begin(what string, done func(error)) error {
	switch {
	case f.rejected != nil:
		return f.rejected
	case f.begun != "":
		return backend.ErrSaving
	}
	f.begun, f.done = what, done
	return nil
}

func (f *fakeStore) Save(done func(error)) error { return f.begin("save", done) }

func (f *fakeStore) Backup(name string, done func(string, error)) error {
	return f.begin("backup "+name, func(err error) { done("/data/backups/"+name, err) })
}

func (f *fakeStore) Status() status.Store {
	st := f.standing
	if st.Fsync == "" {
		st.Fsync = "everysec"
	}
	return st
}

func (f *fakeStore) shutDown(p backend.Parting) { f.shut += fmt.Sprintf("save=%v ", p) }

// end completes the operation in progress.
func (f *fakeStore) end(err error) {
	done := f.done
	f.begun, f.done = "", nil
	done(err)
}

// A session with a SAVE in progress behaves as with a batch in flight: it accepts no
// command, is woken once, and answers in order. The store may complete at any moment.
func TestDeferredReplies(t *testing.T) {
	disk := errors.New("disk on fire")
	for _, tt := range []struct {
		name, line string
		err        error
		want       string
	}{
		{"answers when it is saved", "SAVE", nil, ":0|+OK|+PONG|"},
		{"reports why it is not", "SAVE", disk, ":0|-ERR disk on fire|+PONG|"},
		{"reports an error with a code", "SAVE", fmt.Errorf("save: %w", code("MISCONF")), ":0|-MISCONF it says so|+PONG|"},
		{"reports why there is no backup", "RL.BACKUP a-1", disk, ":0|-ERR disk on fire|+PONG|"},
		{"answers the path", "RL.BACKUP a-1", nil, ":0|$17|/data/backups/a-1|+PONG|"},
	} {
		for _, at := range []string{"once", "later", "elsewhere"} {
			var store backend.Store = &fakeStore{}
			if at == "once" {
				store = &promptStore{err: tt.err}
			}
			woken := make(chan struct{}, 9)
			s :=
				newTestHandlerWith(session.Config{Store: store}).NewSession(session.Client{Wake: func() { woken <- struct{}{} }})
			s.Do(words("DEL a"))
			if !s.Do(words(tt.line)) {
				t.Fatalf("%s: Do(%s) = false", tt.name, tt.line)
			}
			if at != "once" {
				if s.Do(words("PING")) || s.Flush() || s.Resume() {
					t.Errorf("%s, %s: the session continues while the reply is deferred", tt.name, at)
				}
				end := func() { store.(*fakeStore).end(tt.err) }
				if at == "elsewhere" {
					go end()
				} else {
					end()
				}
				<-woken
				s.Resume()
			}
			s.Do(words("PING"))
			s.Flush()
			if got := strings.ReplaceAll(string(s.Out), "\r\n", "|"); got != tt.want || len(woken) != 0 {
				t.Errorf("%s, %s: %s, and %d more wake-ups, want %s", tt.name, at, got, len(woken), tt.want)
			}
		}
	}
}

// A promptStore calls done before it returns.
type promptStore struct {
	backend.NoStore
	err error
}

func (p *promptStore) Save(done func(error)) error {
	done(p.err)
	return nil
}

func (p *promptStore) Backup(name string, done func(string, error)) error {
	done("/data/backups/"+name, p.err)
	return nil
}

// code is an error with that code.
type code string

func (c code) Error() string { return "it says so" }
func (c code) Code() string  { return string(c) }

// CLIENT REPLY applies to a deferred reply, and the reply is counted.
func TestDeferredReplyIsCounted(t *testing.T) {
	store := &fakeStore{}
	s := newTestHandlerWith(session.Config{Store: store}).NewSession(session.Client{Wake: func() {}})
	ask(s, "CONFIG SET slowlog-log-slower-than 0", "SLOWLOG RESET")
	for _, err := range []error{nil, errors.New("full")} {
		s.Do(words("CLIENT REPLY SKIP"))
		s.Do(words("SAVE"))
		store.end(err)
		s.Resume()
	}
	if len(s.Out) > 0 {
		t.Errorf("%q is answered after CLIENT REPLY SKIP", s.Out)
	}
	if got := s.Handler().Stats().Command(s.Handler().Registry().Find([]byte("save"), nil).ID); got.Calls != 2 ||
		got.Failed != 1 || got.Rejected != 0 {
		t.Errorf("SAVE counts %+v, want 2 calls, 1 failed", got)
	}
	if got := ask(s, "SLOWLOG GET 3"); strings.Count(got, "SAVE") != 2 {
		t.Errorf("the slow log has %s, want SAVE twice", got)
	}
}

// A client that closes while it waits is not woken.
func TestCloseWhileSaving(t *testing.T) {
	store := &fakeStore{}
	client := session.Client{Wake: func() { t.Error("Wake after Close") }}
	s := newTestHandlerWith(session.Config{Store: store}).NewSession(client)
	s.Do(words("SAVE"))
	s.Close()
	store.end(nil)
	if s.Do(words("PING")) {
		t.Error("Do = true after Close")
	}
}

func TestShutdownSaves(t *testing.T) {
	for _, tt := range []struct {
		line    string
		loading bool
		want    string
	}{
		{"SHUTDOWN", false, "save=quick "},
		{"SHUTDOWN SAVE", false, "save=yes "},
		{"SHUTDOWN NOSAVE NOW FORCE", false, "save=no "},
		{"SHUTDOWN", true, "save=no "},
		{"SHUTDOWN SAVE NOSAVE", false, ""},
	} {
		store := &fakeStore{}
		h := newTestHandlerWith(session.Config{Store: store, Shutdown: store.shutDown})
		h.SetLoading(tt.loading)
		ask(h.NewSession(session.Client{}), tt.line)
		if store.shut != tt.want {
			t.Errorf("%s, loading %v: asked for %q, want %q", tt.line, tt.loading, store.shut, tt.want)
		}
	}
}

func TestInfoPersistence(t *testing.T) {
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	for _, tt := range []struct {
		name     string
		standing *status.Store // nil: no store
		loading  bool
		want     string
	}{
		{"has no store", nil, false, "loading:0 rdb_bgsave_in_progress:0 rdb_last_bgsave_status:ok " +
			"rdb_last_bgsave_time_sec:-1 rdb_current_bgsave_time_sec:-1 aof_enabled:0 persist_mode:memory"},
		{"healthy", &status.Store{
			Fsync: "always", Saved: status.Snapshot{At: ago(time.Minute), Keys: 7, Bytes: 700, Changes: 3,
				Took: 1500 * time.Millisecond, Count: 2},
			Log: status.Log{Bytes: 1000, BaseBytes: 400, Segments: 2, Unsynced: 5, Lag: 250 * time.Millisecond, Delayed: 1},
		}, false, "rdb_changes_since_last_save:3 rdb_last_bgsave_time_sec:1 rdb_saves:2 aof_enabled:1 " +
			"aof_last_write_status:ok aof_current_size:1000 aof_base_size:400 " +
			"aof_pending_bio_fsync:0 aof_delayed_fsync:1 persist_mode:always persist_snapshot_age_seconds>=60 " +
			"persist_snapshot_bytes:700 persist_snapshot_keys:7 " +
			"persist_snapshot_seconds:1.500 persist_log_segments:2 persist_unsynced_decisions:5 " +
			"persist_unsynced_seconds:0.250 persist_error: persist_error_seconds:-1"},
		{"saves", &status.Store{Saving: status.Save{Since: ago(3 * time.Second), Keys: 5, AllKeys: 9, Bytes: 333}}, false,
			"current_save_keys_processed:5 current_save_keys_total:9 rdb_bgsave_in_progress:1 rdb_current_bgsave_time_sec>=3 " +
				"persist_snapshot_written_bytes:333"},
		{"has failed", &status.Store{
			Saved: status.Snapshot{Err: errors.New("no\r\nspace")}, Failed: errors.New("disk on fire"),
			FailedSince: ago(2 * time.Second), Log: status.Log{Syncing: true},
		}, false, "rdb_last_bgsave_status:err aof_last_write_status:err aof_pending_bio_fsync:1 " +
			"persist_snapshot_error:no_space persist_error:disk_on_fire persist_error_seconds>=2"},
		{"loads", &status.Store{
			Loading: status.Load{Since: ago(3 * time.Second), Keys: 50, AllKeys: 100, SnapshotBytes: 1000, AllLogBytes: 2000,
				Entries: 7, AllEntries: 40},
		}, true, "loading:1 loading_total_bytes:3000 loading_loaded_bytes:750 loading_loaded_perc:25.00 " +
			"loading_eta_seconds>=9 rdb_last_load_keys_loaded:50"},
		{"loads nothing", &status.Store{Loading: status.Load{Since: time.Now()}}, true,
			"loading_total_bytes:0 loading_loaded_perc:0.00 loading_eta_seconds:1"},
	} {
		var c session.Config
		if tt.standing != nil {
			c.Store = &fakeStore{standing: *tt.standing}
		}
		h := newTestHandlerWith(c)
		h.SetLoading(tt.loading)
		got := fields(infoText(h, words("persistence")))
		for _, want := range strings.Fields(tt.want) {
			if name, least, ok := strings.Cut(want, ">="); ok {
				atLeast, _ := strconv.Atoi(least)
				if n, err := strconv.Atoi(got[name]); err != nil || n < atLeast {
					t.Errorf("it %s: %s:%s, want %s or more", tt.name, name, got[name], least)
				}
				continue
			}
			name, value, _ := strings.Cut(want, ":")
			if value = strings.ReplaceAll(value, "_", " "); strings.ReplaceAll(got[name], "_", " ") != value {
				t.Errorf("it %s: %s:%s, want %s", tt.name, name, got[name], value)
			}
		}
	}
}

// Every field of Redis' INFO persistence is there, except those without a meaning here.
func TestInfoPersistenceLikeRedis(t *testing.T) {
	meaningless := map[string]string{"current_cow_": "nothing is forked", "current_fork_perc": "nothing is forked",
		"rdb_last_cow_size": "nothing is forked",
		"aof_last_cow_size": "nothing is forked", "module_fork_": "there are no modules"}
	h := newTestHandlerWith(session.Config{Store: &fakeStore{}})
	p := startRedis(t, "--appendonly", "yes").pair(h)
	got, want := p.ask("INFO persistence", "INFO persistence")
	unquote := func(reply string) map[string]string {
		text, err := strconv.Unquote(reply)
		if err != nil {
			t.Fatal(err)
		}
		return fields(text)
	}
	ours, theirs := unquote(got[0]), unquote(want[0])
	if len(theirs) < 20 {
		t.Fatalf("Redis has only %v", theirs)
	}
	for name := range theirs {
		_, told := ours[name]
		why := ""
		for prefix, because := range meaningless {
			if strings.HasPrefix(name, prefix) {
				why = because
			}
		}
		if told == (why != "") {
			t.Errorf("%s: present %v (%s)", name, told, why)
		}
	}
	for name := range ours {
		if _, known := theirs[name]; !known && !strings.HasPrefix(name, "persist_") {
			t.Errorf("%s is no field of Redis", name)
		}
	}
}

// While loading, commands that need keys are rejected, as are transactions with such
// commands.
func TestLoading(t *testing.T) {
	f := &fakeExec{}
	s := newTestSession(f, "", nil)
	const rejected = "-LOADING limitsrv is loading the dataset in memory|"
	ask(s, "MULTI", "DEL a")
	s.Handler().SetLoading(true)
	for _, tt := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"rejects EXEC of commands queued before", []string{"EXEC", "EXEC"},
			"-EXECABORT Transaction discarded because of: LOADING limitsrv is loading the dataset in memory|-ERR EXEC without " +
				"MULTI|"},
		{"rejects commands that need keys, and PING as Redis does", []string{"DEL a", "DBSIZE", "PING", "SAVE"},
			strings.Repeat(rejected, 4)},
		{"answers other commands", []string{"ECHO a", "SELECT 0"}, "$1|a|+OK|"},
		{"aborts a transaction with a rejected command", []string{"MULTI", "DEL a", "EXEC"},
			"+OK|" + rejected + "-EXECABORT Transaction discarded because of previous errors.|"},
		{"allows a transaction of other commands", []string{"MULTI", "ECHO a", "EXEC"}, "+OK|+QUEUED|*1|$1|a|"},
		{"reports an invalid argument first", []string{"DEL", "NOPE"},
			"-ERR wrong number of arguments for 'del' command|-ERR unknown command 'NOPE', with args beginning with: |"},
	} {
		if got := ask(s, tt.lines...); got != tt.want {
			t.Errorf("it %s\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
	if len(f.batches) > 0 {
		t.Errorf("batches %q while loading", f.batches)
	}
	s.Handler().SetLoading(false)
	if got := ask(s, "DEL a"); got != ":1|" {
		t.Errorf("after loading: %s", got)
	}
}

// The error of a rejected operation is reported to the client, because it is an
// administrator.
func TestStoreErrorsAreReported(t *testing.T) {
	rejected := errors.New("not now")
	c := newFakeCluster(status.Leader)
	c.rejected = rejected
	s := newTestHandlerWith(session.Config{Store: &fakeStore{rejected: rejected}, Cluster: c}).NewSession(session.Client{})
	for _, line := range []string{"SAVE", "BGSAVE", "RL.BACKUP a", "CLUSTER LEAVE", "CLUSTER FAILOVER"} {
		if got, want := ask(s, line), "-ERR not now|"; got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
}
