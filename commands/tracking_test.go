package commands

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/session"
	"limitsrv/internal/testing/testwait"
)

// newTrackingHandler makes a handler without passing time.
func newTrackingHandler() *session.Handler {
	return newTestHandlerWith(session.Config{After: func(time.Duration, func()) {}})
}

// A trackedPair is a pair. Both its sides have an id.
type trackedPair struct {
	*pair
	ours, theirs string
}

func (r *realRedis) trackedPair(h *session.Handler) trackedPair {
	p := trackedPair{pair: r.pair(h)}
	got, want := p.ask("CLIENT ID", "CLIENT ID")
	p.ours, p.theirs = got[0], want[0]
	return p
}

// compare sends a line, where $1, $2 and so on are the ids of pairs, and compares the replies, with
// messages in any order before or after them.
func compare(t *testing.T, event string, all []trackedPair, p trackedPair, line string) (messages int) {
	t.Helper()
	ours, theirs := line, line
	for i, of := range all {
		id := fmt.Sprintf("$%d", i+1)
		ours, theirs = strings.ReplaceAll(ours, id, of.ours), strings.ReplaceAll(theirs, id, of.theirs)
	}
	got, want := p.ask(ours, theirs)
	if strings.HasPrefix(line, "HELLO") { // has versions
		return 0
	}
	for i := range want {
		for _, of := range all {
			if line == "CLIENT GETREDIR" && want[i] == of.theirs {
				want[i] = of.ours
				break
			}
			for _, before := range []string{`"redirect" `, `"redirect": `} {
				if strings.Contains(want[i], before+of.theirs) {
					want[i] = strings.Replace(want[i], before+of.theirs, before+of.ours, 1)
					break
				}
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s: %s is answered %q, by Redis %q", event, line, got, want)
	}
	return len(got) - 1
}

// trackingScript has lines of the connections 1 to 4. After each line all connections ping, so that
// messages are compared. 4 has a subscription in RESP2.
const trackingScript = `
1 HELLO 3
2 HELLO 3
4 SUBSCRIBE __redis__:invalidate
1 CLIENT TRACKINGINFO
1 CLIENT GETREDIR
1 CLIENT CACHING YES
1 CLIENT TRACKING MAYBE
1 CLIENT TRACKING ON PREFIX a
1 CLIENT TRACKING ON BCAST OPTIN
1 CLIENT TRACKING ON OPTIN OPTOUT
1 CLIENT TRACKING ON REDIRECT 99999
1 CLIENT TRACKING ON REDIRECT x
1 CLIENT TRACKING ON REDIRECT
1 CLIENT TRACKING ON REDIRECT $2 REDIRECT $3
1 CLIENT TRACKING ON BCAST PREFIX ab PREFIX a
1 CLIENT TRACKING ON
1 CLIENT TRACKINGINFO
1 CLIENT GETREDIR
1 CLIENT CACHING YES
1 CLIENT CACHING NO
1 CLIENT TRACKING ON BCAST
1 GET a
3 SET a 1
3 SET a 2
1 MGET a b c
3 MSET a 1 b 2
1 SET c 1
1 GET c
1 SET c 2
1 GET c
3 SETEX c 100 x
1 EXISTS d
3 HSET d f v
1 HGETALL d
3 HSET d f w
3 DEL d
1 GET a
3 MULTI
3 SET a 1
3 INCR a
3 EXEC
1 MULTI
1 GET a
1 GET b
1 EXEC
3 MULTI
3 SET b 1
3 DISCARD
3 RENAME a b
1 GET b
3 EVAL "redis.call('SET', KEYS[1], 5)" 1 b
1 GET b
3 DEL nope
3 FLUSHDB
1 GET b
3 FLUSHALL
1 GET b
1 CLIENT TRACKING OFF
3 SET b 1
1 CLIENT TRACKING ON OPTIN
1 CLIENT TRACKINGINFO
1 GET a
3 SET a 1
1 CLIENT CACHING NO
1 CLIENT CACHING MAYBE
1 CLIENT CACHING YES
1 CLIENT TRACKINGINFO
1 GET a
1 GET b
3 MSET a 1 b 2
1 CLIENT CACHING YES
1 MULTI
1 GET a
1 GET b
1 EXEC
1 GET c
3 MSET a 1 b 2 c 3
1 MULTI
1 GET a
1 CLIENT CACHING YES
1 GET b
1 CLIENT CACHING NO
1 MGET b c
1 EXEC
1 GET d
3 MSET a 1 b 2 c 3 d 4
1 MULTI
1 CLIENT CACHING YES
1 EXEC
1 GET a
3 SET a 1
1 CLIENT CACHING YES
1 NOSUCH
1 GET a
3 SET a 2
1 CLIENT CACHING YES
1 DISCARD
1 GET a
3 SET a 2
1 CLIENT TRACKING ON OPTOUT
1 CLIENT TRACKING OFF
1 CLIENT TRACKING ON OPTOUT NOLOOP
1 CLIENT CACHING YES
1 CLIENT CACHING NO
1 CLIENT TRACKINGINFO
1 GET a
1 GET b
3 MSET a 1 b 2
1 GET b
1 SET b 3
3 SET b 4
1 CLIENT TRACKING OFF
1 CLIENT TRACKING ON BCAST PREFIX a PREFIX b
1 CLIENT TRACKINGINFO
1 CLIENT TRACKING ON BCAST PREFIX ab
1 CLIENT TRACKING ON BCAST PREFIX c NOLOOP
1 CLIENT TRACKINGINFO
3 SET a 1
3 SET d 1
3 SET cc 2
1 SET cc 3
1 CLIENT TRACKING ON
1 CLIENT TRACKING OFF
1 CLIENT TRACKING ON BCAST
3 MSET a 1 b 2 c 3 d 4
1 RESET
1 CLIENT TRACKINGINFO
3 SET a 1
2 HELLO 2
2 CLIENT TRACKING ON REDIRECT $4
2 CLIENT TRACKINGINFO
2 CLIENT GETREDIR
2 GET a
3 SET a 2
2 GET a
3 FLUSHALL
2 CLIENT TRACKING OFF
2 HELLO 3
1 CLIENT TRACKING ON REDIRECT $2
1 GET a
3 SET a 3
1 CLIENT TRACKING ON
1 GET a
3 SET a 3
1 HELLO 3
1 GET a
3 SET a 3
1 SELECT 1
1 GET a
3 SET a 4
4 UNSUBSCRIBE
`

func TestTrackingLikeRedis(t *testing.T) {
	redis, h := startRedis(t), newTrackingHandler()
	var all []trackedPair
	for range 4 {
		all = append(all, redis.trackedPair(h))
	}
	messages := 0
	for n, line := range strings.Split(strings.TrimSpace(trackingScript), "\n") {
		event := fmt.Sprintf("line %d", n+1)
		compare(t, event, all, all[line[0]-'1'], line[2:])
		for _, p := range all {
			messages += compare(t, event+", "+line, all, p, "PING")
		}
	}
	if messages < 20 {
		t.Errorf("%d messages were compared", messages)
	}
}

// TestTrackingRandomlyLikeRedis compares the messages of clients in random modes.
func TestTrackingRandomlyLikeRedis(t *testing.T) {
	seed := testwait.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	redis, h := startRedis(t), newTrackingHandler()
	var all []trackedPair
	for range 3 {
		all = append(all, redis.trackedPair(h))
		compare(t, "", all, all[len(all)-1], "HELLO 3")
	}
	one := func(from ...string) string { return from[r.IntN(len(from))] }
	key := func() string { return one("a", "aa", "b", "ba", "c") }
	lines := func() []string {
		switch r.IntN(13) {
		case 12:
			return []string{"MULTI", "GET " + key(), "CLIENT CACHING " + one("YES", "NO"), "GET " + key(), "SET " + key() + " 1",
				one("EXEC", "DISCARD")}
		case 0:
			return []string{"CLIENT TRACKING OFF", "CLIENT TRACKING ON " + one("", "OPTIN", "OPTOUT", "BCAST", "BCAST PREFIX a",
				"BCAST PREFIX aa PREFIX b", "BCAST PREFIX b PREFIX c") + one("", " NOLOOP")}
		case 1:
			return []string{"CLIENT CACHING " + one("YES", "NO"), "GET " + key()}
		case 2:
			return []string{"CLIENT CACHING " + one("YES", "NO"), "MULTI", "GET " + key(), "MGET a b", "SET " + key() + " 1",
				one("EXEC", "DISCARD")}
		case 3, 4, 5:
			return []string{one("GET ", "TYPE ", "STRLEN ") + key()}
		case 6:
			return []string{"MSET a 1 b 2 c 3"}
		case 7:
			return []string{"EVAL \"redis.call('APPEND', KEYS[1], 'x')\" 1 " + key()} // reads nothing, and comes from the client
		case 8:
			return []string{one("FLUSHALL", "FLUSHDB", "DEL nope", "EXISTS a b c", "DEL a b")}
		}
		return []string{one("SET ", "APPEND ") + key() + " 1"}
	}
	messages := 0
	for range 1500 / testwait.Slowdown() {
		p := all[r.IntN(len(all))]
		for _, line := range lines() {
			if strings.HasPrefix(line, "EVAL") { // the keys of a script count as read in any case
				p = all[0]
				compare(t, "", all, p, "CLIENT TRACKING OFF")
			}
			messages += compare(t, fmt.Sprintf("seed %d", seed), all, p, line)
			for _, other := range all {
				messages += compare(t, fmt.Sprintf("seed %d, after %s", seed, line), all, other, "PING")
			}
		}
	}
	if messages == 0 {
		t.Errorf("seed %d: no message was compared", seed)
	}
}

// TestTrackedKeysExpire: a key that has expired is told at the next look, by the time of the node, in each
// mode that a read of it was tracked, also if nobody asks for it.
func TestTrackedKeysExpire(t *testing.T) {
	var looks []func()
	h := newTestHandlerWith(session.Config{After: func(_ time.Duration, f func()) { looks = append(looks, f) }})
	other := h.NewSession(session.Client{})
	for _, mode := range []string{"", "BCAST", "BCAST NOLOOP PREFIX k"} {
		l := newListener(h, 0)
		ask(other, "FLUSHALL")
		ask(l.Session, "HELLO 3", "CLIENT TRACKING ON "+mode)
		ask(other, "SET k v PX 500", "SET l v PX 500", "SELECT 1", "SET k v", "SELECT 0")
		ask(l.Session, "SELECT 1", "GET k", "SELECT 0", "GET k")
		l.received()
		for _, tt := range []struct{ advance, want string }{{"499ms", ""}, {"2ms", ">2|$10|invalidate|*1|$1|k|"},
			{"1s", ""}} {
			ask(other, "DEBUG ADVANCE-TIME "+tt.advance)
			if len(looks) > 0 {
				look := looks[0]
				looks = looks[1:]
				look()
			}
			if got := strings.ReplaceAll(l.received(), ">2|$10|invalidate|*1|$1|l|", ""); got != tt.want {
				t.Errorf("%s: after %s more: %s, want %s", mode, tt.advance, got, tt.want)
			}
		}
		l.Close()
	}
}

// A cachingClient keeps values until it is told that they have changed.
type cachingClient struct {
	*session.Session
	cache map[string]string
}

// get gets keys that are not kept in a pipeline, and takes the replies and messages in their order.
func (c *cachingClient) get(t *testing.T, keys ...string) {
	var asked []string
	for _, key := range keys {
		if _, there := c.cache[key]; !there {
			asked = append(asked, key)
			c.Do([][]byte{[]byte("GET"), []byte(key)})
		}
	}
	c.Flush()
	c.Resume()
	replies, err := readReplies(c.Out)
	if err != nil {
		t.Errorf("%q: %v", c.Out, err)
		return
	}
	c.Out = c.Out[:0]
	for _, reply := range replies {
		switch {
		case reply == `>["invalidate" nil]`:
			clear(c.cache)
		case strings.HasPrefix(reply, `>["invalidate" [`):
			for _, key := range strings.Fields(strings.Trim(reply[len(`>["invalidate" `):], "[]")) {
				delete(c.cache, strings.Trim(key, `"`))
			}
		case len(asked) == 0:
			t.Errorf("a reply too many: %s", reply)
		default:
			c.cache[asked[0]] = reply
			asked = asked[1:]
		}
	}
}

// TestNoStaleValue has clients that keep values while other clients change them, in all modes. When nobody
// changes them any more, all that they keep is true.
func TestNoStaleValue(t *testing.T) {
	seed := testwait.Seed(t)
	for round := range 20 / testwait.Slowdown() {
		h := newTrackingHandler()
		var clients []*cachingClient
		for _, mode := range []string{"", "NOLOOP", "BCAST", "BCAST PREFIX k1 PREFIX k2 PREFIX k3 PREFIX k4 PREFIX k0"} {
			c := &cachingClient{h.NewSession(session.Client{Wake: func() {}, Close: func() {}}), map[string]string{}}
			ask(c.Session, "HELLO 3")
			if got := ask(c.Session, "CLIENT TRACKING ON "+mode); !strings.Contains(got, "OK") {
				t.Fatalf("%s: %s", mode, got)
			}
			clients = append(clients, c)
		}
		done := make(chan struct{})
		writing, reading := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(writing)
			w, r := h.NewSession(session.Client{}), rand.New(rand.NewPCG(seed, uint64(round)))
			for n := range 3000 {
				key := fmt.Sprintf("k%d", r.IntN(5))
				ask(w, []string{
					fmt.Sprintf("SET %s %d", key, n), "DEL " + key, "INCR " + key, "RL.TOKEN " + key + " 5 5/s",
					"RENAME " + key + " k0",
					fmt.Sprintf("EVAL \"redis.call('SET', KEYS[1], ARGV[1])\" 1 %s %d", key, n), "MSET k1 1 k2 2 k3 " + fmt.Sprint(n),
				}[r.IntN(7)])
			}
		}()
		go func() {
			defer close(reading)
			for {
				for _, c := range clients {
					c.get(t, "k0", "k1", "k2", "k3", "k4")
				}
				select {
				case <-done:
					return
				default:
				}
			}
		}()
		<-writing
		close(done)
		<-reading
		truth := cachingClient{h.NewSession(session.Client{}), map[string]string{}}
		ask(truth.Session, "HELLO 3")
		truth.get(t, "k0", "k1", "k2", "k3", "k4")
		for i, c := range clients {
			c.get(t)
			for key, value := range c.cache {
				if value != truth.cache[key] {
					t.Errorf("seed %d, round %d: client %d keeps %s of %s, which has %s", seed, round, i, value, key, truth.cache[key])
				}
			}
		}
	}
}

// TestTrackingShown: CLIENT INFO, INFO and CONFIG show the tracked keys, and a redirection to a client that is
// gone is told once it is needed.
func TestTrackingShown(t *testing.T) {
	h := newTrackingHandler()
	l, other, gone := newListener(h, 0), h.NewSession(session.Client{}), h.NewSession(session.Client{})
	has := func(s *session.Session, line string, want ...string) {
		t.Helper()
		got := ask(s, line)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: no %q in %s", line, w, got)
			}
		}
	}
	has(l.Session, "CLIENT INFO", " flags=N ", " redir=-1 ")
	ask(l.Session, "HELLO 3", fmt.Sprint("CLIENT TRACKING ON REDIRECT ", gone.ID()))
	has(l.Session, "CLIENT INFO", " flags=t ", fmt.Sprintf(" redir=%d ", gone.ID()))
	ask(l.Session, "MGET a b")
	has(other, "INFO", "|tracking_clients:1|", "|tracking_total_keys:2|", "|tracking_total_items:2|",
		"|tracking_total_prefixes:0|")
	gone.Close()
	ask(other, "SET a 1")
	if got, want := l.received(), fmt.Sprintf(">2|$21|tracking-redir-broken|:%d|", gone.ID()); got != want {
		t.Errorf("without the other client %s, want %s", got, want)
	}
	has(l.Session, "CLIENT INFO", " flags=tR ")
	has(l.Session, "CLIENT TRACKINGINFO", "broken_redirect")
	ask(l.Session, "CLIENT TRACKING OFF", "CLIENT TRACKING ON BCAST")
	has(l.Session, "CLIENT INFO", " flags=tB ", " redir=0 ")
	ask(l.Session, "CLIENT TRACKING OFF", "CLIENT TRACKING ON")
	has(other, "CONFIG GET tracking-table-max-keys", "1000000")
	has(other, "CONFIG SET tracking-table-max-keys x", "-ERR CONFIG SET failed")
	has(other, "CONFIG SET tracking-table-max-keys 1", "+OK")
	ask(l.Session, "MGET a b c")
	if got := strings.Count(l.received(), "invalidate"); got != 2 {
		t.Errorf("%d keys are told beyond the bound of 1, want 2", got)
	}
	l.Close()
	has(other, "INFO", "|tracking_clients:0|", "|tracking_total_keys:0|")
}

// TestBroadcastRights: a user with some keys hears only of keys that it has read, also after
// a reload.
func TestBroadcastRights(t *testing.T) {
	keys := `["a*"]`
	h, err := newTestHandlerOf("", func() string {
		return withHashes(t, "users:\n  - name: u\n    hash: \"#pw\"\n    groups: [string]\n    keys: "+keys+"\n")
	})
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	s := loggedIn(t, h, "u", session.Client{Close: func() { closed = true }})
	if got := ask(s, "CLIENT TRACKING ON BCAST PREFIX b"); !strings.HasPrefix(got, "-NOPERM") || s.Tracking().On {
		t.Errorf("some keys: %s", got)
	}
	if got := ask(s, "CLIENT TRACKING ON", "CLIENT TRACKING OFF"); got != "+OK|+OK|" {
		t.Errorf("the keys that it reads: %s", got)
	}
	for _, tt := range []struct {
		keys   string
		closed bool
	}{{`["*"]`, false}, {`["a*"]`, true}} {
		keys = tt.keys
		if err := h.ReloadUsers(); err != nil {
			t.Fatal(err)
		}
		if closed != tt.closed {
			t.Errorf("keys %s: closed is %t", keys, closed)
		}
		if !tt.closed {
			if got := ask(s, "CLIENT TRACKING ON BCAST"); got != "+OK|" {
				t.Errorf("all keys: %s", got)
			}
		}
	}
}

// TestHeldReadsAreTracked: reads that are executed again, because the answers before them were long, are
// tracked again, although OPTIN named them before.
func TestHeldReadsAreTracked(t *testing.T) {
	h := newTrackingHandler()
	l, other := newListener(h, 0), h.NewSession(session.Client{})
	ask(l.Session, "HELLO 3", "CLIENT TRACKING ON OPTIN")
	big := strings.Repeat("x", 4<<20)
	for i := range 20 {
		ask(other, fmt.Sprintf("SET big%d %s", i, big))
	}
	lines := []string{"CLIENT CACHING YES", "MGET"}
	for i := range 20 {
		lines[1] += fmt.Sprintf(" big%d", i)
	}
	lines = append(lines, "MGET"+lines[1][4:], "MGET"+lines[1][4:], "GET k")
	for _, line := range lines {
		l.Do(words(line))
	}
	l.Flush()
	if !l.Paused() {
		t.Fatal("nothing is held")
	}
	ask(other, "SET k 1")
	for l.Out = nil; l.Paused(); l.Out = nil {
		l.Resume()
		l.Out = nil
		l.Continue()
	}
	ask(other, "SET k 2")
	if got := l.received(); !strings.Contains(got, "|$1|k|") {
		t.Errorf("after a change of a key that was read when the output was written: %.100q", got)
	}
}
