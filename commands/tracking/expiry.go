package tracking

import (
	"container/heap"
	"math"
	"slices"

	"limitsrv/engine"
)

// Expires reports whether the table has an expiry.
func (t *Table) Expires() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.due) > 0
}

// Expire removes the keys that have expired at now, and sends a message to their readers.
func (t *Table) Expire(now engine.Instant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.due) > 0 && t.due[0].at <= now {
		if e := heap.Pop(&t.due).(expiry).entry; !e.removed {
			t.drop(e)
		}
	}
}

// unknown are entries with an unknown expiry, and the reads that need it.
type unknown struct {
	entries []*entry
	reads   []Read
}

// add adds an entry, unless its expiry in the database of the read is known.
func (u *unknown) add(e *entry, r Read) {
	if e.looked>>r.DB&1 == 0 {
		u.entries, u.reads = append(u.entries, e), append(u.reads, r)
	}
}

// addTo appends the lookups to a batch.
func (u *unknown) addTo(b *engine.Batch) {
	for _, r := range u.reads {
		b.Ops = append(b.Ops, engine.Op{Kind: engine.Peek, DB: r.DB, Key: r.Key})
	}
}

// Lookups are lookups of expiries in a batch, from an index of its ops on.
type Lookups struct {
	unknown
	first int
}

// findExpiries looks up the expiries of keys. The keys are in the table already, so a later change
// removes them. An expiry counts as known only after the lookup. A reader that registers earlier
// must do its own lookup, because the key may expire before the first reader's lookup.
func (t *Table) findExpiries(u *unknown) {
	if u == nil || len(u.reads) == 0 || t.o.Look == nil {
		return
	}
	var b engine.Batch
	u.addTo(&b)
	now := t.o.Look(&b)
	if t.noteExpiries(u, now, b.Decisions) {
		t.o.Await()
	}
}

// noteExpiries records the expiries in the decisions ds, which were made at now. It reports whether
// there are any.
func (t *Table) noteExpiries(u *unknown, now engine.Instant, ds []engine.Decision) (some bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, e := range u.entries {
		if e.removed || ds[i].Status != engine.OK && ds[i].Status != engine.Missing {
			continue
		}
		e.looked |= 1 << u.reads[i].DB
		left := ds[i].Reset.CeilMillis()
		if ds[i].Status == engine.OK && ds[i].Reset != engine.Never && left < (math.MaxInt64-int64(now))/1e6 {
			t.due.add(now+engine.Instant(left*1e6), e)
			e.expires, some = true, true
		} else if e.first == nil && !e.expires {
			t.remove(e)
		}
	}
	return some
}

// An expiry is the time when the key of an entry expires. The entry may be removed earlier.
type expiry struct {
	at    engine.Instant
	entry *entry
}

// A dueList is a heap of expiries; the earliest is first.
type dueList []expiry

// leastDue is the least length of a full list that drops the expiries of removed entries before
// it grows.
const leastDue = 1024

// add adds an expiry. A full list first drops the expiries of removed entries, and then grows only
// if the remaining expiries need more than half of it.
func (d *dueList) add(at engine.Instant, e *entry) {
	if len(*d) == cap(*d) && len(*d) >= leastDue {
		*d = slices.DeleteFunc(*d, func(x expiry) bool { return x.entry.removed })
		*d = slices.Grow(*d, len(*d))
		heap.Init(d)
	}
	heap.Push(d, expiry{at, e})
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (d dueList) Len() int           { return len(d) }
func (d dueList) Less(i, j int) bool { return d[i].at < d[j].at }
func (d dueList) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }

// Push implements heap.Interface.
func (d *dueList) Push(x any) { *d = append(*d, x.(expiry)) }

// Pop implements heap.Interface.
func (d *dueList) Pop() any {
	last := len(*d) - 1
	x := (*d)[last]
	(*d)[last] = expiry{}
	*d = (*d)[:last]
	return x
}
