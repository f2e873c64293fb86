package offline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
	"limitsrv/replication/fsm"
	"limitsrv/replication/storage"
)

// A checker verifies the data directory of a node of a cluster.
type checker struct {
	dir      *persist.Dir
	member   storage.Membership
	path     string // of the node's raft files
	report   func(line string)
	boot     string // id of the current boot of the system
	commands engine.Commands
	damaged  bool
	drops    bool // a start would drop the end of the log
}

// Check verifies the data directory of a node of a cluster: the membership, all snapshots, the votes, that
// each log entry can be read and applied, and that the log continues from the newest snapshot. Requires: no
// process uses it. It changes nothing, and reports its findings line by line. commands checks calls in the
// log. It returns persist.ErrDamaged if a node would not start on all of the data, and persist.ErrDrops if a
// node would start without the end of the log.
func Check(dir string, commands engine.Commands, say func(line string)) (err error) {
	o := Options{Dir: dir, Commands: commands}
	o.setDefaults()
	c := &checker{report: say, boot: o.Boot(), commands: commands}
	c.dir, err = persist.OpenDir(o.FS, dir)
	if errors.As(err, new(*persist.CorruptError)) {
		c.damage(dir, err)
		return persist.ErrDamaged
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.dir.Close()) }()
	if c.member, err = storage.ReadMembership(c.dir); err != nil {
		c.damage(storage.MemberName, err)
		return persist.ErrDamaged
	}
	m := &c.member
	c.path = storage.Path(c.dir, m)
	switch {
	case m.Cluster.IsZero():
		say(fmt.Sprintf("%s: good, node %s, of no cluster yet", storage.MemberName, m.Node))
		return nil
	case m.Diverged > 0:
		say(fmt.Sprintf("%s: good, node %s of cluster %v; its state differs from the cluster's, so the node will join anew",
			storage.MemberName, m.Node, m.Cluster))
	case m.LostTail(c.boot):
		say(fmt.Sprintf("%s: good, node %s of cluster %v; the system went down with a log that was not synced, so the node "+
			"will join anew", storage.MemberName, m.Node, m.Cluster))
	default:
		say(fmt.Sprintf("%s: good, node %s of cluster %v", storage.MemberName, m.Node, m.Cluster))
	}
	c.votes()
	c.log(c.snapshots())
	switch {
	case c.damaged:
		return persist.ErrDamaged
	case c.drops:
		return persist.ErrDrops
	}
	return nil
}

// damage reports that an item is damaged.
func (c *checker) damage(item string, err error) {
	c.damaged = true
	c.report(fmt.Sprintf("%s: %v", item, err))
}

func (c *checker) votes() {
	term, err := storage.ReadVotes(c.path)
	if err != nil {
		c.damage(storage.VotesName, err)
		return
	}
	c.report(fmt.Sprintf("%s: good, term %d", storage.VotesName, term))
}

// snapshots checks all snapshots, and returns the last index of the newest good snapshot.
func (c *checker) snapshots() (newest uint64) {
	store, err := storage.AllSnapshots(c.path)
	if err != nil {
		c.damage("snapshots", err)
		return 0
	}
	all, err := store.List()
	if err != nil {
		c.damage("snapshots", err)
		return 0
	}
	known := make(map[string]bool)
	for _, meta := range all {
		known[meta.ID] = true
		keys, err := c.snapshot(store, meta.ID)
		if err != nil {
			c.damage("snapshot "+meta.ID, err)
			continue
		}
		newest = max(newest, meta.Index)
		c.report(fmt.Sprintf("snapshot %s: good, %d keys, %d bytes, up to entry %d", meta.ID, keys, meta.Size, meta.Index))
	}
	c.unlisted(known)
	return newest
}

// unlisted reports snapshots that the store does not list because it can not read their
// metadata.
func (c *checker) unlisted(known map[string]bool) {
	names, err := os.ReadDir(filepath.Join(c.path, storage.SnapshotsName))
	if err != nil {
		c.damage("snapshots", err)
	}
	for _, name := range names {
		if !known[name.Name()] && !strings.HasSuffix(name.Name(), storage.Unfinished) {
			c.damage("snapshot "+name.Name(), errors.New("its metadata can't be read"))
		}
	}
	if err == nil && len(names) == 0 {
		c.report("snapshots: none")
	}
}

// snapshot restores a snapshot and returns its number of keys.
func (c *checker) snapshot(store raft.SnapshotStore, id string) (keys int64, err error) {
	_, from, err := store.Open(id)
	if err != nil {
		return 0, err
	}
	f := fsm.New(fsm.Options{Cluster: c.member.Cluster, Seed: c.member.Seed, Monotonic: func() time.Duration { return 0 }})
	if err := f.Restore(from); err != nil {
		return 0, err
	}
	return f.Engine().Len(), nil
}

// log checks the log after a snapshot with the given last index.
func (c *checker) log(snapshot uint64) {
	path := filepath.Join(c.path, storage.LogName)
	drop, err := persist.CheckLog(c.dir.FS, path, c.member.SameBoot(c.boot),
		func(line string) { c.report("log: " + line) })
	c.drops = drop != nil && !drop.Unfinished
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.report("log: none")
		return
	case err != nil:
		c.damage("log", err)
		return
	}
	first, last := uint64(0), uint64(0)
	decoder := persist.Decoder{Commands: c.commands}
	err = persist.ReadLog(c.dir.FS, path, func(entry *raft.Log) error {
		if first == 0 {
			first = entry.Index
		}
		last = entry.Index
		return fsm.CheckEntry(&decoder, entry)
	})
	switch {
	case err != nil:
		c.damage("log", err)
	case first > snapshot+1:
		c.damage("log", fmt.Errorf("it begins with entry %d, and no good snapshot goes beyond entry %d: the entries "+
			"between are missing", first, snapshot))
	case first > 0 && last < snapshot:
		c.damage("log", fmt.Errorf("it ends with entry %d, and a snapshot goes to entry %d", last, snapshot))
	case max(last, snapshot) < c.member.MinLastIndex():
		c.damage("log", fmt.Errorf("it ends with entry %d, and ended with entry %d when the node was stopped", last,
			c.member.Last))
	default:
		c.report(fmt.Sprintf("log: good, each entry up to %d can be applied", max(last, snapshot)))
	}
}
