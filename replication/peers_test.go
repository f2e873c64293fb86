package replication

import (
	"testing"
	"time"

	"limitsrv/replication/storage"
)

// The silence of members. A member joined a cluster that is a day old.
func TestSilentFor(t *testing.T) {
	var k peerTable
	old, other, young := storage.Server{Node: "old", Raft: "h:1"}, storage.Server{Node: "other", Raft: "h:2"},
		storage.Server{Node: "young", Raft: "h:3"}
	k.setServers([]storage.Server{old, other}, time.Hour)
	k.record(peerReport{peerStatus: peerStatus{Node: "other"}, At: 2 * time.Hour})
	k.setServers([]storage.Server{old, other, young}, 25*time.Hour)
	k.setServers([]storage.Server{old, other, young}, 26*time.Hour)
	for _, tt := range []struct {
		node string
		want time.Duration
	}{
		{"old", 26 * time.Hour}, // never reported
		{"other", 25 * time.Hour},
		{"young", 2 * time.Hour},
		{"none", 0},
	} {
		if got := k.silentFor(tt.node, 27*time.Hour); got != tt.want {
			t.Errorf("node %s: silent for %v, want %v", tt.node, got, tt.want)
		}
	}
}

// The process stops for a day: no member was silent for that time.
func TestPauseIsExcused(t *testing.T) {
	var k peerTable
	k.setServers([]storage.Server{{Node: "heard", Raft: "h:1"}, {Node: "never", Raft: "h:2"}}, time.Hour)
	k.record(peerReport{peerStatus: peerStatus{Node: "heard"}, At: time.Hour})
	now := time.Hour
	for _, passed := range []time.Duration{maintainInterval, 2 * maintainInterval, 24*time.Hour + 2*maintainInterval,
		maintainInterval} {
		now += passed
		k.excusePause(passed)
	}
	for _, node := range []string{"heard", "never"} {
		if got, want := k.silentFor(node, now), 6*maintainInterval; got != want {
			t.Errorf("%s: silent for %v, want %v", node, got, want)
		}
	}
}
