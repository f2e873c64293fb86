package main

import (
	"fmt"
	"io"
	"limitsrv/internal/testing/testwait"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// userCommands are the commands that clients send in random order while users change:
// logins with right and wrong passwords, by users that are added and removed, and
// commands that check permissions late.
var userCommands = []string{
	"AUTH shop pw", "AUTH shop pw", "AUTH shop no", "AUTH guest pw", "HELLO 3 AUTH shop pw", "HELLO 2 AUTH nobody pw",
	"RESET",
	"RL.TOKEN api:1 10 1", "RL.TOKEN web:1 10 1", "RL.ALL TOKEN api:1 10 1 1 TOKEN web:1 10 1 1",
	"RL.ACQUIRE web:2 1 1d me",
	"MULTI", "EXEC", "DISCARD", "WATCH api:1", "WATCH web:1", "AUTH guest pw", "MONITOR", "SUBSCRIBE a", "PUBLISH a x",
	"CLIENT REPLY OFF", "CLIENT KILL TYPE normal",
	"ACL LOAD", "CONFIG SET max-clients 1", "SHUTDOWN NOSAVE", "CLIENT|PAUSE 100000", "QUIT",
}

// While users are reloaded in all ways concurrently, and connections are killed, no client
// has permissions that its user lacks in all files, and the server keeps running.
func TestUsersReloadUnderLoad(t *testing.T) {
	testwait.Long(t)
	path := filepath.Join(t.TempDir(), "users.yaml")
	hash, other := hashed(t, "pw"), hashed(t, "pw")
	guest := "  - name: guest\n    hash: " + hash + "\n    groups: [decide, peek]\n    keys: [\"api:*\"]\n"
	files := []string{
		usersOf(hash, "api:*"), usersOf(hash, "api:1") + guest, usersOf(hash, "none") + guest + "    enabled: false\n",
		strings.Replace(usersOf(hash, "api:*"), "hash: "+hash, "hash: "+other, 1), "users: [", usersOf(hash, "api:*") + guest,
	}
	put(t, path, files[0])
	r := serve(t, "--users", path)
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	boss := wired(t, r.address)
	if got := textOf(boss.do(t, "AUTH boss pw")); got != "OK" {
		t.Fatal(got)
	}
	var clients sync.WaitGroup
	for i := range 8 {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		clients.Go(func() {
			for range 30 {
				nc, err := net.Dial("tcp", r.address)
				if err != nil {
					t.Error(err)
					return
				}
				_ = nc.SetDeadline(time.Now().Add(time.Duration(random.IntN(300)) * time.Millisecond))
				for range random.IntN(4) {
					var lines strings.Builder
					for range 1 + random.IntN(10) {
						lines.WriteString(userCommands[random.IntN(len(userCommands))] + "\r\n")
					}
					_, _ = io.WriteString(nc, lines.String())
				}
				_, _ = io.ReadAll(nc) // until the deadline or the end of the connection
				nc.Close()
			}
		})
	}
	over := make(chan struct{})
	go func() {
		clients.Wait()
		close(over)
	}()
	random := rand.New(rand.NewPCG(seed, 100))
	for busy := true; busy; {
		put(t, path, files[random.IntN(len(files))])
		switch random.IntN(3) {
		case 0:
			boss.do(t, "ACL LOAD")
		case 1:
			_ = r.Process.Signal(syscall.SIGHUP)
		default:
			boss.do(t, "CLIENT KILL USER shop")
		}
		select {
		case <-over:
			busy = false
		case <-time.After(time.Duration(random.IntN(20)) * time.Millisecond):
		}
	}
	put(t, path, files[0])
	if got := textOf(boss.do(t, "ACL LOAD")); got != "OK" {
		t.Errorf("ACL LOAD at the end: %s", got)
	}
	if got := fmt.Sprint(boss.do(t, "EXISTS web:1 web:2")); got != "0" {
		t.Errorf("%s keys exist that no user has permission to create", got)
	}
	for _, fault := range []string{"panic", "DATA RACE", "shutting down"} {
		if strings.Contains(r.logged(), fault) {
			t.Errorf("the log has %q\n%s", fault, r.logged())
		}
	}
}
