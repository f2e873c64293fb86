package main

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"time"

	"limitsrv/commands"
	"limitsrv/commands/resp"
	"limitsrv/persist"
	"limitsrv/replication"
)

// clusterState is a state replicated on several nodes.
type clusterState struct{ *replication.Node }

func (n *node) openClusterState() (commands.Config, error) {
	o := n.options
	host, err := o.advertised()
	if err != nil {
		return commands.Config{}, err
	}
	secrets, err := o.openSecrets(n.log)
	if err != nil {
		return commands.Config{}, err
	}
	r := replication.Options{
		Dir: o.Data, Raft: o.Raft, Bind: o.RaftBind, Peers: o.Peers, Join: o.Join, Client: host, Version: version,
		Ack: acks[o.Ack], Fsync: o.Fsync, NoQuorum: noQuorums[o.NoQuorum],
		MaxMemory: int64(o.MaxMemory), Evict: o.OnFull == "evict",
		ElectionTimeout: o.ElectionTimeout, SnapshotLogBytes: int64(o.SnapshotLogBytes), DeadAfter: o.DeadAfter,
		Logger: n.log, TLS: o.linkFiles(), Secrets: secrets,
		Fatal: func(err error) {
			n.log.Error("the node failed: shutting down", "error", err)
			n.fatal <- err
		},
	}
	open, err := replication.Open(r)
	if err != nil {
		return commands.Config{}, err
	}
	m := &clusterState{open}
	n.state, n.linkCerts, n.clusterSecrets = m, open.Certificates(), secrets
	return commands.Config{Store: clusterAdapter{m, o}, Cluster: clusterAdapter{m, o}}, nil
}

func (m *clusterState) fsync() string {
	if st := m.Status(); st.Ack == replication.AckDisk {
		return "before a decision is answered, on a majority of nodes"
	}
	return "after a decision is answered by a majority of nodes"
}

func (*clusterState) loads() bool { return false }

func (*clusterState) load(context.Context) error { return nil }

func (m *clusterState) stepDown(ctx context.Context) { m.StepDown(ctx) }

func (m *clusterState) close(ctx context.Context, _ commands.Parting) error { return m.Node.Close(ctx) }

var (
	acks      = map[string]replication.Ack{"disk": replication.AckDisk, "memory": replication.AckMemory}
	noQuorums = map[string]replication.NoQuorum{
		"error": replication.NoQuorumError, "allow": replication.NoQuorumAllow, "deny": replication.NoQuorumDeny, "local": replication.NoQuorumLocal,
	}
)

// clusterAdapter makes a clusterState a commands.Store and a commands.Cluster.
type clusterAdapter struct {
	*clusterState
	options *options
}

func (r clusterAdapter) Save(done func(error)) error { return redisError(r.Node.Save(done)) }

func (r clusterAdapter) Backup(name string, done func(path string, err error)) error {
	return redisError(r.Node.Backup(name, done))
}

func (r clusterAdapter) Standing() commands.Standing {
	st := r.Status()
	s := commands.Standing{
		Fsync: r.options.logFsync(),
		Saved: commands.SavedStanding{At: st.Snapshot.At, Keys: r.Engine().Len(), Bytes: st.Snapshot.Bytes, Took: st.Snapshot.Took, Err: st.Snapshot.Err, Count: st.Snapshot.Count},
		Log:   commands.LogStanding{Bytes: st.LogBytes, Segments: st.LogSegments},
	}
	if st.Saving {
		s.Saving.Since = time.Now()
	}
	return s
}

func (r clusterAdapter) Enabled() bool { return r.options.ClusterMode != "off" }

func (r clusterAdapter) Moved() string {
	if r.options.ClusterMode != "on" {
		return ""
	}
	return r.Node.Moved()
}

// Nodes returns the members of the cluster, this node first. Before the cluster is
// bootstrapped it returns this node only.
func (r clusterAdapter) Nodes(local string) (all []commands.Node) {
	st := r.Status()
	for _, m := range st.Members {
		n := commands.Node{
			ID: m.Node, Leader: m.Leader, Voter: m.Voter, Online: m.Online, Raft: m.Raft,
			Version: m.Version, Index: m.Index, LastContact: m.Seen,
		}
		n.Host, n.Port = hostPort(m.Client)
		if m.Self {
			all = slices.Insert(all, 0, n)
			continue
		}
		all = append(all, n)
	}
	if len(all) == 0 {
		n := commands.Node{ID: st.Node, Online: true, Raft: r.options.Raft, Version: version}
		n.Host, n.Port = hostPort(local)
		return []commands.Node{n}
	}
	return all
}

// hostPort splits address. It returns no host and port 0 if address is malformed.
func hostPort(address string) (host string, port int) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0
	}
	number, _ := strconv.ParseUint(text, 10, 16)
	return host, int(number)
}

var roles = map[replication.Role]commands.Role{
	replication.Leader: commands.RoleLeader, replication.Follower: commands.RoleFollower, replication.Candidate: commands.RoleCandidate,
	replication.NonVoter: commands.RoleNonVoter, replication.NoMember: commands.RoleCandidate,
}

func (r clusterAdapter) Replication() commands.Replication {
	st, o := r.Status(), r.options
	return commands.Replication{
		Role: roles[st.Role], ClusterID: st.Cluster, HasQuorum: st.HasQuorum, Trouble: st.Trouble, Term: st.Term,
		FirstIndex: st.FirstIndex, LastIndex: st.LastIndex, CommitIndex: st.CommitIndex, AppliedIndex: st.AppliedIndex,
		LastContact: st.LastContact, FeatureLevel: uint64(st.Level),
		Ack: o.Ack, Fsync: o.logFsync(), NoQuorum: o.NoQuorum, Links: st.Links, FsyncP99: st.FsyncP99,
		Totals: commands.ReplicationTotals{
			Entries: st.Entries, EntryBytes: st.EntryBytes, Decisions: st.Ops, Forwarded: st.Forwarded, Uncertain: st.Uncertain,
			NoQuorum: st.Allowed + st.Denied + st.Locally, Local: st.Locally, Refused: st.Refused,
			Elections: st.Elected, LeaderChanges: st.LeaderChanges, Restarts: st.Restarts, RefusedLinks: st.RefusedLinks,
		},
		Clock:    commands.ReplicationClock{Offset: -st.ClockOffset, Clamps: st.ClockClamps, Clamped: st.ClockClamped},
		Snapshot: commands.ReplicatedSnapshot{Index: uint64(st.Snapshot.Index), At: st.Snapshot.At, Bytes: st.Snapshot.Bytes, Installed: st.Installed},
	}
}

var changes = map[commands.ChangeKind]replication.ChangeKind{
	commands.Forget: replication.Forget, commands.Leave: replication.Leave, commands.Transfer: replication.Transfer,
}

func (r clusterAdapter) Change(c commands.Change, done func(error)) error {
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

// logFsync returns the sync policy of the log of a cluster's node.
func (o *options) logFsync() string {
	if o.Ack == "disk" {
		return persist.Always.String()
	}
	return o.Fsync.String()
}
