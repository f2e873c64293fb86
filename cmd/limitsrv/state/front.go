package state

import (
	"context"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/engine"
	"limitsrv/engine/slots"
	"limitsrv/internal/status"
	"limitsrv/replication"
	"limitsrv/replication/front"
	"limitsrv/replication/fronts"
	"limitsrv/replication/fsm"
	"limitsrv/replication/link"
)

// frontState is the state of a front: it has no keys.
type frontState struct{ *front.Front }

func openFront(c Config, notices *engine.Notices, host string, secrets *link.Secrets) (Opened, error) {
	o := c.Options
	open, err := front.Open(front.Options{
		Nodes: o.Front, Client: host, Version: c.Version, NoQuorum: replication.NoQuorum(o.NoQuorum),
		ElectionTimeout: o.ElectionTimeout, Commands: Commands, Notices: notices, TLS: o.LinkFiles(), Secrets: secrets,
		Level: replication.FrontLevel, Logger: c.Log, Fatal: c.Fatal,
	})
	if err != nil {
		return Opened{}, err
	}
	a := frontAdapter{open, o.ClusterMode}
	return Opened{State: frontState{open}, Notices: notices, Store: noStore{}, Cluster: a, Reads: front.State{Front: open},
		Ask: a.ask, Certificates: open.Certificates(), Secrets: secrets}, nil
}

func (frontState) Fsync() string { return "by the nodes that this front forwards to" }

func (frontState) Loads() bool { return false }

func (frontState) Load(context.Context) error { return nil }

func (frontState) StepDown(context.Context) {}

func (frontState) SetBound(int64, bool) {}

func (frontState) Sweep(int) int64 { return 0 }

func (s frontState) Close(ctx context.Context, _ backend.Parting) error { return s.Front.Close(ctx) }

// noStore is the backend.Store of a front.
type noStore struct{}

func (noStore) Save(func(error)) error { return front.NoState() }

func (noStore) Backup(string, func(string, error)) error { return front.NoState() }

func (noStore) Status() status.Store { return status.Store{} }

// frontAdapter makes a front.Front a backend.Cluster.
type frontAdapter struct {
	*front.Front
	mode string // --cluster-mode
}

func (a frontAdapter) Enabled() bool { return a.mode != "off" }

// Where reports true: a front forwards commands with keys of any slot.
func (frontAdapter) Where(slots.Slot, bool) (address string, here bool) { return "", true }

// Divided returns false: a front is before a group that owns all slots.
func (frontAdapter) Divided() bool { return false }

// Groups returns the group.
func (a frontAdapter) Groups(local string) []backend.Group {
	return backend.WholeOf(a.Nodes(local), a.Replication().Term)
}

func (frontAdapter) Leads() bool { return false }

// Features returns the feature level of the group, or 0 if the group supports all that a front may send.
func (a frontAdapter) Features() uint8 {
	if level := a.FeatureLevel(); level < fsm.KnownLevel {
		return uint8(level)
	}
	return 0
}

// Loggable returns an error if the log of the group may not have the ops of a batch from index from on.
func (a frontAdapter) Loggable(b *engine.Batch, from int) error {
	return replication.LoggableAt(a.FeatureLevel(), b, from)
}

func (frontAdapter) Digest() (index, digest uint64) { return 0, 0 }

func (frontAdapter) HandleForwarded(func(*engine.Batch, func(error)) func(error)) {}

func (frontAdapter) HandleAsked(func(context.Context, backend.Asked) ([][]byte, error)) {}

// Wait calls done with 0: WAIT is answered by another node.
func (frontAdapter) Wait(_ context.Context, _ int, _ time.Duration, done func(int)) { done(0) }

func (a frontAdapter) Change(c backend.Change, done func(error)) error {
	if c.Kind == backend.Leave {
		return front.NoState()
	}
	a.Front.Change(front.ChangeRequest{Kind: string(changes[c.Kind]), Node: c.ID},
		func(err error) { done(clusterError(err)) })
	return nil
}

// ask has a member answer lines.
func (a frontAdapter) ask(ctx context.Context, q backend.Asked, done func([][]byte, error)) {
	asked := fronts.Asked{Proto3: q.Proto3, InExec: q.InExec}
	for _, line := range q.Lines {
		asked.Lines = append(asked.Lines, fronts.Line(line))
	}
	a.Front.Ask(ctx, asked, done)
}

// askedOf returns the lines that a front asks.
func askedOf(q fronts.Asked) backend.Asked {
	asked := backend.Asked{Proto3: q.Proto3, InExec: q.InExec}
	for _, line := range q.Lines {
		asked.Lines = append(asked.Lines, backend.Line(line))
	}
	return asked
}
