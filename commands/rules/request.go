package rules

import (
	"fmt"

	"limitsrv/commands/weighing"
	"limitsrv/commands/word"
)

// Bounds of a request.
const (
	MaxDomainBytes = 256
	MaxKeyBytes    = 256
	MaxValueBytes  = 1024
	MaxDescriptors = 64
	MaxEntries     = 32
)

// A Request asks for the limits of some attributes. Its bytes are only read during Match.
type Request struct {
	Domain      []byte
	Descriptors []Descriptor
	// Amounts are named amounts of the request. Each limit takes their sum by its
	// weights. A limit without weights takes 1, for the request. Without Amounts the caller chooses
	// the number that each limit takes.
	Amounts []weighing.Amount
	// Used is set if the request was counted before. The Amounts are then the difference: the
	// request has used more or less. A limit without weights then takes nothing. A limit with leases
	// stays in the Result.
	Used bool
	// Holds is set if the request may use other Amounts later than it asks for. A limit with weights from which the
	// Amounts take 0 then stays in the Result, with Hits of 0, unless it has the mode Quota, which it would let pass,
	// or is a limit of 0.
	Holds bool
}

// A Descriptor is a list of attributes. For the tree it is a path; for rules it is a set. If a key
// occurs several times, rules use its first value, and lists use all values. Without attributes it
// matches no node of the tree.
type Descriptor struct {
	Entries []Entry
	// Limit is the limit that comes with the descriptor; nil without a limit.
	Limit *RequestLimit
}

// An Entry is an attribute.
type Entry struct{ Key, Value []byte }

// A RequestLimit is a limit that comes with a request. It counts in windows aligned to the
// epoch.
type RequestLimit struct {
	Count uint32
	// Period is the length of the window in nanoseconds, within the bounds of
	// engine.Params.
	Period int64
}

// check checks the sizes of a request.
func (q *Request) check() error {
	if n := len(q.Domain); n == 0 || n > MaxDomainBytes {
		return fmt.Errorf("domain must be 1 to %d bytes long, got %s", MaxDomainBytes, word.Excerpt(q.Domain))
	}
	if n := len(q.Descriptors); n == 0 || n > MaxDescriptors {
		return fmt.Errorf("a request must have 1 to %d descriptors, got %d", MaxDescriptors, n)
	}
	for i := range q.Descriptors {
		entries := q.Descriptors[i].Entries
		if n := len(entries); n > MaxEntries {
			return fmt.Errorf("a descriptor may have %d attributes, got %d", MaxEntries, n)
		}
		for j := range entries {
			e := &entries[j]
			if n := len(e.Key); n == 0 || n > MaxKeyBytes {
				return fmt.Errorf("key must be 1 to %d bytes long, got %s", MaxKeyBytes, word.Excerpt(e.Key))
			}
			if len(e.Value) > MaxValueBytes {
				return fmt.Errorf("value of %s must be at most %d bytes long, got %s", word.Excerpt(e.Key), MaxValueBytes,
					word.Excerpt(e.Value))
			}
		}
	}
	return nil
}
