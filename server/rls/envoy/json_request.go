package envoy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
)

// Names of the fields of a request. In the JSON form of protobuf a field has two names.
var (
	requestFields    = [][]string{{"domain"}, {"descriptors"}, {"hitsAddend", "hits_addend"}}
	descriptorFields = [][]string{{"entries"}, {"limit"}, {"hitsAddend", "hits_addend"},
		{"isNegativeHits", "is_negative_hits"}}
	entryFields = [][]string{{"key"}, {"value"}}
	limitFields = [][]string{{"requestsPerUnit", "requests_per_unit"}, {"unit"}, {"unitMultiplier", "unit_multiplier"}}
)

// A jsonReader reads the parts of a request in the JSON form of protobuf. In that form null means
// the default, and a number may be a string. All errors are for the client.
type jsonReader struct{ *json.Decoder }

func (d jsonReader) token() (json.Token, error) {
	token, err := d.Token()
	if err != nil {
		return nil, invalid("the body: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return token, nil
}

// object reads an object. After each name it calls read with the index of the field. is is false
// for null.
func (d jsonReader) object(name string, fields [][]string, read func(field int) error) (is bool, err error) {
	token, err := d.token()
	switch {
	case err != nil || token == nil:
		return false, err
	case token != json.Delim('{'):
		return false, wrong(name, "an object", token)
	}
	seen := 0
	for d.More() {
		if token, err = d.token(); err != nil {
			return false, err
		}
		given := token.(string)
		field := slices.IndexFunc(fields, func(names []string) bool { return slices.Contains(names, given) })
		switch {
		case field < 0:
			return false, invalid("%s: unknown field %.40q", name, given)
		case seen>>field&1 != 0:
			return false, invalid("%s: %s is there twice", name, given)
		}
		seen |= 1 << field
		if err := read(field); err != nil {
			return false, err
		}
	}
	_, err = d.token()
	return true, err
}

// list reads a list, which may be null. It calls read for each item; read must read the item and
// report whether it is not null.
func (d jsonReader) list(name string, read func() (is bool, err error)) error {
	token, err := d.token()
	switch {
	case err != nil || token == nil:
		return err
	case token != json.Delim('['):
		return wrong(name, "a list", token)
	}
	for d.More() {
		is, err := read()
		if err != nil {
			return err
		}
		if !is {
			return wrong(name, "a list of objects", nil)
		}
	}
	_, err = d.token()
	return err
}

func (d jsonReader) text(name string) ([]byte, error) {
	token, err := d.token()
	if err != nil || token == nil {
		return nil, err
	}
	s, ok := token.(string)
	if !ok {
		return nil, wrong(name, "text", token)
	}
	return []byte(s), nil
}

// boolean reads true or false.
func (d jsonReader) boolean(name string) (bool, error) {
	token, err := d.token()
	if err != nil || token == nil {
		return false, err
	}
	b, ok := token.(bool)
	if !ok {
		return false, wrong(name, "true or false", token)
	}
	return b, nil
}

// number reads a whole number from 0 to most, as 5, "5", 5.0 or 5e0. is is false for null.
func (d jsonReader) number(name string, most uint64) (n uint64, is bool, err error) {
	token, err := d.token()
	if err != nil || token == nil {
		return 0, false, err
	}
	if n, is = wholeOf(token); !is || n > most {
		return 0, false, wrong(name, fmt.Sprintf("a whole number from 0 to %d", most), token)
	}
	return n, true, nil
}

// wholeOf returns the whole number that a token represents. ok is false for any other token.
func wholeOf(token json.Token) (n uint64, ok bool) {
	var digits string
	switch t := token.(type) {
	case json.Number:
		digits = t.String()
	case string:
		if digits = t; strings.TrimSpace(t) != t || !json.Valid([]byte(t)) {
			return 0, false
		}
	}
	if n, err := strconv.ParseUint(digits, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(digits, 64)
	return uint64(f), err == nil && f >= 0 && f < 1<<64 && f == math.Trunc(f)
}

// unit reads a RateLimitUnit, by its name or its number.
func (d jsonReader) unit(name string) (int32, error) {
	token, err := d.token()
	if err != nil || token == nil {
		return 0, err
	}
	if given, ok := token.(string); ok {
		if i := slices.IndexFunc(units[:], func(u unit) bool { return u.name == given }); i >= 0 {
			return int32(i), nil
		}
	} else if n, whole := wholeOf(token); whole && n <= math.MaxInt32 {
		return int32(n), nil
	}
	return 0, wrong(name, "SECOND, MINUTE, HOUR, DAY, WEEK, MONTH or YEAR", token)
}

// wrong returns the error for a value of another type. must describes the expected value.
func wrong(name, must string, token json.Token) error {
	got := "null"
	switch t := token.(type) {
	case json.Delim:
		got = map[rune]string{'{': "an object", '[': "a list"}[rune(t)]
	case string:
		got = fmt.Sprintf("%.40q", t)
	case json.Number:
		got = fmt.Sprintf("%.40s", t)
	case bool:
		got = strconv.FormatBool(t)
	}
	return invalid("%s must be %s, got %s", name, must, got)
}

// ReadJSON reads a RateLimitRequest in the JSON form of protobuf. The request is valid
// until the next Read. An error is an *resp.Error for the client.
func (r *Reader) ReadJSON(message []byte) (*checks.Request, error) {
	r.reset()
	if !utf8.Valid(message) {
		return nil, invalid("the body must be UTF-8")
	}
	d := jsonReader{json.NewDecoder(bytes.NewReader(message))}
	d.UseNumber()
	hits := uint64(0)
	is, err := d.object("the request", requestFields, func(field int) (err error) {
		switch field {
		case 0:
			r.request.Domain, err = d.text("domain")
		case 1:
			err = d.list("descriptors", func() (bool, error) { return r.readJSONDescriptor(d) })
		case 2:
			hits, _, err = d.number("hits_addend", math.MaxUint32)
		}
		return err
	})
	if err == nil && !is {
		err = wrong("the request", "an object", nil)
	}
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, invalid("the body has more than one JSON value")
	}
	return r.finish(uint32(hits))
}

// readJSONDescriptor reads a RateLimitDescriptor. is is false for null.
func (r *Reader) readJSONDescriptor(d jsonReader) (is bool, err error) {
	first, limit, hits := len(r.entries), sentLimit{units: -1}, sentHits{n: -1}
	is, err = d.object("a descriptor", descriptorFields, func(field int) (err error) {
		switch field {
		case 0:
			err = d.list("entries", func() (bool, error) { return r.readJSONEntry(d, first) })
		case 1:
			err = limit.readJSON(d)
		case 2:
			n, given := uint64(0), false
			if n, given, err = d.number("hits_addend", math.MaxUint64); given {
				hits.n = boundedHits(n)
			}
		case 3:
			hits.negative, err = d.boolean("is_negative_hits")
		}
		return err
	})
	if err == nil && is {
		err = r.add(first, limit, hits)
	}
	return is, err
}

// readJSONEntry reads an Entry of a descriptor. first is the index of the descriptor's first entry.
func (r *Reader) readJSONEntry(d jsonReader, first int) (is bool, err error) {
	var e rules.Entry
	is, err = d.object("an entry", entryFields, func(field int) (err error) {
		if field == 0 {
			e.Key, err = d.text("key")
		} else {
			e.Value, err = d.text("value")
		}
		return err
	})
	if err == nil && is {
		err = r.addEntry(first, e)
	}
	return is, err
}

// readJSON reads a RateLimitOverride.
func (l *sentLimit) readJSON(d jsonReader) (err error) {
	l.present, err = d.object("limit", limitFields, func(field int) (err error) {
		n, given := uint64(0), false
		switch field {
		case 0:
			n, _, err = d.number("requests_per_unit", math.MaxUint32)
			l.Count = uint32(n)
		case 1:
			l.unit, err = d.unit("unit")
		case 2:
			if n, given, err = d.number("unit_multiplier", math.MaxUint32); given {
				l.units = int64(n)
			}
		}
		return err
	})
	return err
}
