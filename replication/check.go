package replication

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"limitsrv/persist"
)

// A checker looks at the data directory of a node of a cluster.
type checker struct {
	dir     *persist.Dir
	member  membership
	path    string // of what the node has
	report     func(line string)
	boot    string // this run of the system
	damaged bool
	drops   bool // a start drops the end of the log
}

// Check verifies the data directory of a node of a cluster that no process uses: who
// the node is, all of its snapshots, its votes, that each entry of its log can be read
// and carried out, and that the log goes on where the newest snapshot ends. It changes
// nothing, and says what it finds. It returns persist.ErrDamaged if a node would not
// start on all of it, and persist.ErrDrops if one would, but without the end of its log.
func Check(dir string, say func(line string)) (err error) {
	o := Options{Dir: dir}
	o.setDefaults()
	c := &checker{report: say, boot: o.boot()}
	c.dir, err = persist.OpenDir(o.fs, dir)
	if errors.As(err, new(*persist.CorruptError)) {
		c.damage(dir, err)
		return persist.ErrDamaged
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.dir.Close()) }()
	if c.member, err = readMembership(c.dir); err != nil {
		c.damage(memberName, err)
		return persist.ErrDamaged
	}
	m := &c.member
	c.path = o.fs.PathJoin(dir, raftDir, m.Node)
	switch {
	case m.Cluster.zero():
		say(fmt.Sprintf("%s: good, node %s, of no cluster yet", memberName, m.Node))
		return nil
	case m.lostTail(c.boot):
		say(fmt.Sprintf("%s: good, node %s of cluster %v; the system went down with a log that was not synced, so the node will join anew", memberName, m.Node, m.Cluster))
	default:
		say(fmt.Sprintf("%s: good, node %s of cluster %v", memberName, m.Node, m.Cluster))
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

// bad says what is wrong with something.
func (c *checker) damage(what string, err error) {
	c.damaged = true
	c.report(fmt.Sprintf("%s: %v", what, err))
}

func (c *checker) votes() {
	term, err := readVotes(filepath.Join(c.path, votesName))
	if err != nil {
		c.damage(votesName, err)
		return
	}
	c.report(fmt.Sprintf("%s: good, term %d", votesName, term))
}

// readVotes reads the term and the vote of a node. Bolt trusts what is in its file.
func readVotes(path string) (term uint64, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it can't be read: %v", p)
		}
	}()
	store, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{ReadOnly: true, Timeout: time.Second}})
	if err != nil {
		return 0, err
	}
	defer store.Close()
	v := voteStore{StableStore: store}
	if _, err = v.Get(keyVoteCand); err == nil || errors.Is(err, raftboltdb.ErrKeyNotFound) {
		term, err = v.GetUint64(keyCurrentTerm)
	}
	if errors.Is(err, raftboltdb.ErrKeyNotFound) { // it has not voted yet
		return 0, nil
	}
	return term, err
}

// snapshots checks all that there are, and returns where the newest good one ends.
func (c *checker) snapshots() (newest uint64) {
	store, err := raft.NewFileSnapshotStoreWithLogger(c.path, retained+1, hclog.NewNullLogger())
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

// unlisted says which snapshots are there that the store does not see, for it can't
// read what they are.
func (c *checker) unlisted(known map[string]bool) {
	names, err := os.ReadDir(filepath.Join(c.path, snapshotsName))
	if err != nil {
		c.damage("snapshots", err)
	}
	for _, name := range names {
		if !known[name.Name()] && !strings.HasSuffix(name.Name(), unfinished) {
			c.damage("snapshot "+name.Name(), errors.New("it can't be read what it is of"))
		}
	}
	if err == nil && len(names) == 0 {
		c.report("snapshots: none")
	}
}

// What raft's FileSnapshotStore calls its directory, and how those that are not
// finished end.
const (
	snapshotsName = "snapshots"
	unfinished    = ".tmp"
)

// snapshot restores a snapshot and returns how many keys it has.
func (c *checker) snapshot(store raft.SnapshotStore, id string) (keys int64, err error) {
	_, from, err := store.Open(id)
	if err != nil {
		return 0, err
	}
	f := newFSM(&c.member, func() time.Duration { return 0 })
	if err := f.Restore(from); err != nil {
		return 0, err
	}
	return f.engine.Load().Len(), nil
}

// log checks the log behind a snapshot that ends with an entry.
func (c *checker) log(snapshot uint64) {
	path := filepath.Join(c.path, logName)
	drop, err := persist.CheckLog(c.dir.FS, path, c.member.sameBoot(c.boot), func(line string) { c.report("log: " + line) })
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
	var decoder persist.Decoder
	err = persist.ReadLog(c.dir.FS, path, func(entry *raft.Log) error {
		if first == 0 {
			first = entry.Index
		}
		last = entry.Index
		return decodable(&decoder, entry)
	})
	switch {
	case err != nil:
		c.damage("log", err)
	case first > snapshot+1:
		c.damage("log", fmt.Errorf("it begins with entry %d, and no good snapshot goes beyond entry %d: what is between is missing", first, snapshot))
	case first > 0 && last < snapshot:
		c.damage("log", fmt.Errorf("it ends with entry %d, and a snapshot goes to entry %d", last, snapshot))
	case max(last, snapshot) < c.member.minLastIndex():
		c.damage("log", fmt.Errorf("it ends with entry %d, and went to entry %d when the node was ended", last, c.member.Last))
	default:
		c.report(fmt.Sprintf("log: good, each entry up to %d can be carried out", max(last, snapshot)))
	}
}
