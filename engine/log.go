package engine

// slidingLog is the exact sliding window: it stores the time of each permit granted, and
// a permit granted at t is in use until t + window.
//
// State: the first and last chunk of entries; the numbers of permits ever granted and of
// expired permits, modulo 2^32; and the number of the last change, counted over all logs of
// the shard. Under a longer window every unexpired entry counts longer, and no entry needs
// a change. Under a shorter window all entries expire, and the past of the key holds their
// permits.
//
// The entries are in a doubly linked list of chunks, oldest first. A chunk is a word of
// links, a word with the number of entries, and the entries, each an instant and the
// running total of permits including it. Cost: take is O(1), except for releasing expired
// chunks; used and until take a step per chunk of up to 255 entries that they pass, and a
// binary search in the last.
type slidingLog struct{}

const (
	chunkLinks = iota // previous<<32 | next
	chunkCount
	chunkHead  // words before the entries
	entryWords = 2
)

type logState struct {
	first, last      chunkRef
	granted, expired uint32
	change           uint64
}

func loadLog(c *cell) logState {
	return logState{
		first: chunkRef(c.state[0] >> 32), last: chunkRef(c.state[0]),
		granted: uint32(c.state[1] >> 32), expired: uint32(c.state[1]),
		change: c.state[2],
	}
}

func (l *logState) store(c *cell) {
	c.state = state{
		uint64(l.first)<<32 | uint64(l.last),
		uint64(l.granted)<<32 | uint64(l.expired),
		l.change,
	}
}

func entry(words []uint64, i int) (at Instant, total uint32) {
	return Instant(words[chunkHead+i*entryWords]), uint32(words[chunkHead+i*entryWords+1])
}

// lastEntry returns the newest entry of a chunk that is not empty.
func lastEntry(words []uint64) (at Instant, total uint32) {
	return entry(words, max(int(words[chunkCount])-1, 0))
}

func setEntry(words []uint64, i int, at Instant, total uint32) {
	words[chunkHead+i*entryWords], words[chunkHead+i*entryWords+1] = uint64(at), uint64(total)
}

// A settledLog is the last result of logState.expire in a shard. A decision needs it several
// times: before the permits are taken, and after. The number of the change tells logs and their
// states apart.
type settledLog struct {
	log     logState
	now     Instant
	period  int64
	expired uint32
}

// expire sets expired to the total at now.
func (l *logState) expire(c *cell, now Instant) {
	if l.first == 0 || l.expired == l.granted {
		return
	}
	m := &c.chunks.settled
	if m.now == now && m.log == *l && m.period == c.params.Period {
		l.expired = m.expired
		return
	}
	m.log, m.now, m.period = *l, now, c.params.Period
	l.expireBefore(c, now-Instant(c.params.Period))
	m.expired = l.expired
}

// expireBefore sets expired to the total of the permits that were granted at since or before:
// those granted then have just expired. Requires: there is an entry.
func (l *logState) expireBefore(c *cell, since Instant) {
	for r := l.first; r != 0; {
		words := c.chunks.words(r)
		at, total := lastEntry(words)
		if at <= since {
			l.expireUpTo(total)
			r = chunkRef(words[chunkLinks])
			continue
		}
		lo, hi := 0, int(words[chunkCount])-1 // the first entry after since is in [lo, hi]
		for lo < hi {
			if mid := (lo + hi) / 2; Instant(words[chunkHead+mid*entryWords]) <= since {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		if lo > 0 {
			_, total = entry(words, lo-1)
			l.expireUpTo(total)
		}
		return
	}
}

// expireUpTo expires all permits up to a running total, unless they are expired already.
func (l *logState) expireUpTo(total uint32) {
	if int32(total-l.expired) > 0 {
		l.expired = total
	}
}

func (slidingLog) used(c *cell, now Instant) int64 {
	l := loadLog(c)
	l.expire(c, now)
	return int64(l.granted - l.expired)
}

func (slidingLog) until(c *cell, now Instant, target int64) Span {
	l := loadLog(c)
	if target == 0 {
		return l.untilEmpty(c, now)
	}
	l.expire(c, now)
	if int64(l.granted-l.expired) <= target {
		return Span{}
	}
	at := l.timeOf(c, l.granted-uint32(target))
	return spanOf(int64(at + Instant(c.params.Period) - now))
}

// untilEmpty is until no permit is in use. It reads the newest entry only.
func (l *logState) untilEmpty(c *cell, now Instant) Span {
	if l.first == 0 || l.expired == l.granted {
		return Span{}
	}
	at, _ := lastEntry(c.chunks.words(l.last))
	return spanOf(int64(at + Instant(c.params.Period) - now))
}

// timeOf returns the time when the running total reached total. Requires: it did.
func (l *logState) timeOf(c *cell, total uint32) Instant {
	if total == l.granted { // needed by every decision
		at, _ := lastEntry(c.chunks.words(l.last))
		return at
	}
	r := l.first
	words := c.chunks.words(r)
	for {
		if _, last := lastEntry(words); int32(last-total) >= 0 {
			break
		}
		r = chunkRef(words[chunkLinks])
		words = c.chunks.words(r)
	}
	lo, hi := 0, int(words[chunkCount])-1 // the entry is in [lo, hi]
	for lo < hi {
		mid := (lo + hi) / 2
		if _, t := entry(words, mid); int32(t-total) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	at, _ := entry(words, lo)
	return at
}

func (slidingLog) take(c *cell, now Instant, n int64) {
	l := loadLog(c)
	l.expire(c, now)
	l.releaseExpired(c)
	class, fresh := l.nextChunk(c, now, n)
	l.granted += uint32(n)
	if fresh {
		l.append(c, class)
	}
	words := c.chunks.words(l.last)
	count := int(words[chunkCount])
	if at, _ := lastEntry(words); count > 0 && at == now {
		count--
	}
	setEntry(words, count, now, l.granted)
	words[chunkCount] = uint64(count + 1)
	l.change = c.chunks.nextChange()
	l.store(c)
	c.chunks.settled = settledLog{l, now, c.params.Period, l.expired}
}

// nextChunk reports whether taking n at now needs a new chunk, and its class: the largest
// that the permits in use could fill, so that half of the memory is in use.
func (l *logState) nextChunk(c *cell, now Instant, n int64) (class int, fresh bool) {
	if l.last != 0 {
		words := c.chunks.words(l.last)
		at, _ := lastEntry(words)
		if at == now || chunkHead+(int(words[chunkCount])+1)*entryWords <= len(words) {
			return 0, false
		}
	}
	used := int64(l.granted-l.expired) + n
	for class < largestChunk && int64(chunkWords[class+1]-chunkHead)/entryWords <= used {
		class++
	}
	return class, true
}

func (slidingLog) maxGrowth() int { return chunkPageBytes }

func (slidingLog) growth(c *cell, now Instant, n int64) int {
	l := loadLog(c)
	l.expire(c, now)
	if class, fresh := l.nextChunk(c, now, n); fresh && c.chunks.needsPage(class) {
		return chunkPageBytes
	}
	return 0
}

// append adds an empty chunk at the end.
func (l *logState) append(c *cell, class int) {
	r := c.chunks.alloc(class)
	words := c.chunks.words(r)
	words[chunkLinks] = uint64(l.last) << 32
	words[chunkCount] = 0
	if l.last == 0 {
		l.first = r
	} else {
		c.chunks.words(l.last)[chunkLinks] |= uint64(r)
	}
	l.last = r
}

// releaseExpired releases the chunks with only expired entries.
func (l *logState) releaseExpired(c *cell) {
	for l.first != 0 {
		words := c.chunks.words(l.first)
		if _, total := lastEntry(words); int32(total-l.expired) > 0 {
			return
		}
		l.drop(c, l.first)
	}
}

// drop releases a chunk.
func (l *logState) drop(c *cell, r chunkRef) {
	links := c.chunks.words(r)[chunkLinks]
	before, after := chunkRef(links>>32), chunkRef(links)
	if before == 0 {
		l.first = after
	} else {
		words := c.chunks.words(before)
		words[chunkLinks] = words[chunkLinks]&^(1<<32-1) | uint64(after)
	}
	if after == 0 {
		l.last = before
	} else {
		words := c.chunks.words(after)
		words[chunkLinks] = words[chunkLinks]&(1<<32-1) | uint64(before)<<32
	}
	c.chunks.release(r)
}

// If the window of p is shorter, migrate holds the permits in use until the last has left
// its own window. It leaves the chunks unchanged.
func (slidingLog) migrate(c *cell, now Instant, p Params) {
	l := loadLog(c)
	l.expire(c, now)
	if used := l.granted - l.expired; used > 0 && p.Period < c.params.Period {
		c.addHeld(now, int64(used), l.timeOf(c, l.granted)+Instant(c.params.Period))
		l.expired = l.granted
		l.change = c.chunks.nextChange()
	}
	c.params = p
	l.store(c)
}

// discard releases all chunks.
func (slidingLog) discard(c *cell) {
	l := loadLog(c)
	for l.first != 0 {
		l.drop(c, l.first)
	}
	c.state = state{}
}

// valid: the words are built by read.
func (slidingLog) valid(*cell, Instant) bool { return true }

func (slidingLog) location(c *cell) uint64 { return c.state[0] }

func (slidingLog) lastChange(c *cell) uint64 { return loadLog(c).change }

func (slidingLog) print(c *cell) state { return state{loadLog(c).change} }

func (slidingLog) changes(c *cell) uint64 { return c.chunks.changes }

func (slidingLog) bytes(c *cell) (bytes int64) {
	for r := loadLog(c).first; r != 0; {
		words := c.chunks.words(r)
		bytes += int64(len(words)) * wordBytes
		r = chunkRef(words[chunkLinks])
	}
	return bytes
}
