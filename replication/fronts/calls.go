package fronts

import (
	"encoding/binary"
	"time"

	"limitsrv/engine"
	"limitsrv/engine/topk"
	"limitsrv/internal/status"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
)

// The names of the calls.
const (
	CallFind  = "front_find"  // returns a Found
	CallWatch = "front_watch" // takes a WatchRequest and returns a Watched; leader only
	CallTexts = "front_texts" // takes a TextsRequest and returns Texts; leader only
	CallRead  = "front_read"  // takes a ReadRequest and returns a Read; leader only
	CallAsk   = "front_ask"   // takes an Asked and returns an Answered
)

// Found describes the node that is asked.
type Found struct {
	Self    storage.Server   `json:"self"`
	Cluster link.ClusterID   `json:"cluster"` // zero: it is not a member of a cluster yet
	Leads   bool             `json:"leads"`
	Term    uint64           `json:"term"`
	Level   int              `json:"level"` // the feature level of the log
	Servers []storage.Server `json:"servers"`
}

// A WatchRequest waits for news.
type WatchRequest struct {
	First bool `json:"first"` // of the front at this leader: it is answered at once
	Lists bool `json:"lists"` // the front wants the lists that grow
	// Tracks: the front wants the keys that change.
	Tracks bool `json:"tracks,omitempty"`
}

// Watched are the news of a leader.
type Watched struct {
	Now    engine.Instant                   `json:"now"`
	Waited time.Duration                    `json:"waited,omitempty"` // the time that the leader waited for news before it read Now
	Level  int                              `json:"level"`
	Term   uint64                           `json:"term"`
	Nodes  []status.Node                    `json:"nodes"`
	Marks  [engine.TextSets]engine.TextMark `json:"marks"`
	Counts *Counts                          `json:"counts,omitempty"` // nil: they were sent lately
	// Pending is the reason that the front is not ready, or empty.
	Pending  string    `json:"pending"`
	Messages []Message `json:"messages,omitempty"` // in their order
	// Grown are the lists that have grown. Missed: any list may have grown.
	Grown  []engine.Growth `json:"grown,omitempty"`
	Missed bool            `json:"missed,omitempty"`
	// Changed are the keys that have changed. If Tracked is false, any key may have changed.
	Tracked bool `json:"tracked,omitempty"`
	Changed Keys `json:"changed,omitempty"`
	// Told rises with each report of changes, including the reports in this Watched. It does not
	// begin at 0.
	Told uint64 `json:"told,omitempty"`
}

// Keys are keys in a compact form: each follows its length, a uvarint.
type Keys []byte

// Append appends a key.
func (k Keys) Append(key []byte) Keys {
	return append(binary.AppendUvarint(k, uint64(len(key))), key...)
}

// All yields the keys. They share memory with k. It stops at the first malformed key.
func (k Keys) All(yield func(key []byte) bool) {
	for len(k) > 0 {
		size, n := binary.Uvarint(k)
		if n <= 0 || size > uint64(len(k)-n) || !yield(k[n:n+int(size)]) {
			return
		}
		k = k[n+int(size):]
	}
}

// A Message is for the subscribers of a channel.
type Message struct {
	Channel []byte `json:"channel"`
	Text    []byte `json:"text"`
}

// Counts are the numbers of an engine.
type Counts struct {
	Keys    [engine.Databases]int64 `json:"keys"`
	Lasting [engine.Databases]int64 `json:"lasting"`
	Len     int64                   `json:"len"`
	Stats   engine.Stats            `json:"stats"`
	Shards  []engine.ShardStat      `json:"shards"`
	Sources engine.SourceStats      `json:"sources"`
}

// MostSources is the number of the costliest sources in Counts.
const MostSources = 100

// A TextsRequest asks for the texts of a set with a later version than After.
type TextsRequest struct {
	Set    engine.TextSet `json:"set"`
	After  uint64         `json:"after"`
	States bool           `json:"states"` // asks for Texts.States
}

// Texts are texts of a set, see engine.Engine.TextsAfter.
type Texts struct {
	Texts  []engine.Text   `json:"texts"`
	More   bool            `json:"more"`
	States []uint64        `json:"states"`
	Mark   engine.TextMark `json:"mark"` // of the set
}

// maxTextsBytes bounds the texts of an answer, unless it has a single text.
const maxTextsBytes = 1 << 20

// A ReadKind is a method of a backend.State.
type ReadKind string

// The kinds of reads.
const (
	ReadCounts ReadKind = "counts"
	ReadScan   ReadKind = "scan"
	ReadBytes  ReadKind = "bytes"
	ReadTop    ReadKind = "top"
	ReadBoxes  ReadKind = "boxes"
)

// A ReadRequest has the arguments of a read; each kind has some of them.
type ReadRequest struct {
	Kind   ReadKind       `json:"kind"`
	Now    engine.Instant `json:"now"`
	DB     uint8          `json:"db"`
	Cursor uint64         `json:"cursor"`
	Count  int            `json:"count"`
	Key    []byte         `json:"key"`
	Top    engine.TopKind `json:"top"`
	Window topk.Window    `json:"window"`
}

// A Read has the result of a read.
type Read struct {
	Counts *Counts           `json:"counts,omitempty"`
	Marks  []engine.TextMark `json:"marks,omitempty"` // with Counts: of each set
	Now    engine.Instant    `json:"now,omitempty"`
	// Told is Watched.Told for all changes so far, or 0 if the front wants no changes.
	Told   uint64             `json:"told,omitempty"`
	Keys   []ReadKey          `json:"keys,omitempty"`
	Cursor uint64             `json:"cursor,omitempty"`
	Bytes  int64              `json:"bytes,omitempty"`
	Top    engine.TopResult   `json:"top"`
	Boxes  []engine.ClosedBox `json:"boxes,omitempty"`
}

// A ReadKey is a key that a scan visits.
type ReadKey struct {
	Key []byte     `json:"key"`
	Alg engine.Alg `json:"alg"`
}

// Asked are command lines for a member to answer.
type Asked struct {
	Proto3 bool   `json:"proto3"`
	InExec bool   `json:"in_exec"` // they are part of a transaction
	Lines  []Line `json:"lines"`
}

// A Line is a command line in a database.
type Line struct {
	DB   uint8    `json:"db"`
	Args [][]byte `json:"args"`
}

// Answered has a reply for each line, as bytes for the client.
type Answered struct {
	Replies [][]byte `json:"replies"`
}
