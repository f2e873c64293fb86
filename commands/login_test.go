package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"limitsrv/commands/users"
	"limitsrv/engine"
)

// A gate is a logins whose workers and clock move when told.
type gate struct {
	*logins
	h     *Handler
	now   engine.Instant
	work  []func()
	waits []time.Duration
	then  []func()
	log   *bytes.Buffer
}

func newGate(t *testing.T, password, file string) *gate {
	t.Helper()
	table, err := users.Parse("f", []byte(withHashes(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{now: testStart, log: &bytes.Buffer{}}
	g.h = newTestHandlerWith(Config{Password: password, Users: table, Log: slog.New(slog.NewTextHandler(g.log, nil))})
	g.logins = g.h.logins
	g.spawn = func(f func()) { g.work = append(g.work, f) }
	g.after = func(d time.Duration, f func()) { g.waits, g.then = append(g.waits, d), append(g.then, f) }
	g.pace.now = func() engine.Instant { return g.now }
	return g
}

// try logs in and says what comes of it: a name, an error, or nothing as yet.
func (g *gate) try(from, name, password string) func() string {
	answer := "nothing"
	g.login(from, name, []byte(password), func(a *account, err error) {
		if answer != "nothing" {
			answer = "twice"
			return
		}
		if answer = fmt.Sprint(err); err == nil {
			answer = a.name
		}
	})
	return func() string { return answer }
}

func (g *gate) hash() {
	work := g.work
	g.work = nil
	for _, f := range work {
		f()
	}
}

func (g *gate) wake() {
	then := g.then
	g.then, g.waits = nil, nil
	for _, f := range then {
		f()
	}
}

func (g *gate) wants(t *testing.T, what string, got func() string, want string) {
	t.Helper()
	if got() != want {
		t.Errorf("%s: %s, want %s", what, got(), want)
	}
}

const twoUsers = `users:
  - name: shop
    hashes: ["#pw", "#other"]
    groups: [decide]
    keys: ["*"]
  - name: eye
    hash: "#see"
    groups: [peek]
    keys: ["*"]
`

// A right password is hashed once, and from then on known: from its address whatever
// others do, and from others without a hash.
func TestLoginIsRemembered(t *testing.T) {
	g := newGate(t, "", twoUsers)
	first := g.try("10.0.0.1:1", "shop", "pw")
	g.wants(t, "before the hash", first, "nothing")
	again := g.try("10.0.0.2:1", "shop", "pw")
	if len(g.work) != 1 || len(g.queue) != 1 {
		t.Fatalf("%d workers and %d attempts for the same name and password, want 1", len(g.work), len(g.queue))
	}
	g.hash()
	g.wants(t, "after it", first, "shop")
	g.wants(t, "who joined", again, "shop")
	for i := range 3 * loginBurst {
		g.try("10.0.0.1:2", "shop", fmt.Sprint("wrong", i))
	}
	if got := len(g.queue); got != loginBurst {
		t.Errorf("%d attempts of an address are checked after a right one, want %d, as that takes no permit", got, loginBurst)
	}
	g.wants(t, "from its address in a flood", g.try("10.0.0.1:3", "shop", "pw"), "shop")
	g.wants(t, "from another address", g.try("10.0.0.3:3", "shop", "pw"), "shop")
	second := g.try("10.0.0.3:4", "shop", "other")
	g.wants(t, "another password of the user", second, "nothing")
	g.hash()
	g.wants(t, "after its hash", second, "shop")
}

// Attempts of an address that fail are slowed more and more, and then refused
// unchecked; those of others are not.
func TestLoginsAreSlowed(t *testing.T) {
	g := newGate(t, "", twoUsers)
	var all []func() string
	for i := range 2*loginBurst + 5 {
		all = append(all, g.try("10.0.0.1:1", "shop", fmt.Sprint("wrong", i)))
	}
	if got := len(g.queue); got != loginBurst {
		t.Errorf("%d attempts are checked at once, want %d", got, loginBurst)
	}
	for i, wait := range g.waits {
		want := time.Duration(i+1) * loginPeriod
		if i >= loginBurst {
			want = refusalDelay
		}
		if wait > want || wait < want-time.Second {
			t.Errorf("attempt %d waits %v, want %v or up to a second less", loginBurst+i, wait, want)
		}
	}
	other := g.try("10.0.0.2:1", "shop", "pw")
	g.hash()
	g.wants(t, "another address", other, "shop")
	g.wants(t, "the first", all[0], errWrongPass.Error())
	g.wants(t, "one on credit", all[loginBurst], "nothing")
	g.wake()
	g.hash()
	g.wants(t, "one on credit, later", all[loginBurst], errWrongPass.Error())
	g.wants(t, "one beyond that", all[2*loginBurst], errTooManyLogins.Error())
	if n := g.fails.total.Load(); n != int64(len(all)) {
		t.Errorf("%d failures counted, want %d", n, len(all))
	}
	if text := g.log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "from=10.0.0.1") || strings.Contains(text, "wrong") {
		t.Errorf("the log says\n%s", text)
	}
	g.fails.tell("10.0.0.1")
	if text := g.log.String(); !strings.Contains(text, fmt.Sprint("count=", len(all)-1)) {
		t.Errorf("the log says\n%s", text)
	}
	g.now += 3 * loginBurst * engine.Instant(loginPeriod)
	late := g.try("10.0.0.1:1", "shop", "pw")
	g.hash()
	g.wants(t, "after a while", late, "shop")
}

// The password of the default user needs no hash, but permits like all others.
func TestPasswordIsSlowedToo(t *testing.T) {
	g := newGate(t, "secret", twoUsers)
	for i := range 3 * loginBurst {
		g.wants(t, "right", g.try("10.0.0.9:1", "default", "secret"), "default")
		want := errWrongPass.Error()
		if i >= loginBurst {
			want = "nothing"
		}
		g.wants(t, fmt.Sprint("wrong ", i), g.try("10.0.0.1:1", "default", fmt.Sprint("wrong", i)), want)
	}
	g.wants(t, "right from there", g.try("10.0.0.1:1", "default", "secret"), "nothing")
	if len(g.work) > 0 {
		t.Error("there is something to hash")
	}
}

// A name that is nobody's is hashed as one that is somebody's, always by the same user.
func TestNobodyCostsTheSame(t *testing.T) {
	g := newGate(t, "", twoUsers)
	var checked []string
	check := g.hashed
	g.hashed = func(u *users.User, password []byte) bool {
		checked = append(checked, u.Name)
		return check(u, password)
	}
	nobody := g.try("10.0.0.1:1", "nobody", "pw")
	if len(g.queue) != 1 {
		t.Fatal("it is not hashed")
	}
	g.hash()
	g.wants(t, "nobody", nobody, errWrongPass.Error())
	if len(checked) != 1 {
		t.Errorf("hashes of %v were worked out, want those of one user", checked)
	}
	r := g.roster()
	seen := map[string]bool{}
	for i := range 64 {
		name := fmt.Sprint("nobody", i)
		u := r.decoy(g.mac("", name, nil))
		if u != r.decoy(g.mac("", name, nil)) {
			t.Errorf("the decoy of %s changes", name)
		}
		seen[u.Name] = true
	}
	if len(seen) != 2 {
		t.Errorf("decoys are %v", seen)
	}
}

// The end of the server answers all who wait.
func TestEndAnswersLogins(t *testing.T) {
	g := newGate(t, "", twoUsers)
	var all []func() string
	for i := range 3 * loginBurst {
		all = append(all, g.try("10.0.0.1:1", "shop", fmt.Sprint("wrong", i)))
	}
	g.h.Drain()
	for i, a := range all {
		if a() == "nothing" || a() == "twice" {
			t.Errorf("attempt %d is answered %s", i, a())
		}
	}
	g.wake()
	g.hash()
	g.wants(t, "after the end", g.try("10.0.0.2:1", "shop", "x"), errEnding.Error())
	if len(g.pending)+len(g.queue)+len(g.logins.waits) > 0 {
		t.Errorf("%d pending, %d queued, %d wait", len(g.pending), len(g.queue), len(g.logins.waits))
	}
}

// However many attempts wait to be hashed, what needs no hash goes on.
func TestAttemptsAreBounded(t *testing.T) {
	g := newGate(t, "", twoUsers)
	right := g.try("10.1.0.1:1", "shop", "pw")
	g.hash()
	g.wants(t, "at first", right, "shop")
	var last func() string
	for i := range 2 * maxHashQueue {
		last = g.try(fmt.Sprintf("10.0.%d.%d:1", i/256, i%256), "shop", fmt.Sprint("wrong", i))
	}
	if len(g.queue) != maxHashQueue || len(g.waits) != maxHashQueue || g.waits[0] != refusalDelay {
		t.Errorf("%d queued and %d refused, want %d", len(g.queue), len(g.waits), maxHashQueue)
	}
	g.wants(t, "the same password from another address", g.try("10.1.0.2:1", "shop", "pw"), "shop")
	g.wake()
	g.wants(t, "the last", last, errTooManyLogins.Error())
	for i := range 2 * maxFamiliar {
		g.meet(mac{byte(i), byte(i >> 8), byte(i >> 16)}, g.roster().accounts["shop"])
	}
	if len(g.familiar) != maxFamiliar {
		t.Errorf("%d familiar, want %d", len(g.familiar), maxFamiliar)
	}
	if n := strings.Count(g.log.String(), "\n"); n > maxFailing+1 {
		t.Errorf("%d lines in the log", n)
	}
}

func TestHostOf(t *testing.T) {
	for from, want := range map[string]string{
		"10.0.0.1:5000": "10.0.0.1", "10.0.0.1": "10.0.0.1", "[::1]:80": "::1", "[2001:db8:1:2:3:4:5:6]:7": "2001:db8:1:2::/64",
		"2001:db8:1:2::9": "2001:db8:1:2::/64", "[::ffff:10.0.0.1]:5": "10.0.0.1", "/run/limitsrv.sock:0": "/run/limitsrv.sock", "": "",
		"[fe80::1%eth0]:6": "fe80::/64",
	} {
		if got := SiteOf(from); got != want {
			t.Errorf("SiteOf(%q) = %q, want %q", from, got, want)
		}
	}
}

// Login is for others than sessions; it ends with its context.
func TestLogin(t *testing.T) {
	g := newGate(t, "", twoUsers)
	g.spawn = func(f func()) { f() }
	a, err := g.h.Login(t.Context(), "10.0.0.1:1", "eye", []byte("see"))
	if err != nil || a.Name() != "eye" || !a.May("peek") || a.May("decide") || a.May("admin") || a.May("nonsense") {
		t.Errorf("Login says %+v, %v", a, err)
	}
	if _, err := g.h.Login(t.Context(), "10.0.0.1:1", "eye", []byte("pw")); !errors.Is(err, errWrongPass) {
		t.Errorf("Login with a wrong password says %v", err)
	}
	if nobody := (Account{}); nobody.Name() != "" || nobody.May("peek") {
		t.Error("nobody may something")
	}
	s := g.h.NewSessionAs(Client{}, a)
	defer s.Close()
	s.Do([][]byte{[]byte("ACL"), []byte("WHOAMI")})
	if !s.Flush() || string(s.Out) != "$3\r\neye\r\n" {
		t.Errorf("the session is of %q", s.Out)
	}
	g.spawn = func(func()) {}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.h.Login(ctx, "10.0.0.1:1", "eye", []byte("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("Login that is cancelled says %v", err)
	}
}

// Attempts from ever more addresses keep only so many passwords.
func TestPendingLoginsAreBounded(t *testing.T) {
	g := newGate(t, "", twoUsers)
	for i := range maxPending + 10 {
		g.try(fmt.Sprintf("10.%d.%d.1:1", i/256, i%256), "shop", fmt.Sprint(i))
	}
	if len(g.pending) != maxPending {
		t.Errorf("%d attempts are kept, want %d", len(g.pending), maxPending)
	}
	late := g.try("11.0.0.1:1", "shop", "pw")
	g.wake()
	g.wants(t, "a login beyond the bound", late, errTooManyLogins.Error())
	g.hash()
	after := g.try("11.0.0.1:1", "shop", "pw")
	g.hash()
	g.wants(t, "a login after that", after, "shop")
}

// Logins, decisions and reloads at once, with workers as they are.
func TestLoginsRace(t *testing.T) {
	file := withHashes(t, twoUsers)
	h, err := newTestHandlerOf("", func() string { return file })
	if err != nil {
		t.Fatal(err)
	}
	h.logins.spawn = func(f func()) { go f() }
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 50 {
				woken := make(chan struct{}, 100)
				s := h.NewSession(Client{Addr: fmt.Sprintf("10.0.%d.%d:1", i, j), Close: func() {}, Wake: func() { woken <- struct{}{} }})
				line := [][]byte{[]byte("AUTH"), []byte("shop"), []byte("pw")}
				s.Do(line)
				for !s.Resume() {
					<-woken
				}
				s.Do([][]byte{[]byte("RL.TOKEN"), []byte("k"), []byte("1"), []byte("1")})
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
