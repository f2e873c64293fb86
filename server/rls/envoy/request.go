package envoy

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/engine"
)

// MaxMessageBytes bounds a request, in each of its forms. The caller holds it.
const MaxMessageBytes = 64 << 10

// A unit is a window of RateLimitUnit, in nanoseconds, by its number.
type unit struct {
	name  string
	nanos int64
}

var units = [...]unit{
	0: {"UNKNOWN", 0},
	1: {"SECOND", int64(time.Second)},
	2: {"MINUTE", int64(time.Minute)},
	3: {"HOUR", int64(time.Hour)},
	4: {"DAY", int64(24 * time.Hour)},
	5: {"MONTH", int64(30 * 24 * time.Hour)},
	6: {"YEAR", int64(365 * 24 * time.Hour)},
	7: {"WEEK", int64(7 * 24 * time.Hour)},
}

// unitOf returns the number of the unit with a window, or 0.
func unitOf(nanos int64) int {
	return max(0, slices.IndexFunc(units[:], func(u unit) bool { return u.nanos == nanos }))
}

// unitsOf returns the number of the longest unit that divides a window, and the quotient. Requires:
// the window is a number of whole seconds.
func unitsOf(nanos int64) (number int, multiple uint32) {
	for i := 1; i < len(units); i++ {
		if nanos%units[i].nanos == 0 && units[i].nanos > units[number].nanos {
			number = i
		}
	}
	return number, uint32(nanos / units[number].nanos)
}

// A Reader reads requests. It is reused: the zero value is ready.
//
// Bounds: package rules bounds the numbers of descriptors and of their entries. The lengths
// of names and values are checked where the request is matched.
type Reader struct {
	request     checks.Request
	descriptors []rules.Descriptor
	entries     []rules.Entry // of all descriptors
	limits      []sentLimit
	own         []int64 // -1: no hits of its own
	negative    []bool
	hasLong     bool
}

// HasLong reports whether a value of the last request is longer than rules.MaxValueBytes.
func (r *Reader) HasLong() bool { return r.hasLong }

// A sentLimit is the limit of a descriptor as it was sent.
type sentLimit struct {
	rules.RequestLimit
	present bool
	unit    int32
	units   int64 // unit_multiplier; -1: not sent
}

// A sentHits is the hits_addend of a descriptor.
type sentHits struct {
	n        int64 // -1: not sent
	negative bool
}

// Read reads a RateLimitRequest in protobuf's binary form. The request refers to the bytes of
// message, and is valid until the next Read. It skips unknown fields, and known fields of another
// type, as protobuf requires. TestFieldsOfRequests lists all fields of Envoy's service. An error is
// an *resp.Error for the client.
func (r *Reader) Read(message []byte) (*checks.Request, error) {
	hits := uint32(0)
	if err := r.read(message, func(f value) error {
		if f.is == (field{3, protowire.VarintType}) {
			hits = uint32(f.number)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return r.finish(hits)
}

// read reads a message with a domain in field 1 and descriptors in field 2. It calls other for each other
// field.
func (r *Reader) read(message []byte, other func(f value) error) error {
	r.reset()
	for len(message) > 0 {
		f, rest, err := nextField(message)
		if err != nil {
			return err
		}
		message = rest
		switch f.is {
		case field{1, protowire.BytesType}:
			r.request.Domain = f.bytes
		case field{2, protowire.BytesType}:
			err = r.readDescriptor(f.bytes)
		default:
			err = other(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reset forgets the last request.
func (r *Reader) reset() {
	r.request = checks.Request{}
	r.descriptors, r.entries, r.limits = r.descriptors[:0], r.entries[:0], r.limits[:0]
	r.own, r.negative, r.hasLong = r.own[:0], r.negative[:0], false
}

// finish checks the limits and returns the request. hits is the hits_addend; 0 stands for
// 1.
func (r *Reader) finish(hits uint32) (*checks.Request, error) {
	for i := range r.limits {
		l := &r.limits[i]
		if !l.present {
			continue
		}
		if l.unit < 1 || int(l.unit) >= len(units) {
			return nil, invalid("limit of descriptor %d: unit must be 1 to %d, got %d", i+1, len(units)-1, l.unit)
		}
		l.Period = units[l.unit].nanos
		if most := engine.MaxPeriod / l.Period; l.units == 0 || l.units > most {
			return nil, invalid("limit of descriptor %d: unit_multiplier of %s must be 1 to %d, got %d", i+1, units[l.unit].name,
				most, l.units)
		}
		if l.units > 1 {
			l.Period *= l.units
		}
		r.descriptors[i].Limit = &l.RequestLimit
	}
	r.request.Descriptors = r.descriptors
	r.request.Hits, r.request.HitsGiven = int64(max(1, hits)), hits > 0
	if slices.ContainsFunc(r.own, func(n int64) bool { return n >= 0 }) {
		r.request.Own = r.own
	}
	if slices.Contains(r.negative, true) {
		r.request.Negative = r.negative
	}
	return &r.request, nil
}

// add adds a descriptor with the entries from first on.
func (r *Reader) add(first int, limit sentLimit, hits sentHits) error {
	if len(r.descriptors) == rules.MaxDescriptors {
		return invalid("descriptors: 1 to %d, got more", rules.MaxDescriptors)
	}
	end := len(r.entries)
	r.descriptors = append(r.descriptors, rules.Descriptor{Entries: r.entries[first:end:end]})
	r.limits, r.own, r.negative = append(r.limits, limit), append(r.own, hits.n), append(r.negative, hits.negative)
	return nil
}

// addEntry adds an entry to the descriptor with entries from first on.
func (r *Reader) addEntry(first int, e rules.Entry) error {
	if len(r.entries)-first == rules.MaxEntries {
		return invalid("a descriptor may have %d attributes, got more", rules.MaxEntries)
	}
	r.entries = append(r.entries, e)
	r.hasLong = r.hasLong || len(e.Value) > rules.MaxValueBytes
	return nil
}

// readDescriptor reads a RateLimitDescriptor. Parts of a message that come more than once
// are merged, as protobuf requires.
func (r *Reader) readDescriptor(message []byte) error {
	first, limit, hits := len(r.entries), sentLimit{units: -1}, sentHits{n: -1}
	for len(message) > 0 {
		f, rest, err := nextField(message)
		if err != nil {
			return err
		}
		message = rest
		switch f.is {
		case field{1, protowire.BytesType}:
			var e rules.Entry
			if e, err = readEntry(f.bytes); err == nil {
				err = r.addEntry(first, e)
			}
		case field{2, protowire.BytesType}:
			err = limit.read(f.bytes)
		case field{3, protowire.BytesType}:
			hits.n = max(hits.n, 0)
			err = readWrapper(f.bytes, func(n uint64) { hits.n = boundedHits(n) })
		case field{4, protowire.VarintType}:
			hits.negative = f.number != 0
		}
		if err != nil {
			return err
		}
	}
	return r.add(first, limit, hits)
}

// readEntry reads a RateLimitDescriptor.Entry.
func readEntry(message []byte) (e rules.Entry, err error) {
	for len(message) > 0 {
		f, rest, err := nextField(message)
		if err != nil {
			return e, err
		}
		message = rest
		switch f.is {
		case field{1, protowire.BytesType}:
			e.Key = f.bytes
		case field{2, protowire.BytesType}:
			e.Value = f.bytes
		}
	}
	return e, nil
}

// read reads a RateLimitDescriptor.RateLimitOverride.
func (l *sentLimit) read(message []byte) error {
	l.present = true
	for len(message) > 0 {
		f, rest, err := nextField(message)
		if err != nil {
			return err
		}
		message = rest
		switch f.is {
		case field{1, protowire.VarintType}:
			l.Count = uint32(f.number)
		case field{2, protowire.VarintType}:
			l.unit = int32(f.number)
		case field{3, protowire.BytesType}:
			l.units = max(l.units, 0)
			err = readWrapper(f.bytes, func(n uint64) { l.units = int64(uint32(n)) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readWrapper reads a UInt64Value or a UInt32Value. It calls set with the number, if there is a
// number.
func readWrapper(message []byte, set func(uint64)) error {
	for len(message) > 0 {
		f, rest, err := nextField(message)
		if err != nil {
			return err
		}
		message = rest
		if f.is == (field{1, protowire.VarintType}) {
			set(f.number)
		}
	}
	return nil
}

// boundedHits returns a number of tokens as a request has it. More than the engine's bound
// are as many as never pass.
func boundedHits(n uint64) int64 { return int64(min(n, engine.MaxN)) }

// A field is the number and the type of a field.
type field struct {
	number protowire.Number
	kind   protowire.Type
}

// A value is a field with its content: a varint is in number, bytes are in bytes.
type value struct {
	is     field
	number uint64
	bytes  []byte
}

// nextField reads the field at the start of b, which must not be empty.
func nextField(b []byte) (v value, rest []byte, err error) {
	number, kind, n := protowire.ConsumeTag(b)
	if n < 0 || number > protowire.MaxValidNumber {
		return value{}, nil, errMalformed
	}
	b = b[n:]
	v.is = field{number, kind}
	switch kind {
	case protowire.VarintType:
		v.number, n = protowire.ConsumeVarint(b)
	case protowire.BytesType:
		v.bytes, n = protowire.ConsumeBytes(b)
	default:
		n = protowire.ConsumeFieldValue(number, kind, b)
	}
	if n < 0 {
		return value{}, nil, errMalformed
	}
	return v, b[n:], nil
}

var errMalformed = resp.NewError("ERR", "the message is malformed, it must be the protobuf message of the method")

func invalid(format string, args ...any) error {
	return resp.NewError("ERR", fmt.Sprintf(format, args...))
}
