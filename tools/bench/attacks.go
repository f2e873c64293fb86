package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"limitsrv/internal/respclient"
)

// An attackResult is the effect of unauthenticated clients of a kind on a server with a
// password.
type attackResult struct {
	disturbance
	tries float64 // per second
}

// attackKinds are the kinds of hostile clients, with one attempt of each.
var attackKinds = []struct {
	kind string
	try  func(ctx context.Context, conn net.Conn) // the server may reject it in any way
}{
	{"open a connection and send nothing", staySilent},
	{"send garbage", sendGarbage},
	{"send a command byte by byte", sendSlowly},
	{"guess passwords", guessPasswords},
}

// stressPassword is the password of the attacked servers.
const stressPassword = "correct horse battery staple"

// attacks attacks servers with a password, with the same kind of clients after the other.
func attacks(ctx context.Context, e *env) error {
	ours, theirs, err := inTurn(e, func(p product) ([]attackResult, error) { return e.measureAttacks(ctx, p) })
	if err != nil {
		return fmt.Errorf("unauthenticated clients: %w", err)
	}
	e.addAttacks(ours, theirs)
	return nil
}

// addAttacks adds a row for each kind of clients.
func (e *env) addAttacks(ours, theirs []attackResult) {
	for i, a := range attackKinds {
		e.addStress(fmt.Sprintf("%d unauthenticated clients that %s: p99 of other clients over before", e.stress.hostile,
			a.kind),
			slowdownGoal.check(slowdown(ours[i].before, ours[i].during)), ours[i].text(), theirs[i].text())
	}
}

// measureAttacks attacks a single server.
func (e *env) measureAttacks(ctx context.Context, p product) ([]attackResult, error) {
	b := e.stress
	s, err := e.startFilled(ctx, p, stressPassword)
	if err != nil {
		return nil, err
	}
	var all []attackResult
	for _, a := range attackKinds {
		var tries atomic.Int64
		d, err := b.disturb(ctx, s, func() error {
			runClients(ctx, b.hostile, b.watch, func(ctx context.Context, _ int) { repeatAttack(ctx, s, a.try, &tries) })
			return nil
		})
		if err != nil {
			return all, fmt.Errorf("clients that %s: %w", a.kind, err)
		}
		got := attackResult{d, float64(tries.Load()) / b.watch.Seconds()}
		e.say("%s, unauthenticated clients that %s: %s", s.name, a.kind, got.text())
		all = append(all, got)
	}
	return all, nil
}

func (a attackResult) text() string {
	return fmt.Sprintf("%s; %s/s, %.1f MB more at most", a.p99Text(), countText(a.tries), float64(a.grown)/1e6)
}

// attackInterval is the minimum interval between two attempts of a client.
const attackInterval = 20 * time.Millisecond

// repeatAttack is a client, which repeats its attempts until ctx ends.
func repeatAttack(ctx context.Context, s *side, try func(context.Context, net.Conn), tries *atomic.Int64) {
	for ctx.Err() == nil {
		next := time.Now().Add(attackInterval)
		if conn, err := net.DialTimeout("tcp", s.address, lastReplyWait); err == nil {
			stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
			try(ctx, conn)
			stop()
			conn.Close()
			tries.Add(1)
		}
		sleep(ctx, time.Until(next))
	}
}

// staySilent waits for a while, or until the server closes the connection.
func staySilent(_ context.Context, conn net.Conn) {
	conn.SetReadDeadline(time.Now().Add(10 * attackInterval))
	io.Copy(io.Discard, conn)
}

// garbage are prefixes that make a careless server allocate memory or wait.
var garbage = []string{"*1000000000\r\n", "*3\r\n$1000000000\r\n", "*-1\r\n", "$9223372036854775807\r\n",
	"GET / HTTP/1.1\r\n", "\x16\x03\x01"}

// sendGarbage sends a prefix of garbage and random bytes, and reads the reply.
func sendGarbage(ctx context.Context, conn net.Conn) {
	junk := []byte(garbage[rand.IntN(len(garbage))])
	for range 1000 {
		junk = append(junk, byte(rand.Uint32()))
	}
	if _, err := conn.Write(junk); err == nil {
		staySilent(ctx, conn)
	}
}

// sendSlowlyInterval is the pause after each byte.
const sendSlowlyInterval = time.Millisecond

// sendSlowly sends a command byte by byte.
func sendSlowly(ctx context.Context, conn net.Conn) {
	for _, b := range respclient.AppendCommand(nil, "RL.TOKEN", "key", "1000", "1000/d") {
		if _, err := conn.Write([]byte{b}); err != nil || sleep(ctx, sendSlowlyInterval) != nil {
			return
		}
	}
}

// guesses is the number of passwords tried per connection.
const guesses = 20

// guessPasswords tries passwords in a pipeline. Each is answered by one line.
func guessPasswords(_ context.Context, conn net.Conn) {
	var request []byte
	for range guesses {
		request = respclient.AppendCommand(request, "AUTH", fmt.Sprint(rand.Uint64()))
	}
	if _, err := conn.Write(request); err != nil {
		return
	}
	answers := bufio.NewScanner(conn)
	for n := 0; n < guesses && answers.Scan(); n++ {
	}
}
