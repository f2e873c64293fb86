package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/commands/auth/users"
	"limitsrv/internal/testing/testwait"
)

// A loginLoad is a number of clients of an address that guess passwords, and a client of
// the same address that logs in now and then with a right password not used before.
type loginLoad struct {
	name     string
	password string                   // of the default user; empty: there are users
	victim   func(i int) string       // name of login i
	guessed  func(next, i int) string // name of guess i, while login next is the next login
	patience time.Duration            // time until a guessing client cancels and reconnects
}

const (
	guessers   = 50
	loadLogins = 200
	loadGap    = 170 * time.Millisecond
	loadHash   = 30 * time.Millisecond
	loadUsers  = 100 // targets of guesses, in addition to the users that log in
)

var loginLoads = []loginLoad{
	{"one other user", "", newcomer, oneGuessed, time.Hour},
	{"many users", "", newcomer, manyGuessed, time.Hour},
	{"unknown names", "", newcomer, func(_, i int) string { return fmt.Sprint("nobody", i) }, time.Hour},
	{"the next to log in", "", newcomer, func(next, _ int) string { return newcomer(next) }, time.Hour},
	{"the same user", "", theOne, oneGuessed, time.Hour},
	{"the password of all", "secret", byDefault, func(int, int) string { return DefaultUser }, time.Hour},
	{"one other user, without any patience", "", newcomer, oneGuessed, 100 * time.Millisecond},
	{"many users, with little patience", "", newcomer, manyGuessed, 5 * time.Second},
	{"the same user, with little patience", "", theOne, oneGuessed, 5 * time.Second},
}

func newcomer(i int) string       { return fmt.Sprint("new", i) }
func theOne(int) string           { return "one" }
func byDefault(int) string        { return DefaultUser }
func oneGuessed(int, int) string  { return theOne(0) }
func manyGuessed(_, i int) string { return fmt.Sprint("other", i*7%loadUsers) }

// A right password is accepted while other clients of its address guess, and no more
// guesses are checked than a burst of tokens and a token a second.
func TestRightLoginsUnderLoad(t *testing.T) {
	testwait.Long(t)
	for _, s := range loginLoads {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { s.run(t) })
		})
	}
}

// newLoadedLogins returns Logins with the users of a loginLoad.
func newLoadedLogins(t *testing.T, password string) *Logins {
	t.Helper()
	file := &strings.Builder{}
	file.WriteString("users:\n")
	user := func(name string) {
		fmt.Fprintf(file, "  - {name: %s, hash: \"#x\", groups: [decide], keys: [\"*\"]}\n", name)
	}
	user(theOne(0))
	for i := range loadUsers {
		user(fmt.Sprint("other", i))
	}
	for i := range loadLogins {
		user(newcomer(i))
	}
	table, err := users.Parse("f", []byte(withHashes(t, file.String())))
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{Password: password, Users: table, Log: slog.New(slog.DiscardHandler)})
}

func (s *loginLoad) run(t *testing.T) {
	l := newLoadedLogins(t, s.password)
	var (
		checked, told atomic.Int64 // guesses: hashed, and answered
		next          atomic.Int64
		began         = time.Now()
		ctx, cancel   = context.WithCancel(t.Context())
	)
	guess := func(n *atomic.Int64) {
		if got, most := n.Add(1), loginBurst+int64(time.Since(began)/loginPeriod); got > most {
			t.Errorf("guess %d was checked after %v, want %d or fewer by then", got, time.Since(began), most)
		}
	}
	l.checkHash = func(_ *users.User, password []byte) bool {
		time.Sleep(loadHash)
		right := strings.HasPrefix(string(password), "right")
		if !right {
			guess(&checked)
		}
		return right
	}
	var all sync.WaitGroup
	defer time.Sleep(time.Minute) // lets the pending hashes end
	defer all.Wait()
	defer cancel()
	for g := range guessers {
		all.Go(func() {
			for i := g; ctx.Err() == nil; i += guessers {
				patient, done := context.WithTimeout(ctx, s.patience)
				_, err := l.Login(patient, "10.0.0.1:1", s.guessed(int(next.Load()), i), fmt.Appendf(nil, "guess %d", i))
				done()
				if err == nil {
					t.Error("a guess is right")
				}
				if errors.Is(err, ErrWrongPass) {
					guess(&told)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	time.Sleep(1100 * time.Millisecond) // the burst of tokens is used up
	var took []time.Duration
	for i := range loadLogins {
		next.Store(int64(i))
		time.Sleep(loadGap)
		password := fmt.Sprint("right", i)
		if s.password != "" {
			password = s.password
			l.mu.Lock()
			clear(l.verified) // as if never used
			l.mu.Unlock()
		}
		sent := time.Now()
		patient, done := context.WithTimeout(ctx, 10*time.Second)
		_, err := l.Login(patient, "10.0.0.1:9", s.victim(i), []byte(password))
		done()
		if took = append(took, time.Since(sent)); err != nil {
			t.Logf("login %d after %v: %v", i, time.Since(sent), err)
		}
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100-1]
	t.Logf("right logins take %v at the median, %v at p99, %v at most; %d guesses checked and %d answered in %v",
		took[len(took)/2], p99, took[len(took)-1], checked.Load(), told.Load(), time.Since(began))
	if p99 > 250*time.Millisecond {
		t.Errorf("right logins take %v at p99, want 250ms or less", p99)
	}
}
