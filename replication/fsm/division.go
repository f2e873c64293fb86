package fsm

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"limitsrv/engine/slots"
	"limitsrv/replication/link"
)

// DivisionLevel is the feature level of a log with a division.
const DivisionLevel = 7

// A Division describes which slots a group of a cluster owns. The leader of the group logs it before the first
// decision. Owned never changes. The first group gives each slot to at most one group.
type Division struct {
	// Owned are the slots of the group.
	Owned slots.Set `json:"owned"`
	// First are addresses of nodes of the first group; empty: this is the first group.
	First []string `json:"first,omitempty"`
	// Groups are the further groups. Only the first group has them.
	Groups []OtherGroup `json:"groups,omitempty"`
}

// An OtherGroup is a further group of the cluster, as it was founded.
type OtherGroup struct {
	Cluster link.ClusterID `json:"cluster"` // the group's own id
	Owned   slots.Set      `json:"owned"`
	Nodes   []string       `json:"nodes"` // raft addresses of the founding nodes
}

// CheckGive returns an error if this group can't give g its slots: it owns all slots, it is not the first group,
// or a slot has an owner. It changes nothing.
func (d *Division) CheckGive(g OtherGroup) error {
	switch {
	case d == nil:
		return errors.New("this cluster owns all slots: only a cluster that was founded with --slots has room for another " +
			"group")
	case len(d.First) > 0:
		return fmt.Errorf("this is not the first group of its cluster, which gives the slots: ask %v", d.First)
	}
	if slot, any := d.Owned.Shared(g.Owned); any {
		return fmt.Errorf("slot %d belongs to the first group, which owns %v: give the new group other --slots", slot,
			d.Owned)
	}
	for _, other := range d.Groups {
		if other.Cluster == g.Cluster {
			if !slices.Equal(other.Owned, g.Owned) {
				return fmt.Errorf("the group was given %v, which can't change to %v", other.Owned, g.Owned)
			}
			continue
		}
		if slot, any := other.Owned.Shared(g.Owned); any {
			return fmt.Errorf("slot %d belongs to the group of %v, which owns %v: give the new group other --slots", slot,
				other.Nodes, other.Owned)
		}
	}
	return nil
}

// Gave reports whether the first group has given a group its slots.
func (d *Division) Gave(g OtherGroup) bool {
	return d != nil && slices.ContainsFunc(d.Groups, func(other OtherGroup) bool {
		return other.Cluster == g.Cluster && slices.Equal(other.Owned, g.Owned)
	})
}

// give returns the division after an entry that gives slots to a group. Divisions are not changed,
// because others may read them.
func (d *Division) give(g OtherGroup) *Division {
	if d.CheckGive(g) != nil || d.Gave(g) {
		return d
	}
	next := *d
	next.Groups = append(append([]OtherGroup(nil), d.Groups...), g)
	return &next
}

// hash returns a hash of the division; 0: there is none.
func (d *Division) hash() uint64 {
	if d == nil {
		return 0
	}
	text, _ := json.Marshal(d) // it has only texts
	h := fnv.New64a()
	h.Write(text)
	return h.Sum64()
}

// owned returns the slots of the group; nil: all.
func (d *Division) owned() slots.Set {
	if d == nil {
		return nil
	}
	return d.Owned
}
