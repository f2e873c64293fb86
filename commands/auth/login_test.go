package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/auth/users"
	"limitsrv/engine"
)

// A loginHarness is a logins with workers and a clock that the test steps.
type loginHarness struct {
	*Logins
	now   engine.Instant
	work  []func()
	waits []time.Duration
	then  []func()
	log   *bytes.Buffer
}

func newLoginHarness(t *testing.T, password, file string) *loginHarness {
	t.Helper()
	table, err := users.Parse("f", []byte(withHashes(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	g := &loginHarness{now: 1e18, log: &bytes.Buffer{}}
	g.Logins = New(Config{
		Password: password, Users: table, Log: slog.New(slog.NewTextHandler(g.log, nil)),
		Spawn: func(f func()) { g.work = append(g.work, f) },
		After: func(d time.Duration, f func()) { g.waits, g.then = append(g.waits, d), append(g.then, f) },
	})
	g.limiter.now = func() engine.Instant { return g.now }
	return g
}

// try logs in; the returned function tells the result: a name, an error, or pending.
func (g *loginHarness) try(from, name, password string) func() string {
	answer := "nothing"
	g.Begin(from, name, []byte(password), func(a *Account, err error) {
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

func (g *loginHarness) hash() {
	work := g.work
	g.work = nil
	for _, f := range work {
		f()
	}
}

func (g *loginHarness) wake() {
	then := g.then
	g.then, g.waits = nil, nil
	for _, f := range then {
		f()
	}
}

func (g *loginHarness) wants(t *testing.T, what string, got func() string, want string) {
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

// A right password is hashed once and then cached: for its address it is accepted under
// any load from other clients, for other addresses without a hash.
func TestLoginIsRemembered(t *testing.T) {
	g := newLoginHarness(t, "", twoUsers)
	first := g.try("10.0.0.1:1", "shop", "pw")
	g.wants(t, "before the hash", first, "nothing")
	again := g.try("10.0.0.2:1", "shop", "pw")
	if len(g.work) != 1 || len(g.queue) != 1 {
		t.Fatalf("%d workers and %d attempts for the same name and password, want 1", len(g.work), len(g.queue))
	}
	g.hash()
	g.wants(t, "after it", first, "shop")
	g.wants(t, "the waiter that joined", again, "shop")
	for i := range 3 * loginBurst {
		g.try("10.0.0.1:2", "shop", fmt.Sprint("wrong", i))
	}
	if got := len(g.queue); got != guessesAtOnce {
		t.Errorf("%d attempts of an address are checked after a right one, want %d, because that takes no token", got,
			guessesAtOnce)
	}
	g.wants(t, "from its address in a flood", g.try("10.0.0.1:3", "shop", "pw"), "shop")
	g.wants(t, "from another address", g.try("10.0.0.3:3", "shop", "pw"), "shop")
	second := g.try("10.0.0.3:4", "shop", "other")
	g.wants(t, "another password of the user", second, "nothing")
	g.hash()
	g.wants(t, "after its hash", second, "shop")
}

// Number of guesses with a name that are checked, and that are answered, within the first
// second.
const (
	guessesAtOnce = int(loginBurst - guessedLeast + 1)
	answersAtOnce = int(loginBurst - turnLeast + 1)
)

// pass advances the clock in steps of a second and runs all that is due in each.
func (g *loginHarness) pass(seconds int) {
	for range seconds {
		g.now += engine.Instant(time.Second)
		g.wake()
		g.hash()
	}
}

// count returns the number of attempts with an answer.
func count(all []func() string, answer error) (n int) {
	for _, a := range all {
		if a() == answer.Error() {
			n++
		}
	}
	return n
}

// Failing attempts of an address take turns; attempts beyond its line are rejected
// without a check; attempts of other addresses are not affected.
func TestLoginsAreSlowed(t *testing.T) {
	g := newLoginHarness(t, "", twoUsers)
	var all []func() string
	for i := range guessesAtOnce + maxLine + 5 {
		all = append(all, g.try("10.0.0.1:1", "shop", fmt.Sprint("wrong", i)))
	}
	if got := len(g.queue); got != guessesAtOnce {
		t.Errorf("%d attempts are checked at once, want %d", got, guessesAtOnce)
	}
	other := g.try("10.0.0.2:1", "shop", "pw")
	g.hash()
	g.wants(t, "another address", other, "shop")
	if got := count(all, ErrWrongPass); got != guessesAtOnce {
		t.Errorf("%d attempts are answered at once where the line is full, want %d", got, guessesAtOnce)
	}
	g.wake()
	if got := count(all, errTooManyLogins); got != 5 {
		t.Errorf("%d attempts are rejected without a check, want 5", got)
	}
	g.pass(int(turnLeast - guessedLeast + 1))
	before := count(all, ErrWrongPass)
	g.pass(10)
	if got := count(all, ErrWrongPass) - before; got != 10 {
		t.Errorf("%d attempts have their turns in ten seconds, want 10", got)
	}
	g.pass(maxLine)
	if got := count(all, ErrWrongPass); got != guessesAtOnce+maxLine {
		t.Errorf("%d attempts had their turns, want %d", got, guessesAtOnce+maxLine)
	}
	if n := g.fails.total.Load(); n != int64(len(all)) {
		t.Errorf("%d failures counted, want %d", n, len(all))
	}
	if text := g.log.String(); strings.Count(text, "login failed") != 1 || !strings.Contains(text, "from=10.0.0.1") ||
		strings.Contains(text, "wrong") {
		t.Errorf("the log says\n%s", text)
	}
	if len(g.lines)+len(g.pending)+len(g.checking) > 0 {
		t.Errorf("%d lines, %d pending, %d being checked are left", len(g.lines), len(g.pending), len(g.checking))
	}
}

// A wrong password that was checked before its turn is answered in its turn, and only such
// an answer is delayed, so that a client that waits for its answer leaves tokens for other
// clients.
func TestGuessesAreAnsweredInTurn(t *testing.T) {
	g := newLoginHarness(t, "", twoUsers)
	var all []func() string
	for i := range guessesAtOnce {
		all = append(all, g.try("10.0.0.1:1", "shop", fmt.Sprint("wrong", i)))
	}
	g.hash()
	if got := count(all, ErrWrongPass); got != answersAtOnce {
		t.Errorf("%d guesses are answered at once, want %d", got, answersAtOnce)
	}
	right := g.try("10.0.0.1:2", "eye", "see")
	g.hash()
	g.wants(t, "a name that is not guessed at", right, "eye")
	g.pass(int(turnLeast-guessedLeast) + len(all))
	if got := count(all, ErrWrongPass); got != len(all) {
		t.Errorf("%d guesses are answered in the end, want %d", got, len(all))
	}
}

// A password cached as wrong is not hashed and takes no token, until the users change.
func TestWrongPasswordsAreCached(t *testing.T) {
	g := newLoginHarness(t, "", twoUsers)
	first := g.try("10.0.0.1:1", "shop", "wrong")
	g.hash()
	g.wants(t, "at first", first, ErrWrongPass.Error())
	var all []func() string
	for range 3 * loginBurst {
		all = append(all, g.try("10.0.0.1:1", "shop", "wrong"))
	}
	if len(g.work)+len(g.lines) > 0 || len(g.waits) != len(all) || g.waits[0] != refusalDelay {
		t.Errorf("%d are hashed, %d lines, %d waits", len(g.work), len(g.lines), len(g.waits))
	}
	g.wake()
	if got := count(all, ErrWrongPass); got != len(all) {
		t.Errorf("%d of %d are answered that the password is wrong", got, len(all))
	}
	g.forget() // as ReloadUsers does
	again := g.try("10.0.0.1:1", "shop", "wrong")
	g.hash()
	g.wants(t, "after a reload", again, ErrWrongPass.Error())
	if len(g.waits) > 0 {
		t.Error("it is not checked again")
	}
	for i := range 2 * maxWrong {
		evictOne(g.wrong, maxWrong)
		g.wrong[mac{byte(i), byte(i >> 8)}] = g.current.Load()
	}
	if len(g.wrong) != maxWrong {
		t.Errorf("%d passwords are known to be wrong, want %d", len(g.wrong), maxWrong)
	}
}

// A cancelled attempt is not checked, and its client is not a new client when it returns.
func TestCancelLogin(t *testing.T) {
	g := newLoginHarness(t, "", twoUsers)
	var leave []func()
	for i := range 20 {
		leave = append(leave, g.Begin("10.0.0.1:1", "shop", fmt.Append(nil, "wrong", i),
			func(*Account, error) { t.Error("it is answered") }))
	}
	for _, cancel := range leave {
		cancel()
		cancel()
	}
	if len(g.lines) > 0 || len(g.pending) != guessesAtOnce {
		t.Errorf("%d lines and %d pending, want those that are being checked", len(g.lines), len(g.pending))
	}
	g.hash()
	if n := g.fails.total.Load(); n != 20 || len(g.pending) > 0 {
		t.Errorf("%d failures counted, want 20; %d pending", n, len(g.pending))
	}
	g.now += engine.Instant(loginPeriod) // a token for a new client
	g.try("10.0.0.1:1", "shop", "wrong again")
	if len(g.queue) > 0 {
		t.Error("a client that cancelled and returned is checked at once")
	}
	g.now += engine.Instant(maxLeft * leftPeriod)
	g.wake()
	g.hash()
}

// Names take turns, for any number of guesses at a name.
func TestNamesTakeTurns(t *testing.T) {
	g := newLoginHarness(t, "", twoUsers)
	for i := range guessesAtOnce + 50 {
		g.try("10.0.0.1:1", "shop", fmt.Sprint("wrong", i))
	}
	for i := range 5 {
		g.try("10.0.0.1:1", "eye", fmt.Sprint("wrong", i))
	}
	right := g.try("10.0.0.1:1", "eye", "see")
	g.hash()
	g.pass(25)
	g.wants(t, "a right password after five wrong ones of its name", right, "eye")
}

// The password of the default user needs no hash, but tokens like all other passwords.
func TestPasswordIsSlowedToo(t *testing.T) {
	g := newLoginHarness(t, "secret", twoUsers)
	for i := range 3 * loginBurst {
		g.wants(t, "right", g.try("10.0.0.9:1", "default", "secret"), "default")
		want := ErrWrongPass.Error()
		if i >= answersAtOnce {
			want = "nothing"
		}
		g.wants(t, fmt.Sprint("wrong ", i), g.try("10.0.0.1:1", "default", fmt.Sprint("wrong", i)), want)
	}
	g.wants(t, "a right password without a token", g.try("10.0.0.1:1", "default", "secret"), "nothing")
	g.now += engine.Instant(loginPeriod)
	g.wants(t, "right from there a second later", g.try("10.0.0.1:1", "default", "secret"), "default")
	if len(g.work) > 0 {
		t.Error("there is something to hash")
	}
}

// An unknown name is hashed as a known name is, always against the same user.
func TestUnknownNameCostsTheSame(t *testing.T) {
	g := newLoginHarness(t, "", twoUsers)
	var checked []string
	check := g.checkHash
	g.checkHash = func(u *users.User, password []byte) bool {
		checked = append(checked, u.Name)
		return check(u, password)
	}
	nobody := g.try("10.0.0.1:1", "nobody", "pw")
	if len(g.queue) != 1 {
		t.Fatal("it is not hashed")
	}
	g.hash()
	g.wants(t, "nobody", nobody, ErrWrongPass.Error())
	if len(checked) != 1 {
		t.Errorf("hashes of %v were computed, want those of one user", checked)
	}
	r := g.current.Load()
	seen := map[string]bool{}
	for i := range 64 {
		name := fmt.Sprint("nobody", i)
		u := r.dummyUser(g.key.mac("", name, nil))
		if u != r.dummyUser(g.key.mac("", name, nil)) {
			t.Errorf("the dummyUser of %s changes", name)
		}
		seen[u.Name] = true
	}
	if len(seen) != 2 {
		t.Errorf("dummy users are %v", seen)
	}
}

// A shutdown answers all waiting logins.
func TestEndAnswersLogins(t *testing.T) {
	g := newLoginHarness(t, "", twoUsers)
	var all []func() string
	for i := range 3 * loginBurst {
		all = append(all, g.try("10.0.0.1:1", "shop", fmt.Sprint("wrong", i)))
	}
	g.End()
	for i, a := range all {
		if a() == "nothing" || a() == "twice" {
			t.Errorf("attempt %d is answered %s", i, a())
		}
	}
	g.wake()
	g.hash()
	g.wants(t, "after the end", g.try("10.0.0.2:1", "shop", "x"), errEnding.Error())
	if len(g.pending)+len(g.queue)+len(g.timers.calls) > 0 {
		t.Errorf("%d pending, %d queued, %d wait", len(g.pending), len(g.queue), len(g.timers.calls))
	}
	if len(g.lines)+len(g.checking) > 0 {
		t.Errorf("%d lines, %d being checked", len(g.lines), len(g.checking))
	}
}

// Logins that need no hash are answered, however many attempts wait for a hash.
func TestAttemptsAreBounded(t *testing.T) {
	g := newLoginHarness(t, "", twoUsers)
	right := g.try("10.1.0.1:1", "shop", "pw")
	g.hash()
	g.wants(t, "at first", right, "shop")
	var last func() string
	for i := range 2 * maxHashQueue {
		last = g.try(fmt.Sprintf("10.0.%d.%d:1", i/256, i%256), "shop", fmt.Sprint("wrong", i))
	}
	if len(g.queue) != maxHashQueue || len(g.waits) != maxHashQueue || g.waits[0] != refusalDelay {
		t.Errorf("%d queued and %d rejected, want %d", len(g.queue), len(g.waits), maxHashQueue)
	}
	g.wants(t, "the same password from another address", g.try("10.1.0.2:1", "shop", "pw"), "shop")
	g.wake()
	g.wants(t, "the last", last, errTooManyLogins.Error())
	for i := range 2 * maxVerified {
		g.rememberClient(mac{byte(i), byte(i >> 8), byte(i >> 16)}, g.current.Load().byName["shop"])
	}
	if len(g.verified) != maxVerified {
		t.Errorf("%d verified, want %d", len(g.verified), maxVerified)
	}
	if n := strings.Count(g.log.String(), "\n"); n > maxFailureHosts+1 {
		t.Errorf("%d lines in the log", n)
	}
}

func TestHostOf(t *testing.T) {
	for from, want := range map[string]string{
		"10.0.0.1:5000": "10.0.0.1", "10.0.0.1": "10.0.0.1", "[::1]:80": "::1",
		"[2001:db8:1:2:3:4:5:6]:7": "2001:db8:1:2::/64",
		"2001:db8:1:2::9":          "2001:db8:1:2::/64", "[::ffff:10.0.0.1]:5": "10.0.0.1",
		"/run/limitsrv.sock:0": "/run/limitsrv.sock", "": "",
		"[fe80::1%eth0]:6": "fe80::/64",
	} {
		if got := SiteOf(from); got != want {
			t.Errorf("SiteOf(%q) = %q, want %q", from, got, want)
		}
	}
}

// Login serves callers without a session; it ends with its context.
func TestLogin(t *testing.T) {
	g := newLoginHarness(t, "", twoUsers)
	g.config.Spawn = func(f func()) { f() }
	a, err := g.Login(t.Context(), "10.0.0.1:1", "eye", []byte("see"))
	if err != nil || a.Name() != "eye" || !a.May("peek") || a.May("decide") || a.May("admin") || a.May("nonsense") {
		t.Errorf("Login says %+v, %v", a, err)
	}
	if _, err := g.Login(t.Context(), "10.0.0.1:1", "eye", []byte("pw")); !errors.Is(err, ErrWrongPass) {
		t.Errorf("Login with a wrong password says %v", err)
	}
	if nobody := (*Account)(nil); nobody.Name() != "" || nobody.May("peek") {
		t.Error("a nil Account has a permission")
	}
	g.config.Spawn = func(func()) {}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Login(ctx, "10.0.0.1:1", "eye", []byte("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("Login that is cancelled says %v", err)
	}
}

// Attempts from ever more addresses keep a bounded number of passwords.
func TestPendingLoginsAreBounded(t *testing.T) {
	g := newLoginHarness(t, "", twoUsers)
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
