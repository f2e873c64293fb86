package replication

import (
	"slices"
	"testing"

	"limitsrv/engine"
	"limitsrv/replication/fsm"
)

// fits is a batch with an op that only log entries of the feature level FitFeatures have, after an op of
// any version.
func fits() *engine.Batch {
	return &engine.Batch{Ops: []engine.Op{
		{Params: engine.Params{Alg: engine.Fixed, Limit: 9, Period: 60e9}, N: 1, Key: []byte("k")},
		{Kind: engine.Refund, Mode: engine.Fit, N: 1, Key: []byte("k")},
	}}
}

// TestOlderUntilAllKnow: all nodes ask for older forms until the last member knows the newer
// forms, and refuse only the ops of newer forms.
func TestOlderUntilAllKnow(t *testing.T) {
	t.Parallel()
	older := ""
	c := startCluster(t, 3, func(o *Options) {
		if o.ElectionTimeout = noElection(); older == "" {
			older, o.level = o.Raft, engine.FitFeatures-1
		}
	})
	known := func(level int) func() bool {
		return func() bool {
			return !slices.ContainsFunc(c.nodes, func(n *Node) bool {
				s := n.stack.Load()
				return s == nil || !s.FSM.IsCurrent() || !s.reaches(level)
			})
		}
	}
	eventually(t, "the level of the older node is known", known(engine.FitFeatures-1))
	for _, n := range c.nodes {
		b := fits()
		if n.Features() != engine.FitFeatures-1 || n.Loggable(b, 0) != errLevel || n.Loggable(b, 1) != errLevel ||
			exec(n, b) != errLevel {
			t.Errorf("%s accepts a form that a member does not know", n.o.Raft)
		}
		if b.Ops[1].Mode = 0; n.Loggable(b, 0) != nil || exec(n, b) != nil {
			t.Errorf("%s refuses forms that all members know", n.o.Raft)
		}
		if b.Ops[1].Mode, b.Ops[1].N = engine.Fit, 0; n.Loggable(b, 0) != errLevel || n.Loggable(b, 1) != nil && n.Leads() {
			t.Errorf("%s: the look is not answered by the leader alone", n.o.Raft)
		}
	}
	upgraded := c.nodes[0]
	c.close(upgraded)
	upgraded.o.level = fsm.KnownLevel
	c.nodes = append(c.nodes, c.open(upgraded.o))
	eventually(t, "all know the newest level", known(fsm.KnownLevel))
	for _, n := range c.nodes {
		if b := fits(); n.Features() != 0 || n.Loggable(b, 0) != nil || exec(n, b) != nil {
			t.Errorf("%s refuses a form that all members know", n.o.Raft)
		}
	}
}

// TestLevelIsKnownAtOnce: a node that starts again knows the level of the log before it has a
// leader, and a new member knows it when it becomes a member.
func TestLevelIsKnownAtOnce(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, nil)
	eventually(t, "the level is stored", func() bool { return c.nodes[0].member().Level == fsm.KnownLevel })
	second := c.join(nil)
	eventually(t, "it is a member", func() bool { return second.stack.Load() != nil })
	if second.Features() != 0 || second.member().Level != fsm.KnownLevel {
		t.Error("a new member does not know the level")
	}
	c.voters(2)
	first := c.nodes[0]
	c.close(second)
	c.close(first)
	second = c.open(second.o)
	s := second.stack.Load()
	if level := s.FSM.Level(); level == fsm.KnownLevel {
		t.Errorf("it has applied its log, up to level %d, without a leader", level)
	}
	if second.Features() != 0 {
		t.Error("a node that starts again does not know the level")
	}
	if s.learnLevel(fsm.KnownLevel - 1); second.Features() != 0 {
		t.Error("a leader that has not applied its log lowers the level")
	}
}
