package engine

import "slices"

// victimShare is which part of the keys of a page Victims names: so many that the
// page gets a smaller buffer when they are dropped.
const victimShare = 3

// A victim is a key that may be dropped.
type victim struct {
	key   []byte
	bytes int64
	reset Span
}

// Victims appends copies of live keys to dst that give back about so many bytes
// when they are dropped: of a page of about 60 keys the third that is nearest to
// its reset, page after page from where the last call stopped. It goes around once, so there may be too few: ask again
// when they are dropped. It changes nothing.
//
// Cost: a few microseconds a page, one shard entered at a time.
func (e *Engine) Victims(now Instant, bytes int64, dst [][]byte) [][]byte {
	var live []victim
	start := e.victimCursor.Load()
	for hash, around := start, false; bytes > 0 && !(around && hash >= start); {
		live = live[:0]
		hash = e.livePage(now, hash, func(s *shard, at Instant, pl place) {
			live = append(live, victim{slices.Clone(s.keyAt(pl)), s.keyBytes(pl), s.cell.limiter().until(&s.cell, at, 0)})
		})
		slices.SortFunc(live, func(a, b victim) int { return a.reset.compare(b.reset) })
		for _, v := range live[:(len(live)+victimShare-1)/victimShare] {
			if bytes > 0 {
				dst = append(dst, v.key)
				bytes -= v.bytes
			}
		}
		around = around || hash == 0
		e.victimCursor.Store(hash)
	}
	return dst
}
