package replication

import (
	"context"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/simtest"
	"limitsrv/replication/front"
	"limitsrv/replication/undecided"
)

// simFrontName is the host of the front of a simulation.
const simFrontName = "f1"

// A simFront is a front before the nodes, with a client. Its links to nodes are cut now and then.
type simFront struct {
	cluster *simCluster
	front   *front.Front
	rules   simtest.Rules
	gone    chan struct{} // closed when the front has closed
	// calls counts the calls of its client while it knows a leader, and answers the calls that the leader
	// answered.
	calls, answers int
	told           simTold
	checked        int // takes that changed a key, and that its clients were told of
}

// startFront starts a front with a client, unless the nodes are too old for fronts at first.
func (c *simCluster) startFront() {
	if c.plan.upgrade > 0 {
		return
	}
	policy := c.plan.noQuorum
	if policy == undecided.Local {
		policy = undecided.Error
	}
	f := &simFront{cluster: c, gone: make(chan struct{})}
	notices := new(engine.Notices)
	notices.HandleChanges(f.told.changed)
	notices.Track(1)
	f.told.forget()
	var err error
	f.front, err = front.Open(front.Options{
		Nodes: []string{c.nodes[0].address(), c.nodes[1].address()}, Client: simFrontName + ":6379", Version: "simulated",
		NoQuorum: policy, ElectionTimeout: c.plan.election, Commands: simtest.Commands, Notices: notices,
		Level: FrontLevel, Logger: c.logs.Logger(simFrontName), Dial: c.net.host(simFrontName).Dial,
		Fatal: func(err error) { c.fault("fatal error of the front: %v", err) },
	})
	if err != nil {
		c.fault("the front does not start: %v", err)
		return
	}
	c.front, f.rules = f, simtest.NodeRules(f.front.Engine)
	c.wait.Go(f.client)
	c.wait.Go(f.cutLinks)
}

// client makes calls until the run ends.
func (f *simFront) client() {
	c := f.cluster
	for {
		select {
		case <-c.ending:
			return
		case <-time.After(c.between(1, 4*c.plan.idleGap)):
		}
		if c.enterCall() {
			if f.front.Leader().Raft != "" {
				f.calls++
			}
			f.ask(c.request(f.rules))
			c.leaveCall()
		}
	}
}

// ask makes a call, and records it in the history.
func (f *simFront) ask(r simtest.Request) {
	c, h := f.cluster, f.cluster.history
	call := h.Begin(simFrontName, r)
	batch := call.Batch()
	f.told.forget()
	done := make(chan error, 2)
	f.front.Exec(batch, func(err error) { done <- err })
	f.front.Commit()
	outcome := simtest.Unknown
	select {
	case err := <-done:
		if outcome = h.Outcome(call, err); err == nil && hasNoQuorum(batch) {
			outcome = simtest.NoQuorum
		}
		if outcome == simtest.Answered {
			f.answers++
		}
	case <-f.gone:
	case <-time.After(simPatience):
		c.fault("call %d to the front was not answered within %v", call.Number, simPatience)
	}
	h.Finish(call, outcome, batch)
	if outcome == simtest.Answered {
		f.awaitTold(call, batch)
	}
}

// hasNoQuorum reports whether a policy decided a part of a batch.
func hasNoQuorum(b *engine.Batch) bool {
	for i := range b.Decisions {
		if d := &b.Decisions[i]; d.NoQuorum || d.Status == engine.Down {
			return true
		}
	}
	return false
}

// cutLinks cuts the links between the front and a node now and then, one way or both.
func (f *simFront) cutLinks() {
	c := f.cluster
	for {
		select {
		case <-c.ending:
			return
		case <-time.After(c.between(time.Second, 40*time.Second)):
		}
		nodes := c.all()
		node, ways := nodes[c.intN(len(nodes))].name, c.intN(3)
		if ways != 0 {
			c.net.setCut(simFrontName, node, true)
		}
		if ways != 1 {
			c.net.setCut(node, simFrontName, true)
		}
		select {
		case <-c.ending:
		case <-time.After(c.between(0, 5*time.Second)):
		}
		c.net.repair([]string{simFrontName, node})
	}
}

// close closes the front.
func (f *simFront) close() {
	c := f.cluster
	ctx, cancel := context.WithTimeout(context.Background(), simCloseWithin)
	defer cancel()
	if err := f.front.Close(ctx); err != nil {
		c.fault("the front does not close: %v", err)
	}
	close(f.gone)
}
