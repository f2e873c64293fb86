package fsm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"limitsrv/engine"
	"limitsrv/persist"
)

// A Member is the data that a node publishes about itself.
type Member struct {
	Node    string `json:"node"`
	Raft    string `json:"raft"`
	Client  string `json:"client"` // the address for clients
	Version string `json:"version"`
	Level   int    `json:"level"` // the newest feature level it supports
}

// A clusterState is the part of the state that describes the members.
type clusterState struct {
	Members map[string]Member `json:"members"`
	// Level is the highest feature level that the log may use: all members support it.
	Level int `json:"level"`
	// Skipped are the indexes of the last skipped entries, see ControlEntry.
	Skipped []uint64 `json:"skipped,omitempty"`
	// Division, unless nil, says which slots the group owns.
	Division *Division `json:"division,omitempty"`
}

// keptSkipped bounds the length of clusterState.Skipped.
const keptSkipped = 32

// controlMark is the first byte of an entry about the cluster; an entry of decisions
// begins with the version of its format.
const controlMark = 0xc1

// A ControlEntry changes the cluster's state. Exactly one of its fields is set.
type ControlEntry struct {
	Member *Member `json:"member,omitempty"` // data published by a node
	Gone   string  `json:"gone,omitempty"`   // the id of a node that was removed
	Level  int     `json:"level,omitempty"`  // features up to this level may be used from here on
	// Skipped says that this entry replaces an entry that no node could apply.
	Skipped bool `json:"skipped,omitempty"`
	// Division begins the log of a group that does not own all slots.
	Division *Division `json:"division,omitempty"`
	// Group gives slots to another group. Only the log of the first group has it.
	Group *OtherGroup `json:"group,omitempty"`
}

// Encode returns the entry for the log.
func (c ControlEntry) Encode() ([]byte, error) {
	text, err := json.Marshal(c)
	return append([]byte{controlMark}, text...), err
}

// SkippedEntry returns the data of the entry that replaces a skipped entry.
func SkippedEntry() ([]byte, error) { return ControlEntry{Skipped: true}.Encode() }

// KnownLevel is the newest feature level of the log that this program supports. A node that
// supports less must not take part once the log uses a higher level.
//
//	1: the first
//	2: version 2 of entries and of blocks: plain values, databases, sources
//	3: version 3 of entries and of blocks: groups with modes, leases and guards; penalty boxes; functions, rules
//	4: calls of level 2; members that keep the promises of package lease; version 4 of entries:
//	   Refunds and Charges with modes, groups that settle
//	5: calls of level 3; version 5 of entries and version 4 of blocks: ids
//	6: version 6 of entries and version 5 of blocks: reservations
//	7: version 7 of entries and version 6 of blocks: reservations with named amounts; divisions
const KnownLevel = engine.NamedFeatures

// PromisesLevel is the lowest feature level whose members keep the promises of package lease, and
// as leaders report the last entry that they applied.
const PromisesLevel = 4

// CallLevel returns the newest level of call semantics, see engine.Batch.Level, that the log may
// use at a feature level of the log.
func CallLevel(level int) uint8 {
	switch {
	case level < 4:
		return 1
	case level < 5:
		return 2
	}
	return 3
}

// LevelOf returns the feature level that the log must have for a batch: the version of its
// entry.
func LevelOf(b *engine.Batch) int { return persist.VersionOf(b) }

// IsControl reports whether an entry is a ControlEntry.
func IsControl(data []byte) bool { return len(data) > 0 && data[0] == controlMark }

// decodeControl decodes an entry about the cluster.
func decodeControl(data []byte) (c ControlEntry, err error) {
	err = strictJSON(data[1:], &c)
	return c, err
}

// controlKinds are the kinds of a ControlEntry, each by the name of its field. apply changes the
// cluster's state.
var controlKinds = [...]struct {
	name  string
	is    func(*ControlEntry) bool
	apply func(s *clusterState, index uint64, c *ControlEntry)
}{
	{
		"Skipped", func(c *ControlEntry) bool { return c.Skipped },
		func(s *clusterState, index uint64, _ *ControlEntry) {
			all := append(s.Skipped, index)
			s.Skipped = slices.Clone(all[max(0, len(all)-keptSkipped):])
		},
	},
	{
		"Member", func(c *ControlEntry) bool { return c.Member != nil },
		func(s *clusterState, _ uint64, c *ControlEntry) { s.Members[c.Member.Node] = *c.Member },
	},
	{
		"Gone", func(c *ControlEntry) bool { return c.Gone != "" },
		func(s *clusterState, _ uint64, c *ControlEntry) { delete(s.Members, c.Gone) },
	},
	{
		"Level", func(c *ControlEntry) bool { return c.Level > 0 },
		func(s *clusterState, _ uint64, c *ControlEntry) { s.Level = max(s.Level, c.Level) },
	},
	{
		"Division", func(c *ControlEntry) bool { return c.Division != nil },
		func(s *clusterState, _ uint64, c *ControlEntry) {
			s.Division, s.Level = cmp.Or(s.Division, c.Division), max(s.Level, DivisionLevel)
		},
	},
	{
		"Group", func(c *ControlEntry) bool { return c.Group != nil },
		func(s *clusterState, _ uint64, c *ControlEntry) { s.Division = s.Division.give(*c.Group) },
	},
}

// apply changes the state by an entry: by the first of its kinds, if it has several.
func (s *clusterState) apply(index uint64, c *ControlEntry) {
	for _, kind := range controlKinds {
		if kind.is(c) {
			kind.apply(s, index, c)
			return
		}
	}
}

// applyControl applies an entry about the cluster.
func (f *FSM) applyControl(index uint64, data []byte) error {
	c, err := decodeControl(data)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.cluster.apply(index, &c)
	level := f.cluster.Level
	f.setDivision(f.cluster.Division)
	f.mu.Unlock()
	if c.Skipped {
		f.skipped(index)
	}
	return checkLevel(level, f.o.Level)
}

// checkLevel returns a NewerError if the log uses a level above known.
func checkLevel(level, known int) error {
	if level > known {
		return &persist.NewerError{What: "the cluster's log", Format: level, Known: known}
	}
	return nil
}

// Members returns a copy of the published data by node id.
func (f *FSM) Members() map[string]Member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.cluster.Members)
}

// Member returns the published data of a node; zero: the node has published nothing.
func (f *FSM) Member(node string) Member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cluster.Members[node]
}

// Level returns the highest feature level that the log may use.
func (f *FSM) Level() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cluster.Level
}

// Division returns the division of the group, which the caller must not change: of the log or, if the log
// has none yet, of the options. nil: this group owns all slots.
func (f *FSM) Division() *Division { return f.division.Load() }

// LoggedDivision returns the division that the log has told so far, which the caller must not change; nil: none.
func (f *FSM) LoggedDivision() *Division {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cluster.Division
}

// setDivision publishes the division of the log. Requires: applying is held.
func (f *FSM) setDivision(logged *Division) {
	d := cmp.Or(logged, f.o.Division)
	f.division.Store(d)
	f.engine.Load().SetOwned(d.owned())
}

// refuse answers a batch with keys of slots that the group does not own, and reports whether it did.
// Nodes refuse such batches before they are logged, unless they have not applied the division yet.
func (f *FSM) refuse(b *engine.Batch) bool {
	if _, foreign := f.Engine().Foreign(b); !foreign {
		return false
	}
	b.Decisions = b.Decisions[:0]
	for range b.Ops {
		b.Decisions = append(b.Decisions, engine.Decision{Status: engine.Down})
	}
	return true
}

// strictJSON decodes a JSON value into to. Unknown fields and trailing bytes are errors.
func strictJSON(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%d bytes follow", len(data)-int(d.InputOffset()))
	}
	return nil
}
