package commands

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"limitsrv/commands/auth"
	"limitsrv/commands/auth/users"
	"limitsrv/commands/calls"
	"limitsrv/commands/rules"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/engine"
)

const limitedUsers = `users:
  - name: shop
    hash: "#pw"
    groups: [decide, peek]
    keys: ["web:*", "user:*"]
  - name: boss
    hash: "#pw"
    groups: [admin]
    keys: ["*"]
`

// loggedIn returns a session of a user with password pw.
func loggedIn(t testing.TB, h *session.Handler, name string, c session.Client) *session.Session {
	t.Helper()
	a, err := h.Logins().Login(t.Context(), "10.0.0.1:1", name, []byte("pw"))
	if err != nil {
		t.Fatal(err)
	}
	return h.NewSessionAs(c, a)
}

// Checking the rights of a limited user does not allocate.
func TestNoAllocationForALimitedUser(t *testing.T) {
	h, err := newTestHandlerOf("", func() string { return withHashes(t, limitedUsers) })
	if err != nil {
		t.Fatal(err)
	}
	s := loggedIn(t, h, "shop", session.Client{})
	for _, line := range []string{
		"RL.TOKEN user:1 10 1", "RL.PEEK user:1", "EXISTS web:1 user:1 user:2",
		"RL.ALL TOKEN user:1 10 1 1 SLIDE web:3 10 1m 1", "PING",
	} {
		allocateNothing(t, s, line)
	}
}

// allocateNothing checks that a pipeline of 64 times a line allocates nothing.
func allocateNothing(t *testing.T, s *session.Session, line string) {
	t.Helper()
	args := words(line)
	got := testing.AllocsPerRun(100, func() {
		for range 64 {
			s.Do(args)
		}
		s.Flush()
		s.Out = s.Out[:0]
	})
	if got != 0 {
		t.Errorf("%s: %v allocations for a pipeline of 64, want 0", line, got)
	}
}

// seeds are accepted lines of every op command.
var seeds = []string{
	"RL.TOKEN a 10 1", "RL.LEAKY a 10 1 2 PARTIAL", "RL.FIXED a 10 day 1", "RL.SLIDE a 10 60 1 SHADOW", "RL.LOG a 10 60",
	"RL.ACQUIRE a 10 60 id",
	"RL.RESERVE i 60 TOKEN a 1 1 1", "RL.RESERVE i 60 KEEP 1 PARTIAL FIXED a 1 60 1 LOG b 1 60 =1",
	"RL.RELEASE a id", "RL.ALL TOKEN a 1 1 1 LOG b 1 60 1 TOKEN c 1 1 1", "RL.PEEK a", "RL.REFUND a 1", "RL.CHARGE a 1",
	"RL.RESET a b c", "RL.BLOCK a 60", "CL.THROTTLE a 1 1 60 1",
	"RL.THROTTLE a 1 1 60 -1", "THROTTLE a 1 1 60 1", "GCRA a 1 1 60 TOKENS 2", "DEL a b", "UNLINK a b", "EXISTS a b",
	"TOUCH a", "TYPE a", "TTL a", "PTTL a",
	"OBJECT ENCODING a", "OBJECT FREQ a", "OBJECT IDLETIME a", "OBJECT REFCOUNT a",
	"GET a", "SET a 1 EX 60", "SETEX a 60 1", "PSETEX a 60 1", "SETNX a 1", "GETSET a 1", "GETDEL a", "GETEX a EX 60",
	"MGET a b", "MSET a 1 b 2", "MSETNX a 1 b 2",
	"INCR a", "DECR a", "INCRBY a 1", "DECRBY a 1", "INCRBYFLOAT a 1", "APPEND a 1", "STRLEN a", "SETRANGE a 1 d",
	"GETRANGE a 0 1", "SUBSTR a 0 1", "INCREX a BYINT 1",
	"RENAME a b", "RENAMENX a b", "EXPIRE a 60", "PEXPIRE a 60", "EXPIREAT a 60", "PEXPIREAT a 60", "EXPIRETIME a",
	"PEXPIRETIME a", "PERSIST a",
	"HSET a f 1", "HMSET a f 1", "HSETNX a f 1", "HGET a f", "HMGET a f", "HGETALL a", "HDEL a f", "HINCRBY a f 1",
	"HINCRBYFLOAT a f 1", "HKEYS a", "HVALS a", "HLEN a",
	"HSTRLEN a f", "HEXISTS a f", "HRANDFIELD a", "HSCAN a 0",
	"ZADD a 1 m", "ZINCRBY a 1 m", "ZREM a m", "ZCARD a", "ZCOUNT a 0 1", "ZLEXCOUNT a - +", "ZSCORE a m", "ZMSCORE a m",
	"ZRANK a m", "ZREVRANK a m", "ZRANGE a 0 1",
	"ZREVRANGE a 0 1", "ZRANGEBYSCORE a 0 1", "ZREVRANGEBYSCORE a 1 0", "ZRANGEBYLEX a - +", "ZREVRANGEBYLEX a + -",
	"ZREMRANGEBYRANK a 0 1", "ZREMRANGEBYSCORE a 0 1",
	"ZREMRANGEBYLEX a - +", "ZPOPMIN a", "ZPOPMAX a", "ZRANDMEMBER a", "ZRANGESTORE a b 0 1", "ZSCAN a 0",
	"LPUSH a v", "RPUSH a v", "LPUSHX a v", "RPUSHX a v", "LPOP a", "RPOP a", "LINDEX a 0", "LLEN a", "LTRIM a 0 1",
	"LRANGE a 0 1", "LSET a 0 v", "LREM a 0 v",
	"LINSERT a BEFORE v w", "LPOS a v", "LMOVE a b LEFT RIGHT", "RPOPLPUSH a b", "BLPOP a b 0", "BRPOP a b 0",
	"SADD a m", "SREM a m", "SMEMBERS a", "SISMEMBER a m", "SMISMEMBER a m", "SCARD a", "SPOP a", "SRANDMEMBER a",
	"SMOVE a b m", "SSCAN a 0", "SINTER a b", "SUNION a b",
	"SDIFF a b", "SINTERSTORE a b c", "SUNIONSTORE a b c", "SDIFFSTORE a b c", "SINTERCARD 2 a b",
	"EVAL x=1 2 a b c", "EVAL_RO x=1 1 a b", "EVALSHA 0123456789012345678901234567890123456789 1 a",
	"EVALSHA_RO 0123456789012345678901234567890123456789 1 a b",
	"SCRIPT LOAD x=1", "SCRIPT EXISTS a", "SCRIPT FLUSH",
	"FCALL f 2 a b c", "FCALL_RO f 1 a b", "FUNCTION LOAD x", "FUNCTION DELETE x", "FUNCTION FLUSH", "FUNCTION LIST",
	"FUNCTION STATS",
	"RL.RULES VERSION", "RL.OVERRIDE GET a b c", "RL.OVERRIDE LIST a",
	"SETBIT a 1 1", "GETBIT a 1", "BITCOUNT a", "BITFIELD a GET u8 0", "BITFIELD_RO a GET u8 0",
}

// rightsOn returns the rights of a user in all groups with a key pattern.
func rightsOn(t interface{ Fatal(...any) }, pattern string) *auth.Rights {
	file := fmt.Sprintf("users:\n  - {name: u, hash: %q, groups: [admin], keys: [%q]}\n", quickHash("pw"), pattern)
	table, err := users.Parse("f", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return auth.New(auth.Config{Users: table}).Find("u").Rights()
}

// Rights are checked for every key that a command may use: no line uses another key.
func TestRightsSeeEveryKey(t *testing.T) {
	r := newRegistry()
	seeded, all := map[string]bool{}, slices.Clone(seeds)
	for _, line := range seeds {
		if c, _ := r.Lookup(words(line), nil); c != nil {
			seeded[c.FullName] = true
		}
	}
	for _, c := range r.Specs() {
		if c.Op != nil && c.Flags&spec.AllKeys == 0 && !seeded[c.FullName] {
			all = append(all, strings.Join(sampleLine(c), " "))
		}
	}
	for _, line := range all {
		if c, err := r.Lookup(words(line), nil); err != nil || c.Op(&engine.Batch{}, words(line)) != nil {
			t.Fatalf("%s is not accepted", line)
		}
	}
	word := rapid.SampledFrom([]string{"a", "b", "c", "d", "1", "2", "60", "day", "-1", "0", "TOKEN", "LOG", "PARTIAL",
		"SHADOW", "TOKENS", "id"})
	rapid.Check(t, func(t *rapid.T) {
		line := words(rapid.SampledFrom(all).Draw(t, "line"))
		for range rapid.IntRange(0, 6).Draw(t, "changes") {
			at := rapid.IntRange(1, len(line)).Draw(t, "at")
			switch w := []byte(word.Draw(t, "word")); {
			case rapid.Bool().Draw(t, "insert") || at == len(line):
				line = slices.Insert(line, at, w)
			default:
				line[at] = w
			}
		}
		c, err := r.Lookup(line, nil)
		b := &engine.Batch{}
		if err != nil || c.Op == nil || c.Op(b, line) != nil {
			return
		}
		for _, key := range keysOf(b) {
			if string(key) == rules.KeyPrefix { // of no limit: the group of RL.BLOCK needs a second member
				continue
			}
			if !slices.ContainsFunc(c.KeysOf(line), func(k []byte) bool { return bytes.Equal(k, key) }) {
				t.Fatalf("%q touches %q, and is held against %q", line, key, c.KeysOf(line))
			}
			others := rightsOn(t, "[^"+string(key)+"]")
			if why, _ := c.Deny(others, line); why != session.DeniedKey {
				t.Fatalf("%q is allowed to a user without the key %q", line, key)
			}
		}
	})
}

// keysOf returns the keys that a batch may touch.
func keysOf(b *engine.Batch) (keys [][]byte) {
	for i := range b.Ops {
		if b.Ops[i].Kind == engine.Learn {
			continue
		}
		if b.Ops[i].Kind != engine.Do {
			keys = append(keys, b.Ops[i].Key)
			continue
		}
		c := &b.Calls[b.Ops[i].N]
		at, _ := calls.Commands.Keys(c, nil)
		for _, k := range at {
			keys = append(keys, c.Args[k])
		}
	}
	return keys
}

// rightsIn returns the rights of a user in a group on all keys and channels.
func rightsIn(t *testing.T, group string) *auth.Rights {
	file := fmt.Sprintf("users:\n  - {name: u, hash: %q, groups: [%s], keys: [\"*\"], channels: [\"*\"]}\n",
		quickHash("pw"), group)
	table, err := users.Parse("f", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return auth.New(auth.Config{Users: table}).Find("u").Rights()
}

// A group allows the commands that ACL CAT lists for it, and those for everyone, except
// those that administer or delete keys without naming them. Every
// command that has keys or writes requires a group.
func TestGroupsAreCategories(t *testing.T) {
	for _, group := range users.GroupNames {
		r := rightsIn(t, group)
		for _, c := range newRegistry().Specs() {
			cats := c.Categories()
			everyone := slices.Contains(cats, session.Everyone)
			adminOnly := c.Flags&spec.Admin != 0 || c.Flags&spec.Runs != 0 && c.Uses == nil || c.Flags&spec.Forgets != 0 &&
				c.Flags&spec.AllKeys != 0
			want := group == "admin" || everyone || !adminOnly && slices.Contains(cats, group) || c.Flags&spec.NoAuth != 0
			if why, _ := c.Deny(r, nil); (why == session.Granted) != want {
				t.Errorf("%s for a user in %s: granted is %t, want %t", c.FullName, group, !want, want)
			}
			switch {
			case everyone && c.Flags&(spec.Write|spec.ReadOnly|spec.Admin|spec.AllKeys|spec.Forgets|spec.Reaches|spec.Runs|
				spec.Plain) != 0:
				t.Errorf("%s is for everyone", c.FullName)
			case c.Flags&spec.Forgets != 0 && c.Flags&spec.Write == 0:
				t.Errorf("%s forgets and does not write", c.FullName)
			case (group == "decide" || group == "peek") && want && c.Flags&spec.Plain != 0:
				t.Errorf("%s is for users of limits in %s", c.FullName, group)
			}
		}
	}
}

// A reload closes the sessions of users that were removed or have another password, and
// monitors without the rights for it; all other sessions stay.
func TestReloadClosesSessions(t *testing.T) {
	const (
		shop = "  - name: shop\n    hash: \"#pw\"\n    groups: [decide]\n    keys: [\"*\"]\n"
		boss = "  - name: boss\n    hash: \"#pw\"\n    groups: [admin]\n    keys: [\"*\"]\n"
	)
	for _, tt := range []struct {
		name, after string
		want        string // users of the closed sessions
	}{
		{"nothing changes", shop + boss, ""},
		{"the order changes", boss + shop, ""},
		{"a user is removed", boss, "shop"},
		{"a user is disabled", shop + "    enabled: false\n" + boss, "shop"},
		{"another hash", strings.Replace(shop, "#pw", "#new", 1) + boss, "shop"},
		{"other rights", strings.Replace(shop, "decide", "peek", 1) + boss, ""},
		{"a monitor loses the group", shop + strings.Replace(boss, "admin", "decide", 1), "monitor"},
		{"a monitor loses the pattern *", shop + strings.Replace(boss, "*", "a*", 1), "monitor"},
	} {
		file := "users:\n" + shop + boss
		h, err := newTestHandlerOf("", func() string { return withHashes(t, file) })
		if err != nil {
			t.Fatal(err)
		}
		var closed []string
		open := func(user, as string) *session.Session {
			return loggedIn(t, h, user, session.Client{Close: func() { closed = append(closed, as) }})
		}
		open("shop", "shop")
		open("boss", "boss")
		open("boss", "monitor").Do(words("MONITOR"))
		h.NewSession(session.Client{Close: func() { closed = append(closed, "nobody") }})
		file = "users:\n" + tt.after
		if err := h.ReloadUsers(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(closed, " "); got != tt.want {
			t.Errorf("%s: %q are closed, want %q", tt.name, got, tt.want)
		}
	}
}

// A session that logs in while its user is revoked is not logged in.
func TestLoginOfRevokedUser(t *testing.T) {
	file := withHashes(t, limitedUsers)
	load := func() (*users.Table, error) { return users.Parse("f", []byte(file)) }
	table, err := load()
	if err != nil {
		t.Fatal(err)
	}
	var found func()
	h := newTestHandlerWith(session.Config{Users: table, LoadUsers: load, Spawn: func(f func()) { found = f }})
	s := h.NewSession(session.Client{Addr: "10.0.0.1:1", Wake: func() {}})
	s.Do(words("AUTH shop pw"))
	found()
	file = strings.Replace(file, "name: shop", "name: other", 1)
	if err := h.ReloadUsers(); err != nil {
		t.Fatal(err)
	}
	s.Resume()
	s.Do(words("PING"))
	s.Flush()
	if want := "-" + auth.ErrWrongPass.Error() + "\r\n-NOAUTH Authentication required.\r\n"; string(s.Out) != want {
		t.Errorf("the answers are %q, want %q", s.Out, want)
	}
}

// A MONITOR that begins while its user loses rights is closed.
func TestMonitorWithoutRights(t *testing.T) {
	for _, tt := range []struct {
		name     string
		old, new string // of the users file
		want     bool
	}{
		{"the user may do everything", "", "", false},
		{"some keys only", `["*"]`, "[a]", true},
		{"the user is revoked", "boss", "other", true},
	} {
		file := withHashes(t, limitedUsers)
		h, err := newTestHandlerOf("", func() string { return file })
		if err != nil {
			t.Fatal(err)
		}
		s := loggedIn(t, h, "boss", session.Client{Close: func() {}}) // allowed a moment ago
		file = strings.Replace(file, tt.old, tt.new, 1)
		if err := h.ReloadUsers(); err != nil {
			t.Fatal(err)
		}
		s.Monitor()
		if s.Closing() != tt.want {
			t.Errorf("%s: Closing() = %v, want %v", tt.name, s.Closing(), tt.want)
		}
	}
}

// A secret appears in no output: not in MONITOR, SLOWLOG, INFO, CONFIG GET, CLIENT LIST
// and ACL, not in the log, and not in a reply to another client.
func TestSecretsStaySecret(t *testing.T) {
	const secret = "hunter2hunter2"
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	file := withHashes(t, strings.Replace(limitedUsers, "#pw", "#"+secret, 1))
	load := func() (*users.Table, error) { return users.Parse("users.yaml", []byte(file)) }
	table, err := load()
	if err != nil {
		t.Fatal(err)
	}
	h := newTestHandlerWith(session.Config{Users: table, LoadUsers: load, Log: slog.Default()})
	root := loggedIn(t, h, "boss", session.Client{Addr: "10.0.0.9:9", Wake: func() {}})
	watch := loggedIn(t, h, "boss", session.Client{Addr: "10.0.0.8:8", Wake: func() {}})
	ask := func(s *session.Session, line string) string {
		s.Out = nil
		s.Do(words(line))
		s.Flush()
		s.Resume()
		return string(s.Out)
	}
	ask(root, "CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 10000")
	ask(watch, "MONITOR")
	var lines []string
	for _, before := range []string{"", "MULTI", "CLIENT REPLY OFF"} {
		for _, l := range []string{
			"AUTH %s", "AUTH shop %s", "auth %s %s", "AUTH %s x", "AUTH a b %s", "HELLO 3 AUTH shop %s", "HELLO 2 AUTH %s %s",
			"HELLO 3 SETNAME x AUTH shop %s",
			"HELLO 3 AUTH shop %s FOO", "HELLO 3 AUTH %s", "HELLO 9 AUTH shop %s", "ACL SETUSER x on >%s", "ACL DELUSER %s",
			"acl setuser %s",
			"ACL DRYRUN shop AUTH %s", "CONFIG SET password %s", "CONFIG SET max-clients %s", "CONFIG SET %s x", "ACL %s",
			"AUTH", "CLIENT %s", "NOPE %s",
		} {
			lines = append(lines, before+"\n"+strings.ReplaceAll(l, "%s", secret))
		}
	}
	for i, l := range lines {
		for _, user := range []string{"", "shop", "boss"} {
			s := h.NewSession(session.Client{Addr: fmt.Sprintf("10.1.%d.1:1", i), Wake: func() {}})
			if user != "" {
				_ = s.SwitchAccount(h.Logins().Find(user))
			}
			for one := range strings.SplitSeq(l, "\n") {
				ask(s, one)
			}
			ask(s, "EXEC")
			s.Close()
		}
	}
	for _, line := range []string{
		"SLOWLOG GET -1", "INFO everything", "CONFIG GET *", "CLIENT LIST", "ACL LIST", "ACL GETUSER shop", "ACL USERS",
		"LATENCY HISTOGRAM", "COMMAND DOCS",
	} {
		if got := ask(root, line); strings.Contains(got, secret) || strings.Contains(got, "argon2id$") {
			t.Errorf("%s shows a secret: %s", line, around(got, secret))
		}
	}
	watch.Out = nil
	watch.Resume()
	shown := string(watch.Out)
	if strings.Contains(shown, secret) || !strings.Contains(shown, "(redacted)") {
		t.Errorf("MONITOR shows a secret, or nothing: %s", around(shown, secret))
	}
	file += "  - " + secret
	if err := h.ReloadUsers(); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("the error of an invalid file is %v", err)
	}
	if text := log.String(); strings.Contains(text, secret) || !strings.Contains(text, "login failed") ||
		strings.Contains(text, "argon2id$") {
		t.Errorf("the log says %s", text)
	}
}

// around returns the neighbourhood of a word in a text.
func around(text, word string) string {
	i := strings.Index(text, word)
	if i < 0 {
		return text[:min(len(text), 200)]
	}
	return text[max(0, i-150):min(len(text), i+50)]
}

func TestDenied(t *testing.T) {
	h, err := newTestHandlerOf("", func() string { return withHashes(t, limitedUsers) })
	if err != nil {
		t.Fatal(err)
	}
	s := h.NewSession(session.Client{Addr: "10.0.0.1:1", Wake: func() {}})
	for _, line := range []string{"AUTH shop wrong", "AUTH x y", "AUTH shop pw", "DEL web:1", "SAVE", "MONITOR",
		"RL.TOKEN x 1 1", "INFO stats"} {
		s.Do(words(line))
		s.Flush()
	}
	if got, want := h.Denied(), (session.Denied{Logins: 2, Commands: 3, Keys: 1}); got != want {
		t.Errorf("Denied() = %+v, want %+v", got, want)
	}
	if text := string(s.Out); !strings.Contains(text,
		"acl_access_denied_auth:2\r\nacl_access_denied_cmd:3\r\nacl_access_denied_key:1\r\n") {
		t.Errorf("INFO says %s", text)
	}
}

// NewSessionAs makes a session of its account.
func TestNewSessionAs(t *testing.T) {
	h, err := newTestHandlerOf("", func() string { return withHashes(t, limitedUsers) })
	if err != nil {
		t.Fatal(err)
	}
	s := loggedIn(t, h, "shop", session.Client{})
	defer s.Close()
	s.Do(words("ACL WHOAMI"))
	if !s.Flush() || string(s.Out) != "$4\r\nshop\r\n" {
		t.Errorf("the session is of %q", s.Out)
	}
}

// Concurrent logins, decisions and reloads, with the real workers.
func TestLoginsRace(t *testing.T) {
	file := withHashes(t, limitedUsers)
	load := func() (*users.Table, error) { return users.Parse("f", []byte(file)) }
	table, err := load()
	if err != nil {
		t.Fatal(err)
	}
	h := newTestHandlerWith(session.Config{Users: table, LoadUsers: load, Spawn: func(f func()) { go f() }})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 50 {
				woken := make(chan struct{}, 100)
				s := h.NewSession(session.Client{Addr: fmt.Sprintf("10.0.%d.%d:1", i, j), Close: func() {},
					Wake: func() { woken <- struct{}{} }})
				line := [][]byte{[]byte("AUTH"), []byte("shop"), []byte("pw")}
				s.Do(line)
				for !s.Resume() {
					<-woken
				}
				s.Do([][]byte{[]byte("RL.TOKEN"), []byte("user:1"), []byte("1"), []byte("1")})
				s.Flush()
				if !strings.HasPrefix(string(s.Out), "+OK\r\n*5") {
					t.Errorf("the answers are %q", s.Out)
				}
				s.Close()
			}
		})
	}
	for range 20 {
		if err := h.ReloadUsers(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}
