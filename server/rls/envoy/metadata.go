package envoy

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
)

// metadata returns the dynamic_metadata of a response: the request and, under the key metadata, the
// merged metadata of the rules with limits that passed. If two rules set the same value, the
// earlier rule wins. It is a copy. Strings are valid UTF-8, because protobuf and JSON require that.
func metadata(q *checks.Request, a *checks.Answer) map[string]any {
	descriptors := make([]any, len(q.Descriptors))
	for i := range q.Descriptors {
		d := &q.Descriptors[i]
		entries := make([]any, len(d.Entries))
		for j, e := range d.Entries {
			entries[j] = text(string(e.Key) + "=" + string(e.Value))
		}
		one := map[string]any{"entries": entries}
		if d.Limit != nil {
			one["limit"] = limitText(d.Limit)
		}
		if i < len(q.Own) && q.Own[i] >= 0 {
			one["hitsAddend"] = q.Own[i]
		}
		descriptors[i] = one
	}
	all := map[string]any{"domain": text(string(q.Domain)), "descriptors": descriptors}
	if q.HitsGiven {
		all["hitsAddend"] = q.Hits
	}
	passed := map[string]any{}
	for i := range a.Rows {
		if r := a.Met[i].Rule; r != nil && (a.Rows[i].Allowed || a.Met[i].IsShadow()) {
			rules.MergeMetadata(passed, r.Metadata)
		}
	}
	if len(passed) > 0 {
		all["metadata"] = passed
	}
	return all
}

// limitText returns a limit in protobuf's text form.
func limitText(l *rules.RequestLimit) string {
	unit, multiplier := unitsOf(l.Period)
	all := fmt.Sprintf("requests_per_unit:%d unit:%s", l.Count, units[unit].name)
	if multiplier > 1 {
		all += fmt.Sprintf(" unit_multiplier:{value:%d}", multiplier)
	}
	return all
}

func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// appendStruct appends a google.protobuf.Struct.
func appendStruct(b []byte, fields map[string]any) []byte {
	for name, v := range fields {
		start := len(b)
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendString(b, text(name))
		content := len(b)
		b = protowire.AppendTag(b, 2, protowire.BytesType)
		b = closeMessage(appendValue(b, v), content+1)
		b = closeMessage(b, start+1)
	}
	return b
}

// appendValue appends a google.protobuf.Value: the types of YAML, and the numbers of metadata.
func appendValue(b []byte, v any) []byte {
	start := len(b)
	switch v := v.(type) {
	case nil:
		return protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), 0)
	case bool:
		return protowire.AppendVarint(protowire.AppendTag(b, 4, protowire.VarintType), protowire.EncodeBool(v))
	case string:
		return protowire.AppendString(protowire.AppendTag(b, 3, protowire.BytesType), text(v))
	case map[string]any:
		b = protowire.AppendTag(b, 5, protowire.BytesType)
		return closeMessage(appendStruct(b, v), start+1)
	case []any:
		b = protowire.AppendTag(b, 6, protowire.BytesType)
		for _, one := range v {
			item := len(b)
			b = protowire.AppendTag(b, 1, protowire.BytesType)
			b = closeMessage(appendValue(b, one), item+1)
		}
		return closeMessage(b, start+1)
	}
	if n, ok := number(v); ok {
		return protowire.AppendFixed64(protowire.AppendTag(b, 2, protowire.Fixed64Type), math.Float64bits(n))
	}
	return appendValue(b, fmt.Sprint(v))
}

// number returns a number of YAML as protobuf has it.
func number(v any) (n float64, ok bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// jsonValue returns a value as encoding/json shall write it, like appendValue.
func jsonValue(v any) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		return text(v)
	case map[string]any:
		all := make(map[string]any, len(v))
		for name, one := range v {
			all[text(name)] = jsonValue(one)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, one := range v {
			all[i] = jsonValue(one)
		}
		return all
	}
	n, ok := number(v)
	switch {
	case !ok:
		return text(fmt.Sprint(v))
	case math.IsNaN(n) || math.IsInf(n, 0): // JSON has no such numbers
		return fmt.Sprint(n)
	}
	return n
}
