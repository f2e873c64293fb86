package main

import (
	"context"
	"fmt"
	"net"
	"time"
)

// connectMany opens n connections to s.
func connectMany(ctx context.Context, s *side, n int) ([]net.Conn, error) {
	all := make([]net.Conn, 0, n)
	for range n {
		conn, err := s.connect()
		if err == nil && ctx.Err() != nil {
			conn.Close()
			err = context.Cause(ctx)
		}
		if err != nil {
			closeAll(all)
			return nil, fmt.Errorf("connection %d of %d: %w", len(all)+1, n, err)
		}
		all = append(all, conn)
	}
	return all, nil
}

func closeAll(conns []net.Conn) {
	for _, c := range conns {
		c.Close()
	}
}

// connect opens a connection, and logs in if the side has a password.
func (s *side) connect() (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", s.address, lastReplyWait)
	if err != nil || s.password == "" {
		return conn, err
	}
	conn.SetDeadline(time.Now().Add(lastReplyWait))
	if _, err = conn.Write(appendCommand(nil, "AUTH", s.password)); err == nil {
		err = readLines(conn, make([]byte, 64), 1)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, conn.SetDeadline(time.Time{})
}

// An idleCost is the memory of a server per idle connection, in bytes.
type idleCost struct {
	fresh float64 // of a connection that has sent nothing
	used  float64 // of a connection after one decision
	heap  float64 // share of used on the heap, as reported by INFO
}

// measureIdle opens connections and measures the memory of s.
//
// Requires: s is newly started.
func measureIdle(ctx context.Context, s *side, b stressPlan) (idleCost, error) {
	var (
		cost  idleCost
		conns []net.Conn
		err   error
	)
	weigh := func() (resident, heap float64, err error) {
		if err := sleep(ctx, min(settle, b.watch)); err != nil {
			return 0, 0, err
		}
		r, err := s.residentBytes()
		if err != nil {
			return 0, 0, err
		}
		h, err := s.figure("used_memory")
		return float64(r), float64(h), err
	}
	empty, emptyHeap, err := weigh()
	if err != nil {
		return cost, err
	}
	if conns, err = connectMany(ctx, s, b.connections); err != nil {
		return cost, err
	}
	defer closeAll(conns)
	if err := s.awaitClients(ctx, b.connections); err != nil {
		return cost, err
	}
	resident, _, err := weigh()
	if err != nil {
		return cost, err
	}
	cost.fresh = (resident - empty) / float64(b.connections)
	if err := askEach(s, conns); err != nil {
		return cost, err
	}
	resident, heap, err := weigh()
	cost.used = (resident - empty) / float64(b.connections)
	cost.heap = (heap - emptyHeap) / float64(b.connections)
	return cost, err
}

// askEach requests one decision over each connection.
func askEach(s *side, conns []net.Conn) error {
	var (
		request = newPipeline(s.commands[tokenBucket], 1)
		buf     = make([]byte, 4096)
	)
	request.fill(func() (int, bool) { return proberKey, true })
	for _, c := range conns {
		c.SetDeadline(time.Now().Add(lastReplyWait))
		if _, err := c.Write(request.first(1)); err != nil {
			return err
		}
		if err := readLines(c, buf, s.replyLines[tokenBucket]); err != nil {
			return err
		}
		c.SetDeadline(time.Time{})
	}
	return nil
}

// awaitClients waits until s reports at least want clients.
func (s *side) awaitClients(ctx context.Context, want int) error {
	for deadline := time.Now().Add(lastReplyWait); ; {
		n, err := s.figure("connected_clients")
		if err != nil {
			return err
		}
		if n >= int64(want) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s has %d clients after %v, want %d", s.name, n, lastReplyWait, want)
		}
		if err := sleep(ctx, restPoll); err != nil {
			return err
		}
	}
}
