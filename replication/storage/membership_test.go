package storage

import "testing"

// TestLostTail follows a node through its starts and ends.
func TestLostTail(t *testing.T) {
	m := Membership{Cluster: NewClusterID(), Clean: true}
	for _, tt := range []struct {
		name   string
		boot   string
		lost   bool // expected at the start
		synced bool // policy of this run
		clean  bool // end of this run
	}{
		{"a new member", "1", false, false, false},
		{"killed", "1", false, false, true},
		{"stopped, and the machine too", "2", false, false, false},
		{"the machine crashed", "3", true, false, false},
		{"killed, and synced from now on", "3", false, true, false},
		{"the machine crashed with an unsynced log of an earlier run", "4", true, true, true},
		{"ended", "4", false, true, false},
		{"the machine crashed with a synced log", "5", false, true, false},
		{"not synced from now on", "5", false, false, false},
		{"the boot id is unknown", "", true, false, true},
		{"nor here, but it had ended", "", false, false, false},
		{"nor here", "", true, false, false},
	} {
		if lost := m.LostTail(tt.boot); lost != tt.lost {
			t.Errorf("%s: its end may be lost: %v, want %v", tt.name, lost, tt.lost)
		}
		m.SetOpened(tt.boot, tt.synced)
		m.Clean = tt.clean
	}
}
