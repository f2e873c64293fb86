package commands

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

// blockingLines are lines of a random client; k is a key and v a new value.
var blockingLines = []string{
	"LPUSH k v", "RPUSH k v", "LPUSH k v v v", "RPUSH k v v", "RPUSHX k v", "LPOP k", "RPOP k 2", "LLEN k",
	"LRANGE k 0 -1", "DEL k", "SET k v", "EXISTS k",
	"LMOVE k k LEFT RIGHT", "RPOPLPUSH k k", "RENAME k k", "RENAMENX k k", "LTRIM k 1 -1", "LINSERT k BEFORE v v",
	"SELECT 1", "SELECT 0",
	`EVAL "redis.call('RPUSH', KEYS[1], ARGV[1]) redis.call('LPUSH', KEYS[2], ARGV[1], ARGV[2]) return redis.call('LLEN', KEYS[1])" 2 k k v v`,
	"BLPOP k 0", "BLPOP k k 0", "BRPOP k 0", "BRPOP k k k 0", "BLPOP k x", "BRPOP k -1", "BLPOP k k 0", "BRPOP k 0",
}

// TestBlockingLikeRedis has several clients send random lines, one at a time, to limitsrv and
// to redis-server, and compares the replies, the clients that wait, and at the end the lists.
func TestBlockingLikeRedis(t *testing.T) {
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	const clients = 7
	h, judge := newTestHandler(""), startRedis(t)
	var (
		all   [clients]*pair
		ids   [clients][2]string
		trace []string
	)
	for i := range all {
		all[i] = judge.pair(h)
		got, want := all[i].ask("CLIENT ID", "CLIENT ID")
		ids[i] = [2]string{got[0], want[0]}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last lines:\n%s", strings.Join(trace[max(0, len(trace)-60):], "\n"))
		}
	})
	compare := func(i int, got, want []string) {
		if !slices.Equal(got, want) {
			t.Fatalf("client %d gets %q, of Redis %q", i, got, want)
		}
	}
	// settle compares the replies of the clients that have waited, and the number of waiting
	// clients.
	settle := func() {
		for i, p := range all {
			if p.waits() {
				p.ours.Resume()
			}
			got, err := readReplies(p.ours.Out)
			if err != nil {
				t.Fatal(err)
			}
			p.ours.Out = nil
			want := make([]string, len(got))
			for j := range want {
				want[j] = p.read(trace[len(trace)-1])
			}
			compare(i, got, want)
		}
	}
	waiting := func() (n int64) {
		for _, p := range all {
			if p.waits() {
				n++
			}
		}
		return n
	}
	sentinel := judge.pair(h) // it never waits
	check := func() {
		settle()
		n := waiting()
		if h.Waiting() != n {
			t.Fatalf("%d clients wait, INFO says %d", n, h.Waiting())
		}
		testwait.Until(t, 10*time.Second, fmt.Sprint(n, " clients of Redis wait"), func() bool {
			_, info := sentinel.ask("INFO clients", "INFO clients")
			return strings.Contains(info[0], fmt.Sprintf(`\r\nblocked_clients:%d\r\n`, n))
		})
	}
	unblock := func(i int, how string) {
		trace = append(trace, fmt.Sprintf("unblock %d %s", i, how))
		got, want := sentinel.ask("CLIENT UNBLOCK "+ids[i][0]+how, "CLIENT UNBLOCK "+ids[i][1]+how)
		compare(-1, got, want)
		check()
	}
	for range 20_000 / testwait.Slowdown() {
		i := random.IntN(clients)
		switch {
		case random.IntN(25) == 0:
			unblock(i, []string{"", " TIMEOUT", " ERROR"}[random.IntN(3)])
			continue
		case all[i].waits():
			continue
		}
		line := strings.Fields(blockingLines[random.IntN(len(blockingLines))])
		for j, word := range line {
			switch word {
			case "k":
				line[j] = fmt.Sprint("k", random.IntN(3))
			case "v":
				line[j] = fmt.Sprint(len(trace))
			}
		}
		text := strings.Join(line, " ")
		trace = append(trace, fmt.Sprint(i, ": ", text))
		got, want := all[i].ask(text, text)
		trace[len(trace)-1] += fmt.Sprint(" -> ", got)
		compare(i, got, want)
		check()
	}
	for i := range all {
		unblock(i, "")
	}
	for i := range 6 {
		text := fmt.Sprint("LRANGE k", i%3, " 0 -1")
		sentinel.ask(fmt.Sprint("SELECT ", i/3), fmt.Sprint("SELECT ", i/3))
		got, want := sentinel.ask(text, text)
		compare(-1, got, want)
	}
	if h.Waiting() != 0 {
		t.Errorf("%d clients wait at the end", h.Waiting())
	}
}

// waits reports whether our client waits.
func (p *pair) waits() bool { return p.ours.Waits() }
