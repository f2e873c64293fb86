package envoy

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	service "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/engine"
)

// show returns a request as text.
func show(q *checks.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q hits %d", q.Domain, q.Hits)
	for i, d := range q.Descriptors {
		b.WriteString(" [")
		for _, e := range d.Entries {
			fmt.Fprintf(&b, " %q=%q", e.Key, e.Value)
		}
		if d.Limit != nil {
			fmt.Fprintf(&b, " limit %d/%d", d.Limit.Count, d.Limit.Period)
		}
		if i < len(q.Own) && q.Own[i] >= 0 {
			fmt.Fprintf(&b, " own %d", q.Own[i])
		}
		if i < len(q.Negative) && q.Negative[i] {
			b.WriteString(" back")
		}
		b.WriteString(" ]")
	}
	return b.String()
}

// theirs returns the request as text that generated code read, or the reason why it must
// be refused.
func theirs(in *service.RateLimitRequest) (text string, refused bool) {
	q := checks.Request{Hits: max(1, int64(in.GetHitsAddend()))}
	q.Domain = []byte(in.GetDomain())
	for _, d := range in.GetDescriptors() {
		one := rules.Descriptor{}
		for _, e := range d.GetEntries() {
			one.Entries = append(one.Entries, rules.Entry{Key: []byte(e.GetKey()), Value: []byte(e.GetValue())})
		}
		if l := d.GetLimit(); l != nil {
			if l.GetUnit() < 1 || l.GetUnit() > 7 {
				return "", true
			}
			seconds := []int64{0, 1, 60, 3600, 86400, 30 * 86400, 365 * 86400, 7 * 86400}[l.GetUnit()]
			if m := l.GetUnitMultiplier(); m != nil {
				if seconds *= int64(m.GetValue()); seconds < 1 || seconds > 10*365*86400 {
					return "", true
				}
			}
			one.Limit = &rules.RequestLimit{Count: l.GetRequestsPerUnit(), Period: seconds * 1e9}
		}
		own := int64(-1)
		if h := d.GetHitsAddend(); h != nil {
			own = int64(min(h.GetValue(), engine.MaxN))
		}
		if len(one.Entries) > rules.MaxEntries {
			return "", true
		}
		q.Descriptors, q.Own = append(q.Descriptors, one), append(q.Own, own)
		q.Negative = append(q.Negative, d.GetIsNegativeHits())
	}
	return show(&q), len(q.Descriptors) > rules.MaxDescriptors
}

// compare reads a message by both codecs.
func compare(t interface {
	Helper()
	Errorf(string, ...any)
}, r *Reader, message []byte) {
	t.Helper()
	in := new(service.RateLimitRequest)
	theirErr := proto.Unmarshal(message, in)
	q, err := r.Read(message)
	if theirErr != nil {
		if err == nil && !strings.Contains(theirErr.Error(), "UTF-8") {
			t.Errorf("Read(%x) = %s, generated code says %v", message, show(q), theirErr)
		}
		return
	}
	want, refused := theirs(in)
	switch {
	case refused:
		if err == nil {
			t.Errorf("Read(%x) = %s, want an error", message, show(q))
		}
	case err != nil:
		t.Errorf("Read(%x) fails with %v, want %s", message, err, want)
	case show(q) != want:
		t.Errorf("Read(%x)\n got %s\nwant %s", message, show(q), want)
	}
}

// drawRequest draws a request, mostly a within the bounds.
func drawRequest(t *rapid.T) *service.RateLimitRequest {
	in := &service.RateLimitRequest{
		Domain: rapid.StringN(0, 4, -1).Draw(t, "domain"), HitsAddend: rapid.Uint32().Draw(t, "hits"),
	}
	for range rapid.SampledFrom([]int{0, 1, 2, 3, rules.MaxDescriptors, rules.MaxDescriptors + 1}).Draw(t, "descriptors") {
		d := new(common.RateLimitDescriptor)
		for range rapid.SampledFrom([]int{0, 1, 2, rules.MaxEntries, rules.MaxEntries + 1}).Draw(t, "entries") {
			d.Entries = append(d.Entries, &common.RateLimitDescriptor_Entry{Key: rapid.StringN(0, 3, -1).Draw(t, "key"),
				Value: rapid.StringN(0, 3, -1).Draw(t, "value")})
		}
		if rapid.Bool().Draw(t, "has limit") {
			d.Limit = &common.RateLimitDescriptor_RateLimitOverride{
				RequestsPerUnit: rapid.Uint32().Draw(t, "count"),
				Unit:            typev3.RateLimitUnit(rapid.Int32Range(-1, 9).Draw(t, "unit")),
			}
			if rapid.Bool().Draw(t, "has multiplier") {
				most := rapid.SampledFrom([]uint32{10, 1000, math.MaxUint32}).Draw(t, "most")
				d.Limit.UnitMultiplier = wrapperspb.UInt32(rapid.Uint32Max(most).Draw(t, "multiplier"))
			}
		}
		if rapid.Bool().Draw(t, "has hits") {
			d.HitsAddend = wrapperspb.UInt64(rapid.Uint64().Draw(t, "own"))
		}
		d.IsNegativeHits = rapid.Bool().Draw(t, "negative")
		in.Descriptors = append(in.Descriptors, d)
	}
	return in
}

// golden are requests as bytes that have harmed other servers, or that are at a bound.
var golden = []struct {
	name, bytes string
	want        string // "": an error
}{
	{"it has one entry", "0a0161" + "12080a060a016b120176", `"a" hits 1 [ "k"="v" ]`},
	{"a limit without a unit is refused", "0a0161" + "120c0a060a016b120176" + "12020805", ""},
	{"a limit of an unknown unit is refused", "0a0161" + "120e0a060a016b120176" + "120408051009", ""},
	{"a limit of a week", "0a0161" + "120e0a060a016b120176" + "120408051007",
		`"a" hits 1 [ "k"="v" limit 5/604800000000000 ]`},
	{"hits of 2^64-1 never pass", "0a0161" + "12150a060a016b120176" + "1a0b08ffffffffffffffffff01",
		`"a" hits 1 [ "k"="v" own 2000000000001 ]`},
	{"hits of 0 look", "0a0161" + "120c0a060a016b120176" + "1a020800", `"a" hits 1 [ "k"="v" own 0 ]`},
	{"an empty wrapper of hits is 0", "0a0161" + "120a0a060a016b120176" + "1a00", `"a" hits 1 [ "k"="v" own 0 ]`},
	{"hits of the request are 32 bits", "0a0161" + "12080a060a016b120176" + "18ffffffffffffffffff01",
		`"a" hits 4294967295 [ "k"="v" ]`},
	{"hits are given back", "0a0161" + "120e0a060a016b120176" + "1a0208052001", `"a" hits 1 [ "k"="v" own 5 back ]`},
	{"hits of the request are given back", "0a0161" + "120a0a060a016b120176" + "2002" + "1803",
		`"a" hits 3 [ "k"="v" back ]`},
	{"a limit of 30 seconds", "0a0161" + "12120a060a016b120176" + "1208080510011a02081e",
		`"a" hits 1 [ "k"="v" limit 5/30000000000 ]`},
	{"parts of a multiplier are merged", "0a0161" + "12140a060a016b120176" + "120a080510011a02081e1a00",
		`"a" hits 1 [ "k"="v" limit 5/30000000000 ]`},
	{"a multiplier of 0 is refused", "0a0161" + "12120a060a016b120176" + "1208080510011a020800", ""},
	{"a multiplier without a value is 0", "0a0161" + "12100a060a016b120176" + "1206080510011a00", ""},
	{"ten years are the most", "0a0161" + "12120a060a016b120176" + "1208080510061a02080a",
		`"a" hits 1 [ "k"="v" limit 5/315360000000000000 ]`},
	{"eleven years are refused", "0a0161" + "12120a060a016b120176" + "1208080510061a02080b", ""},
	{"a multiplier of 2^32-1 is refused", "0a0161" + "12160a060a016b120176" + "120c080510061a0608ffffffff0f", ""},
	{"unknown fields are skipped", "0a0161" + "7a0178" + "12080a060a016b120176", `"a" hits 1 [ "k"="v" ]`},
	{"it ends in a field", "0a05", ""},
	{"a field with a number that is too great", "a0a0a0a03030", ""},
	{"nothing", "", `"" hits 1`},
}

func TestRead(t *testing.T) {
	var r Reader
	for _, tt := range golden {
		message, err := hex.DecodeString(tt.bytes)
		if err != nil {
			t.Fatal(err)
		}
		q, err := r.Read(message)
		got := ""
		if err == nil {
			got = show(q)
		}
		if got != tt.want {
			t.Errorf("%s: Read = %s, %v; want %s", tt.name, got, err, tt.want)
		}
		compare(t, &r, message)
	}
}

func TestReadLikeGeneratedCode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawRequest(t)
		message, err := proto.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var r Reader
		compare(t, &r, message)
		want, refused := theirs(in)
		text, err := protojson.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		q, err := r.ReadJSON(text)
		if refused != (err != nil) || err == nil && show(q) != want {
			t.Errorf("ReadJSON(%s) = %v, %v, want %s, refused: %v", text, q, err, want, refused)
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, tt := range golden {
		message, err := hex.DecodeString(tt.bytes)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(message)
	}
	f.Add(binary.AppendUvarint([]byte{0x08}, 1<<63))
	var r Reader
	f.Fuzz(func(t *testing.T, message []byte) { compare(t, &r, message) })
}

func TestReadJSON(t *testing.T) {
	var r Reader
	for _, tt := range []struct{ name, text, want string }{
		{"both names and numbers in strings",
			`{"domain":"a","hits_addend":"2","descriptors":[{"entries":[{"key":"k"}],"hitsAddend":"3","limit":{"requests_per_unit":5.0,"unit":"HOUR"}}]}`,
			`"a" hits 2 [ "k"="" limit 5/3600000000000 own 3 ]`},
		{"hits given back",
			`{"descriptors":[{"isNegativeHits":true,"hitsAddend":2},{"is_negative_hits":true},{"isNegativeHits":null}]}`,
			`"" hits 1 [ own 2 back ] [ back ] [ ]`},
		{"several units",
			`{"descriptors":[{"limit":{"unit":1,"unitMultiplier":"30"}},{"limit":{"unit":"HOUR","unit_multiplier":2.0}},{"limit":{"unit":"DAY","unitMultiplier":null}}]}`,
			`"" hits 1 [ limit 0/30000000000 ] [ limit 0/7200000000000 ] [ limit 0/86400000000000 ]`},
		{"a multiplier of 0", `{"descriptors":[{"limit":{"unit":"HOUR","unitMultiplier":0}}]}`, ""},
		{"a multiplier of 2^32", `{"descriptors":[{"limit":{"unit":"SECOND","unitMultiplier":4294967296}}]}`, ""},
		{"too long a window", `{"descriptors":[{"limit":{"unit":"YEAR","unitMultiplier":11}}]}`, ""},
		{"true as text", `{"descriptors":[{"isNegativeHits":"true"}]}`, ""},
		{"true as a number", `{"descriptors":[{"isNegativeHits":1}]}`, ""},
		{"a field twice", `{"domain":"a","domain":"b"}`, ""},
		{"a field by both names", `{"hitsAddend":1,"hits_addend":1}`, ""},
		{"a field of a descriptor twice", `{"descriptors":[{"isNegativeHits":true,"is_negative_hits":false}]}`, ""},
		{"a field of a limit by both names", `{"descriptors":[{"limit":{"unit":1,"unitMultiplier":2,"unit_multiplier":2}}]}`,
			""},
		{"a field of an entry twice", `{"descriptors":[{"entries":[{"key":"a","key":"b"}]}]}`, ""},
		{"a field in another case", `{"Domain":"a"}`, ""},
		{"a unit in another case", `{"descriptors":[{"limit":{"unit":"hour"}}]}`, ""},
		{"a unit by number as text", `{"descriptors":[{"limit":{"unit":"2"}}]}`, ""},
		{"a descriptor that is null", `{"descriptors":[null]}`, ""},
		{"an entry that is null", `{"descriptors":[{"entries":[null]}]}`, ""},
		{"a number with space", `{"hitsAddend":" 1"}`, ""},
		{"a number with leading zeros", `{"hitsAddend":"01"}`, ""},
		{"hits of 2^64-1", `{"descriptors":[{"hitsAddend":"18446744073709551615"}]}`, `"" hits 1 [ own 2000000000001 ]`},
		{"hits of 2^64", `{"descriptors":[{"hitsAddend":"18446744073709551616"}]}`, ""},
		{"null", `null`, ""},
		{"no end", `{"domain":"a"`, ""},
		{"no UTF-8", "{\"domain\":\"\xff\"}", ""},
		{"null is the default", `{"domain":null,"descriptors":null,"hitsAddend":null}`, `"" hits 1`},
		{"a unit by number", `{"domain":"a","descriptors":[{"limit":{"requestsPerUnit":1e1,"unit":2}}]}`,
			`"a" hits 1 [ limit 10/60000000000 ]`},
		{"an unknown field", `{"domain":"a","tenant":"b"}`, ""},
		{"an unknown unit", `{"descriptors":[{"limit":{"unit":"FORTNIGHT"}}]}`, ""},
		{"a limit without a unit", `{"descriptors":[{"limit":{"requestsPerUnit":5}}]}`, ""},
		{"a negative number", `{"hitsAddend":-1}`, ""},
		{"a part of one", `{"hitsAddend":1.5}`, ""},
		{"too great a number", `{"hitsAddend":4294967296}`, ""},
		{"two values", `{}{}`, ""},
		{"no JSON", `domain`, ""},
	} {
		q, err := r.ReadJSON([]byte(tt.text))
		got := ""
		if err == nil {
			got = show(q)
		}
		if got != tt.want {
			t.Errorf("%s: ReadJSON(%s) = %s, %v; want %s", tt.name, tt.text, got, err, tt.want)
		}
	}
}

func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(`{"domain":"a","hits_addend":"2","descriptors":[{"entries":[{"key":"k","value":"v"}],"hitsAddend":"3","limit":{"requests_per_unit":5.0,"unit":"HOUR"}}]}`))
	var r Reader
	f.Fuzz(func(t *testing.T, message []byte) {
		in := new(service.RateLimitRequest)
		if protojson.Unmarshal(message, in) != nil {
			_, _ = r.ReadJSON(message) // must not panic
			return
		}
		want, refused := theirs(in)
		if q, err := r.ReadJSON(message); refused != (err != nil) || err == nil && show(q) != want {
			t.Errorf("ReadJSON(%q) = %v, want %s, refused: %v", message, err, want, refused)
		}
	})
}
