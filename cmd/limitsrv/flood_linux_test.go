package main

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

const (
	floodAddresses = 20
	floodEach      = 5 // connections per address
	floodDecisions = 3000
	// loginBurst is the number of failed logins per address before further failed logins
	// are limited to one per second.
	loginBurst = 10
)

// wireFrom connects from a local address.
func wireFrom(host, address string) (*wire, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}, Timeout: testwait.Scaled(wait)}
	conn, err := dialer.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(testwait.Soon(6 * wait))
	return &wire{client{conn, bufio.NewReader(conn)}}, nil
}

// While many addresses guess passwords at full speed, decisions continue, known clients
// log in at once, and the number of passwords checked stays within the limits of the
// addresses. On both transports.
func TestLoginFlood(t *testing.T) {
	testwait.Long(t)
	for name, threads := range map[string]string{"loops": "0", "goroutines": "-1"} {
		t.Run(name, func(t *testing.T) { loginFlood(t, threads) })
	}
}

func loginFlood(t *testing.T, threads string) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	put(t, path, usersOf(hashed(t, "pw"), "*"))
	r := serve(t, "--users", path, "--io-threads="+threads)
	shop := wired(t, r.address)
	if got := shop.do(t, "AUTH shop pw"); got != "OK" {
		t.Fatal(got)
	}
	var (
		wg           sync.WaitGroup
		wrong, other atomic.Int64
		over         = make(chan struct{})
		conns        []*wire
		began        = time.Now()
	)
	stop := sync.OnceFunc(func() {
		close(over)
		for _, w := range conns {
			w.Close()
		}
		wg.Wait()
	})
	defer stop()
	for i := range floodAddresses * floodEach {
		w, err := wireFrom(fmt.Sprintf("127.0.1.%d", 1+i%floodAddresses), r.address)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, w)
		wg.Go(func() {
			for n := 0; ; n++ {
				replies, err := w.all(fmt.Sprintf("AUTH %s guess-%d-%d", []string{"shop", "nobody"}[n%2], i, n))
				select {
				case <-over:
					return
				default:
				}
				switch {
				case err != nil:
					t.Error(err)
					return
				case isError(replies[0], "WRONGPASS"):
					wrong.Add(1)
				case isError(replies[0], "ERR"):
					other.Add(1)
				default:
					t.Errorf("reply to a guess = %v", replies[0])
				}
			}
		})
	}
	until(t, "passwords are rejected", func() bool { return wrong.Load() > 0 })
	for i := range floodDecisions {
		if checked := wrong.Load(); i == floodAddresses && checked >= floodAddresses*floodEach {
			t.Errorf("%d decisions waited for %d checked guesses", i, checked)
		}
		if reply, ok := shop.do(t, "RL.TOKEN k 1000000 1").([]any); !ok || reply[0] != int64(1) {
			t.Fatalf("reply to a decision = %v", reply)
		}
	}
	for range 50 {
		if got := wired(t, r.address).do(t, "AUTH shop pw"); got != "OK" {
			t.Fatalf("reply to the login of a known client = %v", got)
		}
	}
	elapsed := time.Since(began)
	t.Logf("%d decisions in %v, while %d guesses were checked and %d refused", floodDecisions, elapsed, wrong.Load(),
		other.Load())
	if most := int64(floodAddresses * (loginBurst + elapsed.Seconds() + 1)); wrong.Load() > most {
		t.Errorf("%d guesses were checked, want at most %d", wrong.Load(), most)
	}
	stop()
	if log := r.logged(); strings.Count(log, "login failed") > floodAddresses || strings.Contains(log, "guess") {
		t.Errorf("the log is\n%s", log)
	}
}
