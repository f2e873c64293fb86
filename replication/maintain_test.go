package replication

import "testing"

// isStuck follows the progress of a node and of its leader.
func TestIsStuck(t *testing.T) {
	s := new(raftStack)
	var writes, refused int64
	for _, tt := range []struct {
		name          string
		last, leaders uint64
		written       int64 // bytes of a snapshot, at each check
		refused       int64 // snapshots, at each check
		looks         int
		stuck         bool
	}{
		{"it has all", 7, 7, 0, 0, 2 * stuckChecks, false},
		{"it lacks some, not for long", 7, 8, 0, 0, stuckChecks - 1, false},
		{"one has come", 8, 9, 0, 0, 1, false},
		{"the last has come", 9, 9, 0, 0, 1, false},
		{"a snapshot comes", 9, 1000, 1, 0, 3 * stuckChecks, false},
		{"no more comes", 9, 1000, 0, 0, stuckChecks, true},
		{"the count restarts", 9, 1000, 0, 0, stuckChecks - 1, false},
		{"entries come", 10, 1000, 0, 0, 1, false},
		{"an old snapshot comes twice", 10, 1000, 0, 1, stuckRefusals - 1, false},
		{"and again", 10, 1000, 0, 1, 1, true},
		{"also beyond its leader's last", 10, 9, 0, 1, stuckRefusals, true},
		{"old ones between entries", 11, 1000, 0, 1, 1, false},
	} {
		stuck := false
		for range tt.looks {
			writes += tt.written
			refused += tt.refused
			stuck = s.isStuck(received{tt.last, writes}, refused, tt.leaders)
		}
		if stuck != tt.stuck {
			t.Errorf("%s: stuck %v after %d looks at entry %d of %d", tt.name, stuck, tt.looks, tt.last, tt.leaders)
		}
	}
}
