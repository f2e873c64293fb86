package main

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

var fsyncs = []string{"always", "everysec", "no"}

// serveData starts a server on a data directory and waits until its state is loaded.
func serveData(t *testing.T, dir string, args ...string) (*running, *wire) {
	testwait.Long(t)
	t.Helper()
	r := serve(t, append([]string{"--data", dir}, args...)...)
	w := wired(t, r.address)
	w.loaded(t)
	until(t, "the end of loading is logged", func() bool { return strings.Contains(r.logged(), "state loaded") })
	return r, w
}

// endBy ends a server by a command.
func endBy(t *testing.T, r *running, w *wire, command string) {
	t.Helper()
	fmt.Fprintf(w, "%s\r\n", command)
	if code := r.exit(t); code != exitOK {
		t.Errorf("after %s: exit %d, want 0\n%s", command, code, r.logged())
	}
}

// algorithms are keys of each algorithm that are not refilled for years.
var algorithms = []struct {
	key    string
	before []string // commands before the restart
	next   []string // commands after the restart
	want   []string // their replies without times
}{
	{"bucket", []string{"RL.TOKEN bucket 10 1/3650d 3"},
		[]string{"RL.TOKEN bucket 10 1/3650d 7", "RL.TOKEN bucket 10 1/3650d"}, []string{"[1 10 0]", "[0 10 0]"}},
	{"queue", []string{"RL.LEAKY queue 10 1/3650d 3"},
		[]string{"RL.LEAKY queue 10 1/3650d 7", "RL.LEAKY queue 10 1/3650d"}, []string{"[1 10 0]", "[0 10 0]"}},
	{"window", []string{"RL.FIXED window 10 3650d 3"},
		[]string{"RL.FIXED window 10 3650d 8", "RL.FIXED window 10 3650d 7"}, []string{"[0 10 7]", "[1 10 0]"}},
	{"slides", []string{"RL.SLIDE slides 10 3650d 3"},
		[]string{"RL.SLIDE slides 10 3650d 8", "RL.SLIDE slides 10 3650d 7"}, []string{"[0 10 7]", "[1 10 0]"}},
	{"log", []string{"RL.LOG log 10 3650d 2", "RL.LOG log 10 3650d"},
		[]string{"RL.LOG log 10 3650d 8", "RL.LOG log 10 3650d 7"}, []string{"[0 10 7]", "[1 10 0]"}},
	{"places", []string{"RL.ACQUIRE places 3 30d a", "RL.ACQUIRE places 3 30d b", "RL.RELEASE places a"},
		[]string{"RL.ACQUIRE places 3 30d b", "RL.ACQUIRE places 3 30d c", "RL.ACQUIRE places 3 30d d",
			"RL.ACQUIRE places 3 30d e"},
		[]string{"[1 3 2]", "[1 3 1]", "[1 3 0]", "[0 3 0]"}},
	{"debt", []string{"RL.TOKEN debt 10 1/3650d 10", "RL.CHARGE debt 5"},
		[]string{"RL.TOKEN debt 10 1/3650d", "RL.REFUND debt 7", "RL.TOKEN debt 10 1/3650d 3", "RL.TOKEN debt 10 1/3650d 2"},
		[]string{"[0 10 0]", "[1 10 2]", "[0 10 2]", "[1 10 0]"}},
	{"one", []string{"RL.ALL TOKEN one 10 1/3650d 4 LOG other 5 3650d 2",
		"RL.ALL TOKEN one 10 1/3650d 4 LOG other 5 3650d 4"},
		[]string{"RL.TOKEN one 10 1/3650d", "RL.LOG other 5 3650d"}, []string{"[1 10 5]", "[1 5 2]"}},
	{"forgotten", []string{"RL.TOKEN forgotten 10 1/3650d 10", "RL.RESET forgotten"},
		[]string{"RL.TOKEN forgotten 10 1/3650d 2"}, []string{"[1 10 8]"}},
}

// peekAll returns the replies of RL.PEEK for all keys, without times.
func peekAll(t *testing.T, w *wire) (all []string) {
	t.Helper()
	for _, a := range algorithms {
		text := "none"
		if list, ok := w.do(t, "RL.PEEK "+a.key).([]any); ok {
			text = fmt.Sprint(list[:3])
		}
		all = append(all, a.key+" "+text)
	}
	return all
}

// prepare creates state of all algorithms.
func prepare(t *testing.T, w *wire) {
	t.Helper()
	for _, a := range algorithms {
		for _, command := range a.before {
			if reply := w.do(t, command); isError(reply, "ERR") {
				t.Fatalf("%s: %v", command, reply)
			}
		}
	}
}

// checkDecisions checks the decisions of all algorithms after prepare.
func checkDecisions(t *testing.T, w *wire) {
	t.Helper()
	for _, a := range algorithms {
		for i, command := range a.next {
			if list, ok := w.do(t, command).([]any); !ok || fmt.Sprint(list[:3]) != a.want[i] {
				t.Errorf("reply to %s = %v, want %s", command, list, a.want[i])
			}
		}
	}
}

func TestRestartKeepsEveryAlgorithm(t *testing.T) {
	for _, fsync := range fsyncs {
		for _, way := range []string{"SHUTDOWN SAVE", "SHUTDOWN NOSAVE", "a kill"} {
			t.Run(fsync+", "+way, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "data")
				r, w := serveData(t, dir, "--fsync", fsync)
				prepare(t, w)
				if reply := w.do(t, "RL.ACQUIRE short 1 50ms a"); !strings.HasPrefix(fmt.Sprint(reply), "[1 1 0") {
					t.Errorf("reply to a short lease = %v", reply)
				}
				before := peekAll(t, w)
				saved := way == "SHUTDOWN SAVE"
				if way == "a kill" {
					r.Process.Signal(syscall.SIGKILL)
					<-r.ended
				} else {
					endBy(t, r, w, way)
				}
				time.Sleep(50 * time.Millisecond) // the lease expires while no server runs
				if files, _ := filepath.Glob(filepath.Join(dir, "snapshots", "SNAPSHOT-*")); saved != (len(files) == 1) {
					t.Errorf("the snapshots are %q, want one: %v", files, saved)
				}
				r, w = serveData(t, dir, "--fsync", fsync)
				if after := peekAll(t, w); !reflect.DeepEqual(after, before) {
					t.Errorf("the keys are\n%q, want\n%q", after, before)
				}
				r.log.Await(t, "state loaded")
				if entries := strings.Contains(r.logged(), "log_entries=0 "); entries != saved {
					t.Errorf("entries of the log were read: %v, want %v\n%s", entries, saved, r.logged())
				}
				if reply := w.do(t, "RL.ACQUIRE short 1 1h b"); !strings.HasPrefix(fmt.Sprint(reply), "[1 1 0") {
					t.Errorf("reply to an acquire after the lease expired = %v", reply)
				}
				checkDecisions(t, w)
				endBy(t, r, w, "SHUTDOWN")
			})
		}
	}
}

const (
	// loadKeys is the number of keys of TestLoadingIsAnswered, each with keyUsed
	// permits used. There are fewer if they can't be created within loadTime, for
	// example under the race detector.
	loadKeys = 300_000
	loadTime = 2 * time.Second
)

func keyUsed(i int) int64 { return int64(1 + i%7) }

func TestLoadingIsAnswered(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	r, w := serveData(t, dir, "--fsync", "no")
	const step = 10_000
	keys := 0
	for begin := time.Now(); keys < loadKeys && time.Since(begin) < loadTime; keys += step {
		commands := make([]string, step)
		for i := range commands {
			commands[i] = fmt.Sprintf("RL.FIXED k%d 9 3650d %d", keys+i, keyUsed(keys+i))
		}
		if _, err := w.all(commands...); err != nil {
			t.Fatal(err)
		}
	}
	endBy(t, r, w, "SHUTDOWN NOSAVE")
	r = serve(t, "--data", dir, "--fsync", "no")
	w = wired(t, r.address)
	loading, fields := 0, ""
	for i := 0; ; i = (i + 7919) % keys {
		reply := w.do(t, fmt.Sprintf("RL.PEEK k%d", i))
		if isError(reply, "LOADING") {
			loading++
			if fields == "" {
				fields = w.do(t, "INFO persistence").(string)
			}
			time.Sleep(time.Millisecond)
			continue
		}
		if got, err := used(reply, 9); err != nil || got != keyUsed(i) {
			t.Errorf("during loading, key %d: %v, %d used, %v, want %d or LOADING", i, reply, got, err, keyUsed(i))
		}
		break
	}
	if loading > 1 && !strings.Contains(fields, "loading:1") {
		t.Errorf("during loading, INFO:\n%s", fields)
	}
	t.Logf("%d keys, %d times LOADING", keys, loading)
	for i := range keys / 100 {
		if got, err := used(w.do(t, fmt.Sprintf("RL.PEEK k%d", 100*i)), 9); err != nil || got != keyUsed(100*i) {
			t.Fatalf("key %d has %d used, %v, want %d", 100*i, got, err, keyUsed(100*i))
		}
	}
}

func TestDataDirectoryErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	_, _ = serveData(t, dir)
	newer := t.TempDir()
	body := "limitsrv data directory, format 99\n{}\n"
	body += fmt.Sprintf("crc32c %08x\n", crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli)))
	foreign := t.TempDir()
	for path, text := range map[string]string{filepath.Join(newer, "IDENTITY"): body,
		filepath.Join(foreign, "photo.jpg"): "x"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"a server runs on it", []string{"--data", dir, "--lock-wait", "0"}, exitFailure, []string{"in use", dir}},
		{"a newer server wrote it", []string{"--data", newer}, exitFailure, []string{"format 99", "IDENTITY", "newer"}},
		{"it has foreign files", []string{"--data", foreign}, exitFailure, []string{"photo.jpg", "use an empty one"}},
		{"it is a file", []string{"--data", file}, exitFailure, []string{file}},
		{"with a test clock", []string{"--data", t.TempDir(), "--test-clock"}, exitUsage, []string{"--test-clock", "--data"}},
		{"an unknown policy", []string{"--data", t.TempDir(), "--fsync", "sometimes"}, exitUsage,
			[]string{"--fsync", "sometimes", "everysec"}},
		{"the log is too short", []string{"--data", t.TempDir(), "--snapshot-log-bytes", "1kb"}, exitUsage,
			[]string{"--snapshot-log-bytes"}},
	} {
		out, log, code := runs(t, limitsrv(nil, append(tt.args, "--listen", freeAddress(t))...))
		if code != tt.code || out != "" || strings.Count(log, "\n") != 1 {
			t.Errorf("%s: exit %d, stdout %q, stderr %q, want %d and one line", tt.name, code, out, log, tt.code)
		}
		for _, want := range tt.want {
			if !strings.Contains(log, want) {
				t.Errorf("%s: stderr %q, want %q in it", tt.name, log, want)
			}
		}
	}
}

// damageLog changes a byte in the middle of the written part of a log.
func damageLog(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "log-*", "*.wal"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the log is %q, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(bytes.TrimRight(data, "\x00"))/2] ^= 1
	if err := os.WriteFile(files[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// contents returns the files below a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCheckAndRepair(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	r, w := serveData(t, dir)
	prepare(t, w)
	check := func(name, stdin string, code int, want ...string) {
		t.Helper()
		command := limitsrv(nil, append([]string{"check"}, strings.Fields(name)...)...)
		command.Stdin = strings.NewReader(stdin)
		out, log, got := runs(t, command)
		if got != code {
			t.Errorf("check %s: exit %d, want %d\n%s%s", name, got, code, out, log)
		}
		for _, want := range want {
			if !strings.Contains(out+log, want) {
				t.Errorf("check %s: no %q in\n%s%s", name, want, out, log)
			}
		}
	}
	check(dir, "", exitFailure, "in use")
	endBy(t, r, w, "SHUTDOWN NOSAVE")
	check(dir, "", exitOK, "IDENTITY: good", "snapshots: none", "log-000001", "entries 1 to")
	check("--repair "+dir, "", exitOK)
	check("", "", exitUsage, "<dir>")
	check(t.TempDir(), "", exitFailure, "empty")
	check(filepath.Join(dir, "none"), "", exitFailure, "none")
	damageLog(t, dir)
	before := contents(t, dir)
	check(dir, "", exitFailure, "is damaged", ".wal", "check --repair "+dir)
	_, log, code := runs(t, limitsrv(nil, "--data", dir, "--listen", freeAddress(t)))
	if code != exitFailure || !strings.Contains(log, "damaged") || !strings.Contains(log, "limitsrv check") {
		t.Errorf("a damaged directory: exit %d, %s, want 1 and advice", code, log)
	}
	check("--repair "+dir, "n\n", exitFailure, "Lost: ", "[y/N]", "answered no")
	check("--repair "+dir, "", exitFailure, "answered no") // empty standard input
	if after := contents(t, dir); !reflect.DeepEqual(after, before) {
		t.Error("the directory was changed without confirmation")
	}
	check("--repair "+dir, "y\n", exitOK, "Lost: ", "[y/N]")
	check(dir, "", exitOK)
	r, w = serveData(t, dir)
	if reply := w.do(t, "RL.TOKEN bucket 10 1/3650d 7"); fmt.Sprint(reply.([]any)[:3]) != "[1 10 0]" {
		t.Errorf("a key before the damage: %v, want its state", reply)
	}
	endBy(t, r, w, "SHUTDOWN SAVE")
	check(dir, "", exitOK, "snapshot 1: good")
	check("--repair --yes "+dir, "", exitOK)
}

func TestBackupIsIndependent(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "other")
	_, w := serveData(t, dir)
	prepare(t, w)
	path, ok := w.do(t, "RL.BACKUP first").(string)
	if !ok || path != filepath.Join(dir, "backups", "first") {
		t.Fatalf("reply to RL.BACKUP = %q", path)
	}
	for _, tt := range []struct{ command, want string }{
		{"RL.BACKUP first", "already"},
		{"RL.BACKUP ../first", "name"},
		{"RL.BACKUP " + strings.Repeat("x", 65), "name"},
	} {
		if reply := w.do(t, tt.command); !isError(reply, "ERR") || !strings.Contains(fmt.Sprint(reply), tt.want) {
			t.Errorf("reply to %s = %v, want an error with %q", tt.command, reply, tt.want)
		}
	}
	before := peekAll(t, w)
	if err := os.CopyFS(other, os.DirFS(path)); err != nil {
		t.Fatal(err)
	}
	checkDecisions(t, w) // these decisions are not in the backup
	if out, log, code := runs(t, limitsrv(nil, "check", other)); code != exitOK {
		t.Errorf("check of a backup: exit %d\n%s%s", code, out, log)
	}
	copied, v := serveData(t, other)
	if after := peekAll(t, v); !reflect.DeepEqual(after, before) {
		t.Errorf("the keys in the backup are\n%q, want\n%q", after, before)
	}
	checkDecisions(t, v)
	endBy(t, copied, v, "SHUTDOWN NOSAVE")
	_, v = serveData(t, other)
	if one, two := peekAll(t, v), peekAll(t, w); !reflect.DeepEqual(one, two) {
		t.Errorf("the same decisions result in\n%q in the backup, and\n%q", one, two)
	}
}

func TestInfoOfTheStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	r, w := serveData(t, dir)
	fields := func(name string, want map[string]string) {
		t.Helper()
		for field, want := range want {
			if got := w.info(t, field); got != want {
				t.Errorf("%s: %s is %q, want %q", name, field, got, want)
			}
		}
	}
	fields("at first", map[string]string{
		"loading": "0", "aof_enabled": "1", "persist_mode": "everysec", "aof_last_write_status": "ok",
		"rdb_last_bgsave_status": "ok",
		"rdb_bgsave_in_progress": "0", "rdb_saves": "0", "rdb_changes_since_last_save": "0", "persist_error": "",
		"persist_snapshot_keys": "0",
	})
	for i := range 100 {
		w.do(t, fmt.Sprintf("RL.FIXED k%d 5 3650d", i))
	}
	fields("after decisions", map[string]string{"rdb_changes_since_last_save": "100", "rdb_saves": "0"})
	if got := w.info(t, "aof_current_size"); got == "0" {
		t.Errorf("after decisions: aof_current_size is %s", got)
	}
	if got := w.do(t, "SAVE"); got != "OK" {
		t.Errorf("reply to SAVE = %v", got)
	}
	fields("after SAVE", map[string]string{
		"rdb_changes_since_last_save": "0", "rdb_saves": "1", "persist_snapshot_keys": "100", "persist_snapshot_error": "",
		"rdb_bgsave_in_progress": "0",
	})
	until(t, "all is synced", func() bool { return w.info(t, "persist_unsynced_decisions") == "0" })
	endBy(t, r, w, "SHUTDOWN")
	_, w = serveData(t, dir)
	fields("after a restart", map[string]string{
		"rdb_saves": "0", "rdb_last_load_keys_loaded": "100", "persist_snapshot_keys": "100",
		"rdb_changes_since_last_save": "0",
	})
}

// SAVE and decisions run concurrently.
func TestDecisionsDuringSave(t *testing.T) {
	_, w := serveData(t, filepath.Join(t.TempDir(), "data"))
	var (
		saves  atomic.Int64
		failed atomic.Pointer[string]
		done   = make(chan struct{})
		saver  = wired(t, w.RemoteAddr().String())
	)
	go func() {
		defer close(done)
		for range 10 {
			replies, err := saver.all("SAVE")
			if err != nil || replies[0] != "OK" {
				text := fmt.Sprint(replies, err)
				failed.Store(&text)
				return
			}
			saves.Add(1)
		}
	}()
	var taken int64
	for over := false; !over; taken++ {
		w.do(t, "RL.FIXED k 1000000000 3650d")
		select {
		case <-done:
			over = true
		default:
		}
	}
	if text := failed.Load(); text != nil {
		t.Errorf("reply to SAVE = %s", *text)
	}
	if got, err := used(w.do(t, "RL.PEEK k"), 1_000_000_000); err != nil || got != taken {
		t.Errorf("during %d snapshots %d permits were used, %v, want %d", saves.Load(), got, err, taken)
	}
}
