package envoy

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"limitsrv/checks"
	"limitsrv/rules"
	"limitsrv/strictjson"
)

// The messages of a request in the JSON form of protobuf, where a field may have either of
// two names, null is the default, and numbers may be strings.
type (
	jsonRequest struct {
		Domain      string           `json:"domain"`
		Descriptors []jsonDescriptor `json:"descriptors"`
		HitsAddend  *jsonNumber      `json:"hitsAddend"`
		Hits        *jsonNumber      `json:"hits_addend"`
	}
	jsonDescriptor struct {
		Entries    []jsonEntry `json:"entries"`
		Limit      *jsonLimit  `json:"limit"`
		HitsAddend *jsonNumber `json:"hitsAddend"`
		Hits       *jsonNumber `json:"hits_addend"`
	}
	jsonEntry struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	jsonLimit struct {
		RequestsPerUnit *jsonNumber `json:"requestsPerUnit"`
		Requests        *jsonNumber `json:"requests_per_unit"`
		Unit            jsonUnit    `json:"unit"`
	}
)

// A jsonNumber is a whole number, also in a string.
type jsonNumber uint64

// UnmarshalJSON reads 5, "5", 5.0 and 5e0.
func (n *jsonNumber) UnmarshalJSON(b []byte) error {
	digits := string(b)
	if digits == "null" {
		return nil
	}
	if len(digits) > 1 && digits[0] == '"' {
		digits = digits[1 : len(digits)-1]
	}
	if whole, err := strconv.ParseUint(digits, 10, 64); err == nil {
		*n = jsonNumber(whole)
		return nil
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || f < 0 || f != math.Trunc(f) || f >= 1<<64 || strings.ContainsAny(digits, "xX_") {
		return invalid("a number must be whole, 0 to %d, got %.40s", uint64(math.MaxUint64), digits)
	}
	*n = jsonNumber(f)
	return nil
}

// A jsonUnit is a RateLimitUnit by its name or its number.
type jsonUnit int32

// UnmarshalJSON reads a unit.
func (u *jsonUnit) UnmarshalJSON(b []byte) error {
	var name string
	if json.Unmarshal(b, &name) != nil {
		var n jsonNumber
		err := n.UnmarshalJSON(b)
		*u = jsonUnit(min(n, math.MaxInt32))
		return err
	}
	for i, unit := range units {
		if unit.name == name {
			*u = jsonUnit(i)
			return nil
		}
	}
	if name != "" { // null
		return invalid("unit: SECOND MINUTE HOUR DAY WEEK MONTH or YEAR, got %.40q", name)
	}
	return nil
}

// oneOf returns the number of a field with two names, of which a message may have one; nil: none.
func oneOf(name string, a, b *jsonNumber) (*jsonNumber, error) {
	if a != nil && b != nil {
		return nil, invalid("%s: under one of its two names, got both", name)
	}
	return cmp.Or(a, b), nil
}

// uint32Of returns the number of 32 bits of a field with two names.
func uint32Of(name string, a, b *jsonNumber) (uint32, error) {
	n, err := oneOf(name, a, b)
	switch {
	case err != nil:
		return 0, err
	case n == nil:
		return 0, nil
	case *n > math.MaxUint32:
		return 0, invalid("%s: 0 to %d, got %d", name, uint32(math.MaxUint32), *n)
	}
	return uint32(*n), nil
}

// ReadJSON reads a RateLimitRequest in the JSON form of protobuf. The request is valid
// until the next Read. An error is an *resp.Error for the client.
func (r *Reader) ReadJSON(message []byte) (*checks.Request, error) {
	r.reset()
	var in jsonRequest
	if err := DecodeStrict(message, &in); err != nil {
		return nil, err
	}
	hits, err := uint32Of("hits_addend", in.HitsAddend, in.Hits)
	if err != nil {
		return nil, err
	}
	r.request.Domain = []byte(in.Domain)
	for i := range in.Descriptors {
		if err := r.addJSON(&in.Descriptors[i]); err != nil {
			return nil, err
		}
	}
	return r.finish(hits)
}

// addJSON adds a descriptor.
func (r *Reader) addJSON(d *jsonDescriptor) error {
	first, limit, own := len(r.entries), sentLimit{}, int64(-1)
	for _, e := range d.Entries {
		if err := r.addEntry(first, rules.Entry{Key: []byte(e.Key), Value: []byte(e.Value)}); err != nil {
			return err
		}
	}
	if l := d.Limit; l != nil {
		count, err := uint32Of("requests_per_unit", l.RequestsPerUnit, l.Requests)
		if err != nil {
			return err
		}
		limit = sentLimit{present: true, unit: int32(l.Unit)}
		limit.Count = count
	}
	n, err := oneOf("hits_addend", d.HitsAddend, d.Hits)
	if err != nil {
		return err
	}
	if n != nil {
		own = boundedHits(uint64(*n))
	}
	return r.add(first, limit, own)
}

// DecodeStrict decodes a JSON value as strictjson does. An error is an *resp.Error for the client.
func DecodeStrict(message []byte, into any) error {
	if err := strictjson.Decode(message, into); err != nil {
		return invalid("the body: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// The messages of a response in the JSON form of protobuf, which omits defaults.
type (
	jsonResponse struct {
		Code     string         `json:"overallCode"`
		Statuses []jsonStatus   `json:"statuses,omitempty"`
		Headers  []jsonHeader   `json:"responseHeadersToAdd,omitempty"`
		Metadata map[string]any `json:"dynamicMetadata,omitempty"`
	}
	jsonStatus struct {
		Code      string            `json:"code"`
		Limit     *jsonCurrentLimit `json:"currentLimit,omitempty"`
		Remaining uint32            `json:"limitRemaining,omitempty"`
		Reset     string            `json:"durationUntilReset,omitempty"`
	}
	jsonCurrentLimit struct {
		Name     string `json:"name,omitempty"`
		Requests uint32 `json:"requestsPerUnit,omitempty"`
		Unit     string `json:"unit,omitempty"`
	}
	jsonHeader struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
)

// AppendJSON appends the RateLimitResponse to a request in the JSON form of protobuf.
func (w *Writer) AppendJSON(dst []byte, q *checks.Request, a *checks.Answer) []byte {
	w.prepare(a)
	out := jsonResponse{Code: codeNames[codeOf(a.Allowed)]}
	for i := range w.statuses {
		out.Statuses = append(out.Statuses, w.statuses[i].json())
	}
	for _, h := range w.headers.List {
		out.Headers = append(out.Headers, jsonHeader{h.Name, string(h.Value)})
	}
	if w.Metadata {
		out.Metadata = jsonValue(metadata(q, a)).(map[string]any)
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic("envoy: encode a response as JSON: " + err.Error())
	}
	return append(dst, b...)
}

func (s *status) json() jsonStatus {
	out := jsonStatus{Code: codeNames[s.code], Remaining: s.remaining}
	if s.limit != nil {
		out.Limit = &jsonCurrentLimit{Requests: s.count}
		if s.unit > 0 {
			out.Limit.Unit = units[s.unit].name
		}
		if s.unit == 0 || s.limit.Given != "" {
			out.Limit.Name = string(s.appendName(nil))
		}
	}
	if s.reset > 0 {
		out.Reset = strconv.FormatInt(s.reset, 10) + "s"
	}
	return out
}
