package state

import (
	"context"
	"errors"

	"limitsrv/commands/backend"
	"limitsrv/commands/resp"
	"limitsrv/engine"
	"limitsrv/engine/slots"
	"limitsrv/internal/turns"
	"limitsrv/replication"
	"limitsrv/replication/fronts"
	"limitsrv/replication/link"
)

// clusterState is a state replicated on several nodes.
type clusterState struct {
	*replication.Node
	ack replication.Ack
}

func openCluster(c Config, notices *engine.Notices, host string, secrets *link.Secrets) (Opened, error) {
	o := c.Options
	owned, err := o.OwnedSlots()
	if err != nil {
		return Opened{}, err
	}
	r := replication.Options{
		Dir: o.Data, Raft: o.Raft, Bind: o.RaftBind, Peers: o.Peers, Join: o.Join, Client: host, Version: c.Version,
		Ack: replication.Ack(o.Ack), Fsync: o.Fsync, NoQuorum: replication.NoQuorum(o.NoQuorum),
		MaxMemory: int64(o.MaxMemory), Evict: o.OnFull == "evict", Commands: Commands, Notices: notices,
		ElectionTimeout: o.ElectionTimeout, SnapshotLogBytes: int64(o.SnapshotLogBytes), DeadAfter: o.DeadAfter,
		Logger: c.Log, TLS: o.LinkFiles(), Secrets: secrets, Fatal: c.Fatal, Settling: c.Settling, Turns: turns.New(nil),
		Wall: Wall, Slots: owned, GroupOf: o.GroupOf, Whole: o.NeedsAllSlots(),
	}
	open, err := replication.Open(r)
	if err != nil {
		return Opened{}, err
	}
	a := clusterAdapter{open, o.ClusterMode}
	return Opened{State: clusterState{open, r.Ack}, Notices: notices, Turns: r.Turns, Store: a, Cluster: a,
		Certificates: open.Certificates(), Secrets: secrets}, nil
}

// Fsync describes --raft-ack.
func (m clusterState) Fsync() string {
	if m.ack == replication.AckDisk {
		return "before a decision is answered, on a majority of nodes"
	}
	return "after a decision is answered by a majority of nodes"
}

// Loads returns false: Open has loaded the state of the node.
func (clusterState) Loads() bool { return false }

// Load does nothing.
func (clusterState) Load(context.Context) error { return nil }

// Close closes the node.
func (m clusterState) Close(ctx context.Context, _ backend.Parting) error { return m.Node.Close(ctx) }

// clusterAdapter makes a replication.Node a backend.Store and a backend.Cluster.
type clusterAdapter struct {
	*replication.Node
	mode string // --cluster-mode
}

// Save implements backend.Store.
func (r clusterAdapter) Save(done func(error)) error { return redisError(r.Node.Save(done)) }

// Backup implements backend.Store.
func (r clusterAdapter) Backup(name string, done func(path string, err error)) error {
	return redisError(r.Node.Backup(name, done))
}

// HandleAsked sets the function that answers the command lines of fronts.
func (r clusterAdapter) HandleAsked(answer func(context.Context, backend.Asked) ([][]byte, error)) {
	r.Node.HandleAsked(func(ctx context.Context, q fronts.Asked) ([][]byte, error) { return answer(ctx, askedOf(q)) })
}

// Enabled reports whether clients see a Redis Cluster.
func (r clusterAdapter) Enabled() bool { return r.mode != "off" }

// Where returns the node of a slot. Unless clients may be redirected, it is this node.
func (r clusterAdapter) Where(slot slots.Slot, stale bool) (address string, here bool) {
	if r.mode != "on" {
		return "", true
	}
	return r.Node.Where(slot, stale)
}

// Divided reports whether there are other groups.
func (r clusterAdapter) Divided() bool { return r.Division() != nil }

// Groups returns the group of this node, and the other groups.
func (r clusterAdapter) Groups(local string) []backend.Group {
	all := backend.WholeOf(r.Nodes(local), r.Term())
	if d := r.Division(); d != nil {
		all[0].Slots = d.Owned
	}
	for _, g := range r.Others() {
		all = append(all, backend.Group{Slots: g.Slots, Nodes: g.Nodes, Term: g.Term})
	}
	return all
}

var changes = map[backend.ChangeKind]replication.ChangeKind{
	backend.Forget: replication.Forget, backend.Leave: replication.Leave, backend.Transfer: replication.Transfer,
}

// Change starts a change of the members, and calls done with an error for the administrator.
func (r clusterAdapter) Change(c backend.Change, done func(error)) error {
	r.Node.Change(replication.Change{Kind: changes[c.Kind], Node: c.ID}, func(err error) { done(clusterError(err)) })
	return nil
}

// clusterError makes err the text of an error reply. That is safe because only
// administrators can change the cluster.
func clusterError(err error) error {
	var coded interface{ Code() string }
	if err == nil || errors.As(err, &coded) {
		return err
	}
	return resp.NewError("ERR", err.Error())
}
