package reservations

import (
	"encoding/binary"

	"limitsrv/engine"
)

// The states of a reservation in its record. An open reservation has expired once its end has passed.
const (
	isOpen byte = engine.OpenRecord + iota
	isCommitted
	isCanceled
)

// keepAll is the number of permits to keep with KEEP ALL: it is above any number.
const keepAll = 1 << 62

// Remembered is the time in nanoseconds that an id is remembered once its reservation is settled or has
// expired.
const Remembered = int64(300e9)

// maxLayers bounds the layers of a reservation.
const maxLayers = 64

// A record is the value of an id: a reservation.
type record struct {
	state   byte
	request uint64 // a hash of the request
	granted int64  // the answer to the request: 1, or with PARTIAL the number granted
	denied  uint64 // a bit for each shadow or AnyOf limit that did not pass, although the request did
	// outcome and settled are of a committed reservation: the first number that was committed, and a
	// hash of all numbers.
	outcome int64
	settled uint64
	end     engine.Instant
	keep    int64
	// layers are the permits of one call each: of the reservation, then of its extensions.
	layers []layer
	limits []limit
	// names and weights are of the amounts of a CommitNamed. A reservation without names is committed by numbers.
	names   [][]byte
	weights []Weight
}

// A layer holds the permits of one call: the time, and the number taken from each variable limit. In the
// first layer n is unused; limit.n has the number.
type layer struct {
	stamp  engine.Instant
	n      int64
	missed uint64 // a bit for each shadow or AnyOf limit that did not pass, although the extension did
}

// A limit is a limit of a reservation. A fixed limit keeps its permits unless the reservation is
// canceled. A limit with leases is fixed too, but its lease ends with the reservation.
type limit struct {
	index  int // in the record
	fixed  bool
	mode   engine.Mode // 0, or by rules Shadow or AnyOf
	params engine.Params
	n      int64
	key    []byte
}

// held returns the permits of a limit in a layer.
func (r *record) held(l *limit, layer int) int64 {
	switch {
	case layer == 0:
		return l.n
	case l.fixed || r.layers[layer].missed>>l.index&1 != 0:
		return 0
	}
	return r.layers[layer].n
}

// missed returns the share of so many used permits that falls on layers that a variable limit has missed.
// The oldest layers are used first.
func (r *record) missed(l *limit, used int64) (n int64) {
	used -= min(used, l.n)
	for i := 1; i < len(r.layers); i++ {
		share := min(used, r.layers[i].n)
		if used -= share; r.held(l, i) == 0 {
			n += share
		}
	}
	return n
}

// total returns the permits of a limit in all layers.
func (r *record) total(l *limit) (n int64) {
	for i := range r.layers {
		n += r.held(l, i)
	}
	return n
}

// kept returns the permits of a limit that stay taken when the reservation expires.
func (r *record) kept(l *limit) int64 {
	switch {
	case l.isLease():
		return 0
	case l.fixed:
		return r.total(l)
	}
	return min(r.keep, r.total(l))
}

// first returns the first variable limit, or the first limit if all are fixed. It returns an empty limit if
// the request met no limit.
func (r *record) first() *limit {
	if len(r.limits) == 0 {
		return new(limit)
	}
	for i := range r.limits {
		if !r.limits[i].fixed {
			return &r.limits[i]
		}
	}
	return &r.limits[0]
}

// expired reports whether the reservation has expired at now.
func (r *record) expired(now engine.Instant) bool { return r.state == isOpen && r.end <= now }

// until returns the expiry of the record in milliseconds since the Unix epoch.
func (r *record) until(now engine.Instant) int64 {
	from := now
	if r.state == isOpen {
		from = max(now, r.end)
	}
	return ceilMillis(int64(from) + Remembered)
}

// weigh takes the weights of a limit of the request off weights, adds them to the record as weights of its last
// limit, and returns the rest.
func (r *record) weigh(weights []Weight, index int) (rest []Weight) {
	for ; len(weights) > 0 && weights[0].Limit <= index; weights = weights[1:] {
		if x := weights[0]; x.Limit == index {
			x.Limit = len(r.limits) - 1
			r.weights = append(r.weights, x)
		}
	}
	return weights
}

// append appends the bytes of a record: the state, a byte; the hash of the request, 8 bytes; granted,
// denied, outcome; settled, 8 bytes; end, keep; the number of layers, and of each stamp, n and missed; the
// number of limits, and of each a byte, its mode with the bit isFixed if it is fixed, Params, n, the length
// of the key, the key. Numbers are unsigned varints. A settled reservation has neither layers nor limits. An open
// reservation with names has engine.OpenNamedRecord as state, and the names and weights at the end, as appendNames
// writes them.
func (r *record) append(dst []byte) []byte {
	named := r.state == isOpen && len(r.names) > 0
	state := r.state
	if named {
		state = engine.OpenNamedRecord
	}
	dst = binary.LittleEndian.AppendUint64(append(dst, state), r.request)
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(r.granted)), r.denied)
	dst = binary.AppendUvarint(dst, uint64(r.outcome))
	dst = binary.LittleEndian.AppendUint64(dst, r.settled)
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(r.end)), uint64(r.keep))
	layers, limits := r.layers, r.limits
	if r.state != isOpen {
		layers, limits = nil, nil
	}
	dst = binary.AppendUvarint(dst, uint64(len(layers)))
	for _, l := range layers {
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(l.stamp)), uint64(l.n))
		dst = binary.AppendUvarint(dst, l.missed)
	}
	dst = binary.AppendUvarint(dst, uint64(len(limits)))
	for i := range limits {
		l := &limits[i]
		first := byte(l.mode)
		if l.fixed {
			first |= isFixed
		}
		dst = l.params.Append(append(dst, first))
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(l.n)), uint64(len(l.key)))
		dst = append(dst, l.key...)
	}
	if named {
		dst = appendNames(dst, r.names, r.weights)
	}
	return dst
}

// read reads the output of append. It refers to data. The bytes of a snapshot may be wrong: then ok is
// false.
func (r *record) read(data []byte) (ok bool) {
	x := reader{data: data}
	r.state, r.request = x.byte(), x.word()
	named := r.state == engine.OpenNamedRecord
	if named {
		r.state = isOpen
	}
	r.granted, r.denied, r.outcome = x.uvarint(), uint64(x.uvarint()), x.uvarint()
	r.settled = x.word()
	r.end, r.keep = engine.Instant(x.uvarint()), x.uvarint()
	n := x.uvarint()
	r.layers, r.limits = r.layers[:0], r.limits[:0]
	for i := int64(0); i < n && !x.bad; i++ {
		r.layers = append(r.layers, layer{engine.Instant(x.uvarint()), x.uvarint(), uint64(x.uvarint())})
	}
	n = x.uvarint()
	for i := int64(0); i < n && !x.bad; i++ {
		r.limits = append(r.limits, x.limit(int(i)))
	}
	r.names, r.weights = r.names[:0], r.weights[:0]
	if named {
		r.names, r.weights = x.names(r.names, r.weights)
	}
	if n := len(r.weights); n > 0 && r.weights[n-1].Limit >= len(r.limits) {
		return false
	}
	open := r.state == isOpen
	return !x.bad && len(x.data) == 0 && r.state <= isCanceled && (open || len(r.limits) == 0) &&
		open == (len(r.layers) > 0) && len(r.limits) <= engine.MaxGroup
}

// isFixed is the bit of a fixed limit beside its mode. No mode has it.
const isFixed = 1 << 7

func (x *reader) limit(index int) (l limit) {
	first := x.byte()
	l.index, l.fixed, l.mode = index, first&isFixed != 0, engine.Mode(first&^isFixed)
	size := l.params.Decode(x.data)
	x.number(0, size)
	l.n = x.uvarint()
	length := x.uvarint()
	if x.bad || length < 0 || length > int64(len(x.data)) {
		x.data, x.bad = nil, true
		return l
	}
	l.key, x.data = x.data[:length:length], x.data[length:]
	return l
}
