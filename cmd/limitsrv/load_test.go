package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"limitsrv/internal/testing/testwait"
)

const (
	loadConns    = 64
	loadRounds   = 25
	loadPipeline = 16
)

// sendFromMany sends requests from many connections in pipelines, and counts the
// replies with 1 as their first integer. line returns the command of a request by its
// number; each reply has replyLines lines.
func sendFromMany(t *testing.T, address string, replyLines int, line func(request int) string) (allowed int64) {
	t.Helper()
	var (
		total atomic.Int64
		done  sync.WaitGroup
	)
	for n := range loadConns {
		conn := dial(t, "tcp", address)
		conn.SetDeadline(testwait.Soon(6 * wait))
		done.Go(func() {
			lines := bufio.NewReader(conn)
			for round := range loadRounds {
				var query strings.Builder
				for i := range loadPipeline {
					query.WriteString(line((n*loadRounds+round)*loadPipeline + i))
				}
				if _, err := conn.Write([]byte(query.String())); err != nil {
					t.Error(err)
					return
				}
				for range loadPipeline {
					total.Add(countAllowed(t, lines, replyLines))
				}
			}
		})
	}
	done.Wait()
	return total.Load()
}

// countAllowed reads a reply, an array with 0 or 1 as its first element, and returns
// that.
func countAllowed(t *testing.T, lines *bufio.Reader, replyLines int) (allowed int64) {
	for i := range replyLines {
		got, err := lines.ReadString('\n')
		if err != nil || got[0] == '-' {
			t.Errorf("line %d of a reply is %q, %v", i, got, err)
			return 0
		}
		if i == 1 && got == ":1\r\n" {
			allowed = 1
		}
	}
	return allowed
}

// remaining returns the remaining permits of a key.
func remaining(t *testing.T, conn net.Conn, key string) (n int64) {
	t.Helper()
	fmt.Fprintf(conn, "RL.PEEK %s\r\n", key)
	lines := bufio.NewReader(conn)
	for i := range 7 {
		got, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if i == 4 { // *5, $n, name, limit, remaining
			fmt.Sscanf(got, ":%d", &n)
		}
	}
	return n
}

// Limits without a refill during the test are counters: exactly the limit must be
// allowed in total.
func TestManyConnectionsNeverExceedALimit(t *testing.T) {
	r := serve(t)
	for _, tt := range []struct {
		name, line string
		keys       int
		limit      int64
	}{
		{"a bucket", "RL.TOKEN bucket%d 9000 1/3650d\r\n", 1, 9000},
		{"a log", "RL.LOG log%d 9000 3650d\r\n", 1, 9000},
		{"a window", "RL.FIXED window%d 9000 year\r\n", 1, 9000},
		{"many buckets", "RL.TOKEN many%d 30 1/3650d\r\n", 500, 30},
		{"many sliding windows", "RL.SLIDE slides%d 30 3650d\r\n", 500, 30},
		{"places", "RL.ACQUIRE places%d 9000 3650d holder-%d\r\n", 1, 9000},
	} {
		allowed := sendFromMany(t, r.address, 6, func(request int) string {
			if strings.Count(tt.line, "%d") == 2 {
				return fmt.Sprintf(tt.line, request%tt.keys, request)
			}
			return fmt.Sprintf(tt.line, request%tt.keys)
		})
		if want := tt.limit * int64(tt.keys); allowed != want {
			t.Errorf("%s: %d of %d requests were allowed, want %d", tt.name, allowed, loadConns*loadRounds*loadPipeline, want)
		}
	}
}

// Both limits of a group grant the same number.
func TestManyConnectionsNeverTakePartOfAGroup(t *testing.T) {
	r := serve(t)
	const small, large = 5000, 20000
	allowed := sendFromMany(t, r.address, 15, func(request int) string {
		if request%2 == 0 { // in either order
			return fmt.Sprintf("RL.ALL TOKEN a %d 1/3650d 1 LOG b %d 3650d 1\r\n", small, large)
		}
		return fmt.Sprintf("RL.ALL LOG b %d 3650d 1 TOKEN a %d 1/3650d 1\r\n", large, small)
	})
	conn := dial(t, "tcp", r.address)
	if a, b := small-remaining(t, conn, "a"), large-remaining(t, conn, "b"); allowed != small || a != small || b != small {
		t.Errorf("%d groups were allowed, a granted %d and b %d, want %d each", allowed, a, b, small)
	}
}
