package main

import (
	"crypto/sha1"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A restart keeps the effects of scripts, the scripts, and what is forgotten of them, from
// the log and from a snapshot.
func TestRestartKeepsScripts(t *testing.T) {
	const counts, reads = "return redis.call('INCR', KEYS[1])", "return redis.call('GET', KEYS[1])"
	hash := func(script string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(script))) }
	for _, way := range []string{"SHUTDOWN SAVE", "a kill"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			r, w := serveData(t, dir, "--fsync", "always")
			ask := func(command, want string) {
				t.Helper()
				if got := fmt.Sprint(w.do(t, command)); got != want {
					t.Errorf("%s: %s, want %s", command, got, want)
				}
			}
			ask(`SCRIPT LOAD "`+reads+`"`, hash(reads))
			ask(`SCRIPT FLUSH`, "OK")
			ask(`EVAL "`+counts+`" 1 k`, "1")
			ask("EVALSHA "+hash(counts)+" 1 k", "2")
			ask(`EVAL "redis.call('SET', KEYS[1], 'half') error('way')" 1 half`,
				"ERR user_script:1: way script: "+hash("redis.call('SET', KEYS[1], 'half') error('way')")+", on @user_script:1.")
			if way == "a kill" {
				r.Process.Signal(syscall.SIGKILL)
				<-r.ended
			} else {
				endBy(t, r, w, way)
			}
			r, w = serveData(t, dir, "--fsync", "always")
			ask("EVALSHA "+hash(counts)+" 1 k", "3")
			ask("EVALSHA "+hash(reads)+" 1 half", "NOSCRIPT No matching script. Please use EVAL.")
			ask(`EVAL "`+reads+`" 1 half`, "half")
			ask("SCRIPT EXISTS "+hash(counts)+" "+hash(reads), "[1 1]")
			endBy(t, r, w, "SHUTDOWN")
		})
	}
}

// A server that is killed keeps its decisions by rules with one limit and with several.
func TestKillKeepsRequestsByRules(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	r, w := serveData(t, dir, "--fsync", "always")
	w.do(t,
		`RL.RULES LOAD "domain: d\nrules:\n  - {name: one, per: [u], limits: 100/year}\n  - {name: two, match: {p: a}, per: [u], limits: [50/year, 40/day]}\n"`)
	left := func(of string, want ...string) {
		t.Helper()
		if got := fmt.Sprint(w.do(t, "RL.CHECK d "+of)); !strings.HasPrefix(got, "["+strings.Join(want, " ")) {
			t.Errorf("RL.CHECK d %s: %s, want %s", of, got, want)
		}
	}
	left("u one", "1", "100", "99")
	left("u one", "1", "100", "98")
	left("u two p a", "1", "40", "39")
	r.Process.Signal(syscall.SIGKILL)
	<-r.ended
	r, w = serveData(t, dir, "--fsync", "always")
	left("u one", "1", "100", "97")
	left("u two p a", "1", "40", "38")
	left("u two", "1", "100", "97")
	endBy(t, r, w, "SHUTDOWN")
}
