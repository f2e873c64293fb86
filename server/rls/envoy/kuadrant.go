package envoy

import (
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"limitsrv/commands/rules/checks"
	"limitsrv/engine"
)

// The messages of kuadrant.service.ratelimit.v1. The numbers of their fields are from kuadrantrls.proto of
// Limitador.
//
//	ReserveRequest   1 domain, 2 descriptors as Envoy has them, 3 amount uint64, 4 ttl Duration
//	ReserveResponse  1 code, 2 reservation_id string
//	CommitRequest    1 domain, 2 descriptors, 3 reservation_id string, 4 actual_amount uint64
//	CommitResponse   1 reservation_released bool

// DefaultTTL is the time of a reservation without a ttl in its request, in nanoseconds.
const DefaultTTL = int64(time.Minute)

// ReadReserve reads a ReserveRequest, as Read reads a request of Envoy. The amount is the Hits of the
// request; hits of a descriptor are an error. ttl is the time of the reservation in nanoseconds.
func (r *Reader) ReadReserve(message []byte) (q *checks.Request, ttl int64, err error) {
	amount, sent := uint64(0), duration{}
	if err := r.read(message, func(f value) error {
		switch f.is {
		case field{3, protowire.VarintType}:
			amount = f.number
		case field{4, protowire.BytesType}:
			return sent.read(f.bytes)
		}
		return nil
	}); err != nil {
		return nil, 0, err
	}
	if q, err = r.finishAmount(amount); err == nil {
		ttl, err = sent.nanos()
	}
	return q, ttl, err
}

// ReadCommit reads a CommitRequest. The actual amount is the Hits of the request. id may be empty.
func (r *Reader) ReadCommit(message []byte) (q *checks.Request, id []byte, err error) {
	actual := uint64(0)
	if err := r.read(message, func(f value) error {
		switch f.is {
		case field{3, protowire.BytesType}:
			id = f.bytes
		case field{4, protowire.VarintType}:
			actual = f.number
		}
		return nil
	}); err != nil {
		return nil, nil, err
	}
	q, err = r.finishAmount(actual)
	return q, id, err
}

// finishAmount is finish for a message with one amount for all descriptors.
func (r *Reader) finishAmount(amount uint64) (*checks.Request, error) {
	q, err := r.finish(0)
	switch {
	case err != nil:
		return nil, err
	case q.Own != nil || q.Negative != nil:
		return nil, invalid("descriptors must not have hits_addend or is_negative_hits, because the message has an amount")
	}
	q.Hits, q.HitsGiven = boundedHits(amount), true
	return q, nil
}

// A duration is a google.protobuf.Duration as it was sent.
type duration struct {
	seconds int64
	rest    int32 // nanoseconds
}

// read merges a Duration into d, as protobuf requires of a field that comes more than once.
func (d *duration) read(message []byte) error {
	for len(message) > 0 {
		f, rest, err := nextField(message)
		if err != nil {
			return err
		}
		message = rest
		switch f.is {
		case field{1, protowire.VarintType}:
			d.seconds = int64(f.number)
		case field{2, protowire.VarintType}:
			d.rest = int32(f.number)
		}
	}
	return nil
}

// nanos returns the duration in nanoseconds, or DefaultTTL if it is 0.
func (d *duration) nanos() (int64, error) {
	switch {
	case *d == duration{}:
		return DefaultTTL, nil
	case d.rest < 0 || int64(d.rest) >= int64(time.Second) || d.seconds < 0 || d.seconds > math.MaxInt32:
	default:
		n := d.seconds*int64(time.Second) + int64(d.rest)
		if n >= engine.MinPeriod && n <= engine.MaxPeriod {
			return n, nil
		}
	}
	return 0, invalid("ttl: a duration of 1us to 10 years, or 0 for %d s, got %d s and %d ns",
		DefaultTTL/int64(time.Second), d.seconds, d.rest)
}

// AppendReserved appends the ReserveResponse to a request that was reserved under its id, if a allows it.
func AppendReserved(dst []byte, q *checks.Request, a *checks.Answer) []byte {
	dst = appendNumber(dst, 1, uint64(codeOf(a.Allowed)))
	if a.Allowed {
		dst = protowire.AppendBytes(protowire.AppendTag(dst, 2, protowire.BytesType), q.Reserve)
	}
	return dst
}

// AppendCommitted appends a CommitResponse.
func AppendCommitted(dst []byte, released bool) []byte {
	return appendNumber(dst, 1, protowire.EncodeBool(released))
}
