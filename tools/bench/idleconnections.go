package main

import (
	"context"
	"fmt"
)

// An idleCost is the memory of a server per idle connection, in bytes.
type idleCost struct {
	fresh float64 // of a connection that has sent nothing
	used  float64 // of a connection after a decision
	heap  float64 // share of used on the heap, as reported by INFO
}

// idleGoal is the goal of the memory of an idle connection.
var idleGoal = goal{order: atMost, bound: 12, unit: " KB"}

// idleConnections measures the memory of idle connections.
func idleConnections(ctx context.Context, e *env) error {
	if err := haveFiles(e.stress.connections + 1000); err != nil {
		return err
	}
	ours, theirs, err := inTurn(e, func(p product) (idleCost, error) {
		s, err := e.startForMany(ctx, p)
		if err != nil {
			return idleCost{}, err
		}
		return measureIdle(ctx, s, e.stress)
	})
	if err == nil {
		e.addIdle(ours, theirs)
	}
	return err
}

// addIdle adds the row on idle connections.
func (e *env) addIdle(ours, theirs idleCost) {
	e.addStress("resident bytes of each of "+countText(float64(e.stress.connections))+
		" idle connections: new / after a decision",
		idleGoal.check(max(ours.fresh, ours.used)/1024), ours.text(), theirs.text())
}

func (c idleCost) text() string {
	return fmt.Sprintf("%.1f / %.1f KB (heap %.1f KB)", c.fresh/1024, c.used/1024, c.heap/1024)
}

// startForMany starts a server that accepts the plan's connections.
func (e *env) startForMany(ctx context.Context, p product) (*side, error) {
	option := "--max-clients"
	if p == redisLua {
		option = "--maxclients"
	}
	return e.start(ctx, p, "", option, fmt.Sprint(e.stress.connections+100))
}

// measureIdle opens connections and measures the memory of s.
//
// Requires: s is newly started.
func measureIdle(ctx context.Context, s *side, b stressPlan) (idleCost, error) {
	var (
		cost  idleCost
		conns []*loadConn
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
		h, err := s.figure("memory", "allocator_allocated")
		return float64(r), float64(h), err
	}
	empty, emptyHeap, err := weigh()
	if err != nil {
		return cost, err
	}
	if conns, err = s.openConns(ctx, tokenBucket, 1, b.connections); err != nil {
		return cost, err
	}
	defer closeConns(conns)
	defer expire(ctx, conns)()
	if err := s.awaitClients(ctx, b.connections); err != nil {
		return cost, err
	}
	resident, _, err := weigh()
	if err != nil {
		return cost, err
	}
	cost.fresh = (resident - empty) / float64(b.connections)
	for _, c := range conns {
		c.request.fill(func() (int, bool) { return proberKey, true })
		if _, err := c.ask(1); err != nil {
			return cost, err
		}
	}
	resident, heap, err := weigh()
	cost.used = (resident - empty) / float64(b.connections)
	cost.heap = (heap - emptyHeap) / float64(b.connections)
	return cost, err
}

// awaitClients waits until s reports at least want clients.
func (s *side) awaitClients(ctx context.Context, want int) error {
	return eventually(ctx, func() error {
		n, err := s.figure("clients", "connected_clients")
		if err == nil && n < int64(want) {
			err = fmt.Errorf("%s has %d clients, want %d", s.name, n, want)
		}
		return err
	})
}
