package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A harm is what strangers of one kind do to a server that has a password.
type harm struct {
	kind           string
	tries          float64 // per second
	before, during latency // of others
	grown          int64   // resident bytes at most, beyond before
}

// strangers are the kinds: what each does once.
var strangers = []struct {
	kind string
	try  func(ctx context.Context, conn net.Conn) error
}{
	{"open a connection and send nothing", stayMute},
	{"send garbage", sendGarbage},
	{"send a command byte by byte", dribble},
	{"guess passwords", guess},
}

// siegePassword is that of the server that strangers come to.
const siegePassword = "correct horse battery staple"

// measureStrangers has strangers of one kind after the other come to s, which has a
// password.
func measureStrangers(ctx context.Context, b besiege, s *side, say func(string, ...any)) ([]harm, error) {
	if _, err := fill(ctx, s, lastingBucket, b.existing); err != nil {
		return nil, err
	}
	var all []harm
	for _, kind := range strangers {
		var (
			h   = harm{kind: kind.kind}
			err error
		)
		if h.before, err = watchOthers(ctx, s, b, b.existing, during(ctx, b.watch, pass)); err != nil {
			return all, err
		}
		resident, err := s.residentBytes()
		if err != nil {
			return all, err
		}
		var (
			peak  memoryPeak
			tries atomic.Int64
		)
		h.during, err = watchOthers(ctx, s, b, b.existing, during(ctx, b.watch, func(ctx context.Context) error {
			var wait sync.WaitGroup
			for range b.hostile {
				wait.Go(func() { keepTrying(ctx, s, kind.try, &tries) })
			}
			err := peak.followResident(ctx, s)
			wait.Wait()
			return err
		}))
		if err != nil {
			return all, fmt.Errorf("who %s: %w", kind.kind, err)
		}
		h.tries, h.grown = float64(tries.Load())/b.watch.Seconds(), peak.resident-resident
		say("%s, strangers who %s: %s", s.name, h.kind, h.text())
		all = append(all, h)
	}
	return all, nil
}

// strangerEvery is how often one of them comes again at most.
const strangerEvery = 20 * time.Millisecond

// keepTrying is one stranger, who comes again and again until ctx ends.
func keepTrying(ctx context.Context, s *side, try func(context.Context, net.Conn) error, tries *atomic.Int64) {
	for ctx.Err() == nil {
		next := time.Now().Add(strangerEvery)
		if conn, err := net.DialTimeout("tcp", s.address, lastReplyWait); err == nil {
			stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
			try(ctx, conn) // whatever the server does to it is right
			stop()
			conn.Close()
			tries.Add(1)
		}
		sleep(ctx, time.Until(next))
	}
}

// stayMute waits for a while, or until the server closes.
func stayMute(_ context.Context, conn net.Conn) error {
	conn.SetReadDeadline(time.Now().Add(10 * strangerEvery))
	_, err := io.Copy(io.Discard, conn)
	return err
}

// garbage are beginnings of what makes a careless server take memory or time.
var garbage = []string{"*1000000000\r\n", "*3\r\n$1000000000\r\n", "*-1\r\n", "$9223372036854775807\r\n", "GET / HTTP/1.1\r\n", "\x16\x03\x01"}

// sendGarbage sends one of them and random bytes, and reads what is answered.
func sendGarbage(ctx context.Context, conn net.Conn) error {
	junk := []byte(garbage[rand.IntN(len(garbage))])
	for range 1000 {
		junk = append(junk, byte(rand.Uint32()))
	}
	if _, err := conn.Write(junk); err != nil {
		return err
	}
	return stayMute(ctx, conn)
}

// dribbleEvery is the rest after each byte.
const dribbleEvery = time.Millisecond

// dribble sends a command so.
func dribble(ctx context.Context, conn net.Conn) error {
	for _, b := range appendCommand(nil, "RL.TOKEN", "key", "1000", "1000/d") {
		if _, err := conn.Write([]byte{b}); err != nil {
			return err
		}
		if err := sleep(ctx, dribbleEvery); err != nil {
			return err
		}
	}
	return nil
}

// guesses is how many passwords are tried in one connection.
const guesses = 20

// guess tries some passwords, all at once.
func guess(_ context.Context, conn net.Conn) error {
	var request []byte
	for range guesses {
		request = appendCommand(request, "AUTH", fmt.Sprint(rand.Uint64()))
	}
	if _, err := conn.Write(request); err != nil {
		return err
	}
	c := newClient(conn)
	for range guesses {
		if _, err := c.read(); err != nil {
			if _, refused := err.(replyError); !refused {
				return err
			}
		}
	}
	return nil
}
