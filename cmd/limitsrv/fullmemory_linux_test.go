package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"limitsrv/internal/respclient"
	"limitsrv/internal/testing/testwait"
)

const (
	fullBound = 16 << 20
	// fullSlack is the memory that keys may use beyond the bound: a batch is weighed before it
	// is applied, by its bytes, and may begin pages of other sizes in each shard.
	fullSlack = 1 << 20
	// fullResidentKB is a bound of resident memory. The program has 25 MB of its own, mostly its
	// code; garbage is a fifth of the heap before it is collected, and some of the memory that is
	// freed stays with the process, as large as the heap was for a moment.
	fullResidentKB = (2*fullBound + 64<<20) >> 10
	fullCommands   = 20_000 // of each kind: more bytes than the bound
	fullPipeline   = 100
	fullKept       = 100 // keys without expiry
)

// fullKinds are commands that take more and more memory, of #, a number, and a value. Those that
// expire can be evicted.
var fullKinds = []struct {
	name, command string
	expires       bool
}{
	{"SET", "SET key:# $ EX 1000", true},
	{"scripts", "EVAL \"return redis.call('SET', KEYS[1] .. ARGV[1], ARGV[2] .. ARGV[1], 'EX', 1000)\" 1 made: # $", true},
	{"HSET", "HSET hash:# field $", false},
	{"HSET of one key", "HSET hash field:# $", false},
	{"ZADD", "ZADD set # member:#:$", false},
	{"RPUSH", "RPUSH list $", false},
}

// TestFullMemory floods the program with each kind of value. Keys without expiry stay, requests
// beyond the bound get Redis' error, and memory stays near the bound.
func TestFullMemory(t *testing.T) {
	testwait.Long(t)
	binary := filepath.Join(t.TempDir(), "limitsrv")
	if out, err := exec.Command("go", "build", "-pgo=off", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, policy := range []string{"refuse", "evict"} {
		t.Run(policy, func(t *testing.T) { floodMemory(t, binary, policy) })
	}
}

func floodMemory(t *testing.T, binary, policy string) {
	address := freeAddress(t)
	server := exec.Command(binary, "--listen", address, "--max-memory", strconv.Itoa(fullBound), "--on-full", policy,
		"--log-level", "error")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	until(t, "it listens", func() bool {
		w, err := wireFrom("127.0.0.1", address)
		if err == nil {
			w.Close()
		}
		return err == nil
	})
	w := wired(t, address)
	exists := "EXISTS"
	for i := range fullKept {
		if got := w.do(t, fmt.Sprintf("SET kept:%d value", i)); got != "OK" {
			t.Fatal(got)
		}
		exists += fmt.Sprintf(" kept:%d", i)
	}
	value := strings.Repeat("x", 1000)
	for _, kind := range fullKinds {
		line := strings.ReplaceAll(kind.command, "$", value)
		stored, refused := 0, 0
		for n := 0; n < fullCommands; n += fullPipeline {
			lines := make([]string, fullPipeline)
			for i := range lines {
				lines[i] = strings.ReplaceAll(line, "#", strconv.Itoa(n+i))
			}
			replies, err := w.all(lines...)
			if err != nil {
				t.Fatal(err)
			}
			for _, reply := range replies {
				switch wrong, isWrong := reply.(respclient.Error); {
				case !isWrong:
					stored++
				case strings.HasPrefix(string(wrong), "OOM command not allowed when used memory > 'maxmemory'."):
					refused++
				default:
					t.Fatalf("%s: %v", kind.name, wrong)
				}
			}
			if n%(10*fullPipeline) == 0 {
				if used, err := strconv.Atoi(w.info(t, "used_memory")); err != nil || used > fullBound+fullSlack {
					t.Fatalf("%s: used_memory is %d (%v), the bound %d", kind.name, used, err, fullBound)
				}
			}
		}
		if evicts := policy == "evict" && kind.expires; refused == 0 && !evicts {
			t.Errorf("%s: none of %d commands was refused", kind.name, stored)
		} else if evicts && kind.name == "SET" && refused > 0 {
			t.Errorf("%s: %d of %d commands were refused in place of evictions", kind.name, refused, fullCommands)
		}
		if got := w.do(t, exists); got != int64(fullKept) {
			t.Errorf("%s: %v of %d keys without expiry are there", kind.name, got, fullKept)
		}
	}
	if kb := residentKB(t, server.Process.Pid); kb > fullResidentKB {
		t.Errorf("%d kB are resident, want at most %d with a bound of %d", kb, fullResidentKB, fullBound>>10)
	}
}
