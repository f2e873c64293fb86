package engine

// Stats are totals since New, or since SetCounting, except for Keys, MemoryBytes and
// ImageBytes, which are current values.
type Stats struct {
	Keys        int64 // including expired keys not yet forgotten
	MemoryBytes int64 // of the keys and all their data
	ImageBytes  int64 // of an open Snapshot, additional
	// Allowed and Denied count decisions by Alg. Read-only ops do not count.
	Allowed, Denied [limits]int64
	ShadowDenied    int64 // denials answered as allowed
	Forgotten       int64 // expired keys
	ChargesCut      int64 // Charges that took fewer permits than requested
	Evicted         int64 // live keys evicted for memory
	Refused         int64 // ops answered NoMemory
	Holds           HoldStats
	Reservations    ReservationStats
	RunStats
}

// HoldStats count the holds of reservations: each is a part of a reservation on one limit. Taken, Settled
// and Gone are totals since New or SetCounting.
type HoldStats struct {
	Open    int64 // now
	Taken   int64
	Settled int64 // ended by a commit or a cancel
	Gone    int64 // Settled, and holds that ended with their ttl or with their key
}

func (t *HoldStats) add(more HoldStats) {
	t.Open += more.Open
	t.Taken += more.Taken
	t.Settled += more.Settled
	t.Gone += more.Gone
}

// RunStats are totals of runs. Informational, as Stats.
type RunStats struct {
	Runs   int64
	Failed int64 // of these, with an error
	Steps  int64
}

func (t *RunStats) add(more RunStats) {
	t.Runs += more.Runs
	t.Failed += more.Failed
	t.Steps += more.Steps
}

// A TopKind is a kind of count of a key. Each decided Take of at least one permit and
// each decided Acquire counts once, for any number of permits, and so does each limit of
// a group: the same ops as in Stats. Forget and Flush do not reduce counts.
type TopKind uint8

const (
	// TopDenied counts denials, including those answered as allowed under Shadow. In a
	// group it counts the limits that would not pass by themselves.
	TopDenied TopKind = iota
	// TopHot counts decisions.
	TopHot
	topKinds
)

const (
	// trackedKeys is the capacity in keys of the counters of all shards, and minTrackedKeys
	// the minimum for a shard, which has room for the longest key.
	trackedKeys    = 4096
	minTrackedKeys = 16
)
