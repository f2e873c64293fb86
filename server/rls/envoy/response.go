package envoy

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"limitsrv/commands/rules/checks"
	"limitsrv/engine"
)

// Options are the optional parts of responses.
type Options struct {
	// Headers are the response_headers_to_add; 0 sends nothing, not even Retry-After.
	Headers checks.HeaderSet
	// Metadata includes dynamic_metadata.
	Metadata bool
	// Now returns the server's time, for the end of windows that were never used. Concurrency:
	// all Writers call it.
	Now func() engine.Instant
}

// A Writer writes responses. It is reused: the zero value is ready.
type Writer struct {
	Options
	statuses []status
	headers  checks.Headers
}

// prepare collects the parts of a response.
func (w *Writer) prepare(a *checks.Answer) {
	w.statuses = statuses(w.statuses[:0], a, w.Now)
	w.headers.List = w.headers.List[:0]
	if w.Headers != 0 {
		w.headers.Set(a, w.Headers)
	}
}

// Append appends the RateLimitResponse to a request as protobuf. Cost: without metadata no
// allocation once the Writer and dst have grown.
func (w *Writer) Append(dst []byte, q *checks.Request, a *checks.Answer) []byte {
	w.prepare(a)
	dst = appendNumber(dst, 1, uint64(codeOf(a.Allowed)))
	for i := range w.statuses {
		start := len(dst)
		dst = protowire.AppendTag(dst, 2, protowire.BytesType)
		dst = closeMessage(w.statuses[i].append(dst), start+1)
	}
	for i := range w.headers.List {
		h := &w.headers.List[i]
		start := len(dst)
		dst = protowire.AppendTag(dst, 3, protowire.BytesType)
		dst = protowire.AppendTag(dst, 1, protowire.BytesType)
		dst = protowire.AppendString(dst, h.Name)
		dst = protowire.AppendTag(dst, 2, protowire.BytesType)
		dst = closeMessage(protowire.AppendBytes(dst, h.Value), start+1)
	}
	if w.Metadata {
		start := len(dst)
		dst = protowire.AppendTag(dst, 6, protowire.BytesType)
		dst = closeMessage(appendStruct(dst, metadata(q, a)), start+1)
	}
	return dst
}

// append appends a DescriptorStatus.
func (s *status) append(b []byte) []byte {
	b = appendNumber(b, 1, uint64(s.code))
	if s.limit != nil {
		start := len(b)
		b = protowire.AppendTag(b, 2, protowire.BytesType)
		b = appendNumber(b, 1, uint64(s.count))
		b = appendNumber(b, 2, uint64(s.unit))
		if name := len(b); s.unit == 0 || s.limit.Given != "" {
			b = protowire.AppendTag(b, 3, protowire.BytesType)
			b = closeMessage(s.appendName(b), name+1)
		}
		if multiplier := len(b); s.units > 0 {
			b = protowire.AppendTag(b, 4, protowire.BytesType)
			b = closeMessage(appendNumber(b, 1, uint64(s.units)), multiplier+1)
		}
		b = closeMessage(b, start+1)
	}
	b = appendNumber(b, 3, uint64(s.remaining))
	if s.reset > 0 {
		start := len(b)
		b = protowire.AppendTag(b, 4, protowire.BytesType)
		b = closeMessage(appendNumber(b, 1, uint64(s.reset)), start+1)
	}
	return b
}

// appendNumber appends a varint, unless it is the default, 0.
func appendNumber(b []byte, field protowire.Number, n uint64) []byte {
	if n == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}

// closeMessage puts the length of the bytes from start on in front of them: they are the
// content of the field with the tag that ends at start.
func closeMessage(b []byte, start int) []byte {
	var prefix [10]byte
	return slices.Insert(b, start, protowire.AppendVarint(prefix[:0], uint64(len(b)-start))...)
}
