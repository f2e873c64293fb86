package commands

import (
	runtimedebug "runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/session"
	"limitsrv/engine"
)

// fields returns the lines of INFO by name.
func fields(text string) map[string]string {
	all := make(map[string]string)
	for _, line := range strings.Split(text, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			all[name] = value
		}
	}
	return all
}

func TestInfoFields(t *testing.T) {
	began := time.Now()
	h := newTestHandler("")
	s := h.NewSession(session.Client{})
	h.NewSession(session.Client{}).Close()
	ask(s, "RL.TOKEN a 1 1", "RL.TOKEN a 1 1", "RL.SLIDE b 5 1m", "RL.LOG a 1 1m", "DEL", "NOPE", "EXISTS a nope",
		"MULTI", "RL.PEEK a", "EXEC", "RL.TOKEN a 1 1 SHADOW")
	got := fields(infoText(h, [][]byte{[]byte("everything")}))
	if up, err := strconv.Atoi(got["uptime_in_seconds"]); err != nil || up < 0 || up > int(time.Since(began).Seconds()) {
		t.Errorf("uptime_in_seconds:%s, %v after the start", got["uptime_in_seconds"], time.Since(began))
	}
	for name, want := range map[string]string{
		"redis_version": redisVersion, "limitsrv_version": "0.0.0-test", "redis_mode": "standalone", "tcp_port": "6379",
		"ready": "1", "not_ready": "", "loading": "0", "role": "master", "connected_slaves": "0", "blocked_clients": "0",
		"cluster_enabled":   "0",
		"connected_clients": "1", "total_connections_received": "2", "maxclients": "10000", "maxmemory": "67108864",
		"maxmemory_policy":         "noeviction",
		"total_commands_processed": "9", "expired_keys": "0", "evicted_keys": "0", "keyspace_hits": "2",
		"keyspace_misses": "1",
		"errorstat_ERR":   "count=2", "errorstat_WRONGTYPE": "count=1", "total_error_replies": "3",
		"db0": "keys=2,expires=2,avg_ttl=0", "limits_keys": "2",
		"allowed_token": "1", "denied_token": "2", "allowed_slide": "1", "denied_slide": "0", "shadow_denied": "1",
	} {
		if got[name] != want {
			t.Errorf("%s:%s, want %s", name, got[name], want)
		}
	}
	for _, name := range []string{"used_memory", "used_memory_rss", "run_id", "process_id", "used_cpu_user",
		"used_memory_human", "instantaneous_ops_per_sec"} {
		if got[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
	for name, want := range map[string]string{
		"rl.token": "calls=3 rejected_calls=0 failed_calls=0", "rl.log": "calls=1 rejected_calls=0 failed_calls=1",
		"del": "calls=0 rejected_calls=1 failed_calls=0", "exec": "calls=1 rejected_calls=0 failed_calls=0",
		"rl.peek": "calls=1 rejected_calls=0 failed_calls=0",
	} {
		var counts []string
		for _, f := range strings.Split(got["cmdstat_"+name], ",") {
			if !strings.HasPrefix(f, "usec") {
				counts = append(counts, f)
			}
		}
		if text := strings.Join(counts, " "); text != want {
			t.Errorf("cmdstat_%s: %s, want %s", name, text, want)
		}
	}
	ask(s, "CONFIG RESETSTAT")
	if got := fields(infoText(h, nil)); got["total_error_replies"] != "0" || got["total_commands_processed"] != "1" ||
		got["allowed_token"] != "1" {
		t.Errorf("after CONFIG RESETSTAT: %v", got)
	}
}

func TestInfoSections(t *testing.T) {
	h := newTestHandler("")
	for _, tt := range []struct{ asked, want string }{
		{"", "Server Clients Memory Persistence Stats Replication Raft CPU Errorstats Cluster Limits Reservations Rules " +
			"Events Scripts Keyspace"},
		{"default",
			"Server Clients Memory Persistence Stats Replication Raft CPU Errorstats Cluster Limits Reservations Rules " +
				"Events Scripts Keyspace"},
		{"all", "Server Clients Memory Persistence Stats Replication Raft CPU Commandstats Latencystats Errorstats Cluster " +
			"Limits Reservations Rules Events Scripts Keyspace"},
		{"server REPLICATION", "Server Replication"},
		{"commandstats", "Commandstats"},
		{"nope", ""},
	} {
		var got []string
		for _, line := range strings.Split(infoText(h, words(tt.asked)), "\r\n") {
			if name, ok := strings.CutPrefix(line, "# "); ok {
				got = append(got, name)
			}
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("INFO %s\n got %s\nwant %s", tt.asked, text, tt.want)
		}
	}
}

// TestTiming times a batch of 2 ms: each command has its share.
func TestTiming(t *testing.T) {
	h := NewHandler(session.Config{Exec: slowExec(2 * time.Millisecond), Clock: backend.NewTestClock(testStart),
		Version: "0"})
	s := h.NewSession(session.Client{})
	for range 10 {
		ask(s, "DEL a", "DEL b")
	}
	total := h.Stats().Command(h.Registry().Find([]byte("del"), nil).ID)
	perCall := time.Duration(total.Nanos) / 20
	if total.Calls != 20 || perCall < time.Millisecond || perCall > 50*time.Millisecond {
		t.Errorf("%d calls, %v each, want 20 of 1ms or somewhat more", total.Calls, perCall)
	}
}

// A slowExec takes that long and allows every op.
type slowExec time.Duration

func (slowExec) Commit() {}

func (e slowExec) Exec(b *engine.Batch, done func(error)) {
	time.Sleep(time.Duration(e))
	allow{}.Exec(b, done)
}

func TestHuman(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0B", 1023: "1023B", 1024: "1.00K", 1905160: "1.82M",
		25276510208: "23.54G"} {
		if got := human(bytes); got != want {
			t.Errorf("human(%d) = %s, want %s", bytes, got, want)
		}
	}
}

// Installing a snapshot replaces the engine: reads use the new engine.
func TestReadsUseCurrentEngine(t *testing.T) {
	h := newTestHandler("")
	s := h.NewSession(session.Client{})
	ask(s, "RL.TOKEN before 10 1")
	restored := newTestHandler("")
	ask(restored.NewSession(session.Client{}), "RL.TOKEN a 10 1", "RL.TOKEN b 10 1")
	h.Config().Engine = restored.Config().Engine
	if got, want := ask(s, "DBSIZE", "KEYS a", "KEYS before"), ":2|*1|$1|a|*0|"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := fields(infoText(h, nil)); got["limits_keys"] != "2" || got["allowed_token"] != "2" {
		t.Errorf("limits_keys:%s allowed_token:%s, want 2 and 2", got["limits_keys"], got["allowed_token"])
	}
}

// TestFragmentation: the ratio is near 1 for a server with few keys, after free memory was returned.
func TestFragmentation(t *testing.T) {
	runtimedebug.FreeOSMemory()
	ratio, err := strconv.ParseFloat(fields(infoText(newTestHandler(""), nil))["mem_fragmentation_ratio"], 64)
	if err != nil || ratio < 1 || ratio > 4 {
		t.Errorf("mem_fragmentation_ratio is %v, %v, want 1 to 4", ratio, err)
	}
}
