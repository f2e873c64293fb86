package envoy

import (
	"testing"
	"time"

	service "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/engine"
)

// limit returns a limit of n an hour.
func limit(n int64, change func(*rules.Limit)) *rules.Limit {
	l := &rules.Limit{
		Params: engine.Params{Alg: engine.Fixed, Limit: max(1, n), Period: int64(time.Hour)}, Quota: n,
		Window: int64(time.Hour),
		None:   n == 0, Name: "a/fixed-1h", Rule: &rules.Rule{Name: "a"},
	}
	if change != nil {
		change(l)
	}
	return l
}

// passed and denied are rows of limits.
func passed(limit, remaining int64) checks.Row {
	return checks.Row{Allowed: true, Limit: limit, Remaining: remaining, ResetMillis: 1_799_001, Name: "a/fixed-1h"}
}

func denied(limit, remaining, wait int64) checks.Row {
	return checks.Row{Limit: limit, Remaining: remaining, WaitMillis: wait, ResetMillis: 1_799_001, Name: "a/fixed-1h"}
}

// answer returns the answer to a request with a descriptor for each limit.
func answer(overall bool, rows []checks.Row, limits ...*rules.Limit) *checks.Answer {
	a := &checks.Answer{Binding: 0, Rows: rows}
	a.Row = rows[0]
	a.Allowed = overall
	for i, l := range limits {
		a.Met = append(a.Met, checks.Met{Limit: l, Named: l, Rule: l.Rule, Mode: l.Mode, Descriptor: uint8(i), Guard: -1})
		a.Descriptors = append(a.Descriptors, rules.Limited)
	}
	return a
}

// met is a limit of a descriptor; guard is the index of its guard, or -1.
func met(descriptor uint8, guard int8) checks.Met {
	l := limit(5, nil)
	return checks.Met{Limit: l, Named: l, Rule: l.Rule, Descriptor: descriptor, Guard: guard}
}

// now is the server's time: a moment after an hour began.
func now() engine.Instant { return engine.Instant(int64(time.Hour) + 1) }

// responses are answers, and the responses in protobuf's text form.
var responses = []struct {
	name    string
	answer  *checks.Answer
	options Options
	want    string
}{
	{"a limit that passed", answer(true, []checks.Row{passed(3, 2)}, limit(3, nil)), Options{},
		`overall_code: OK  statuses: {code: OK current_limit: {requests_per_unit: 3 unit: HOUR} limit_remaining: 2 duration_until_reset: {seconds: 1800}}`},
	{"one that denies tells what is left", answer(false, []checks.Row{denied(3, 1, 5000)}, limit(3, nil)), Options{},
		`overall_code: OVER_LIMIT  statuses: {code: OVER_LIMIT current_limit: {requests_per_unit: 3 unit: HOUR} limit_remaining: 1 duration_until_reset: {seconds: 1800}}`},
	{"one of two", answer(false, []checks.Row{denied(2, 0, 5000), passed(3, 3)}, limit(2, nil), limit(3, nil)), Options{},
		`overall_code: OVER_LIMIT  statuses: {code: OVER_LIMIT current_limit: {requests_per_unit: 2 unit: HOUR} duration_until_reset: {seconds: 1800}}
		 statuses: {code: OK current_limit: {requests_per_unit: 3 unit: HOUR} limit_remaining: 3 duration_until_reset: {seconds: 1800}}`},
	{"a limit of 0, to the end of its window", answer(false, []checks.Row{{WaitMillis: -1}}, limit(0, nil)), Options{},
		`overall_code: OVER_LIMIT  statuses: {code: OVER_LIMIT current_limit: {unit: HOUR} duration_until_reset: {seconds: 3600}}`},
	{"a shadow limit never denies",
		answer(true, []checks.Row{denied(1, 1, 5000)}, limit(1, func(l *rules.Limit) { l.Mode = rules.Shadow })), Options{},
		`overall_code: OK  statuses: {code: OK current_limit: {requests_per_unit: 1 unit: HOUR} duration_until_reset: {seconds: 1800}}`},
	{"a quota limit tells while another passes", answer(true, []checks.Row{denied(1, 0, 5000), passed(2, 0)},
		limit(1, func(l *rules.Limit) { l.Mode = rules.Quota }), limit(2, func(l *rules.Limit) { l.Mode = rules.Quota })),
		Options{},
		`overall_code: OK  statuses: {code: OVER_LIMIT current_limit: {requests_per_unit: 1 unit: HOUR} duration_until_reset: {seconds: 1800}}
		 statuses: {code: OK current_limit: {requests_per_unit: 2 unit: HOUR} duration_until_reset: {seconds: 1800}}`},
	{"a name, and a window without a unit", answer(true, []checks.Row{passed(100, 99), passed(1<<40, 1<<40)},
		limit(100, func(l *rules.Limit) { l.Given = "per_user" }),
		limit(1<<40, func(l *rules.Limit) { l.Window = int64(15 * time.Minute) })), Options{},
		`overall_code: OK  statuses: {code: OK current_limit: {requests_per_unit: 100 unit: HOUR name: "per_user"} limit_remaining: 99 duration_until_reset: {seconds: 1800}}
		 statuses: {code: OK current_limit: {requests_per_unit: 4294967295 name: "1099511627776/15m"} limit_remaining: 4294967295 duration_until_reset: {seconds: 1800}}`},
	{"limits that were sent, of several units", answer(true, []checks.Row{passed(3, 2), passed(3, 2)},
		limit(3, func(l *rules.Limit) { l.Window, l.Rule.Sent = int64(30*time.Second), true }),
		limit(3, func(l *rules.Limit) { l.Window, l.Rule.Sent = int64(90*time.Minute), true })), Options{},
		`overall_code: OK  statuses: {code: OK current_limit: {requests_per_unit: 3 unit: SECOND unit_multiplier: {value: 30}} limit_remaining: 2 duration_until_reset: {seconds: 1800}}
		 statuses: {code: OK current_limit: {requests_per_unit: 3 unit: MINUTE unit_multiplier: {value: 90}} limit_remaining: 2 duration_until_reset: {seconds: 1800}}`},
	{"a limit that all rules' shadow overrules, beside a shadow limit", &checks.Answer{Row: checks.Row{Allowed: true,
		Limit: -1, Remaining: -1}, Binding: -1, Rows: []checks.Row{denied(3, 0, 5), denied(4, 1, 5)},
		Met: []checks.Met{{Limit: limit(3, nil), Rule: &rules.Rule{}, Mode: rules.Shadow, Overruled: true, Guard: -1},
			{Limit: limit(4, nil), Rule: &rules.Rule{}, Mode: rules.Shadow, Descriptor: 1, Guard: -1}},
		Descriptors: make([]rules.Verdict, 2)}, Options{},
		`overall_code: OK  statuses: {code: OVER_LIMIT current_limit: {requests_per_unit: 3 unit: HOUR} duration_until_reset: {seconds: 1800}}
		 statuses: {code: OK current_limit: {requests_per_unit: 4 unit: HOUR} duration_until_reset: {seconds: 1800}}`},
	{"leases", answer(true, []checks.Row{passed(5, 4)}, limit(5, func(l *rules.Limit) { l.Params.Alg = engine.Lease })),
		Options{},
		`overall_code: OK  statuses: {code: OK current_limit: {requests_per_unit: 5 name: "5 at once"} limit_remaining: 4 duration_until_reset: {seconds: 1800}}`},
	{"verdicts without limits", &checks.Answer{Row: checks.Row{WaitMillis: -1}, Reason: checks.Denied, Binding: -1,
		Descriptors: []rules.Verdict{rules.Unlimited, rules.Allowed, rules.None, rules.Denied, rules.Limited}}, Options{},
		`overall_code: OVER_LIMIT  statuses: {code: OK limit_remaining: 4294967295} statuses: {code: OK} statuses: {code: OK} statuses: {code: OVER_LIMIT} statuses: {code: OK}`},
	{"no rule where one must match", &checks.Answer{Row: checks.Row{WaitMillis: -1}, Reason: checks.Unmatched, Binding: -1,
		Descriptors: []rules.Verdict{rules.None}}, Options{},
		`overall_code: OVER_LIMIT  statuses: {code: OVER_LIMIT}`},
	{"closed boxes, each until it opens", &checks.Answer{Reason: checks.Blocked, Binding: -1,
		Boxes: []checks.Box{{Row: checks.Row{WaitMillis: 59_001, Name: "a"}, Guard: 0},
			{Row: checks.Row{WaitMillis: 90_000, Name: "a"}, Guard: 2}},
		Met:         []checks.Met{met(1, 0), met(0, -1), met(2, 1), met(3, 2), met(4, 0), met(4, 2)},
		Shared:      []rules.Shared{{Limit: 0, Descriptor: 5}, {Limit: 2, Descriptor: 6}},
		Descriptors: make([]rules.Verdict, 7)}, Options{},
		`overall_code: OVER_LIMIT  statuses: {code: OK} statuses: {code: OVER_LIMIT duration_until_reset: {seconds: 60}} statuses: {code: OK}
		 statuses: {code: OVER_LIMIT duration_until_reset: {seconds: 90}} statuses: {code: OVER_LIMIT duration_until_reset: {seconds: 90}}
		 statuses: {code: OVER_LIMIT duration_until_reset: {seconds: 60}} statuses: {code: OK}`},
	{"a blocked key of a limit", &checks.Answer{Reason: checks.Blocked, Binding: -1,
		Boxes:       []checks.Box{{Row: checks.Row{WaitMillis: 59_001, Name: "a/b"}, Limit: 2}},
		Met:         []checks.Met{met(0, 0), met(1, -1), met(2, -1)},
		Shared:      []rules.Shared{{Limit: 1, Descriptor: 3}},
		Descriptors: make([]rules.Verdict, 4)}, Options{},
		`overall_code: OVER_LIMIT  statuses: {code: OK} statuses: {code: OVER_LIMIT duration_until_reset: {seconds: 60}}
		 statuses: {code: OK} statuses: {code: OVER_LIMIT duration_until_reset: {seconds: 60}}`},
	{"descriptors that share a limit",
		&checks.Answer{Row: denied(3, 0, 5000), Reason: checks.Limited, Rows: []checks.Row{denied(3, 0, 5000), passed(4, 4)},
			Met: []checks.Met{met(0, -1), met(2, -1)}, Shared: []rules.Shared{{Limit: 0, Descriptor: 1},
				{Limit: 0, Descriptor: 2}}, Descriptors: make([]rules.Verdict, 3)}, Options{},
		`overall_code: OVER_LIMIT  statuses: {code: OVER_LIMIT current_limit: {requests_per_unit: 3 unit: HOUR} duration_until_reset: {seconds: 1800}}
		 statuses: {code: OVER_LIMIT current_limit: {requests_per_unit: 3 unit: HOUR} duration_until_reset: {seconds: 1800}}
		 statuses: {code: OVER_LIMIT current_limit: {requests_per_unit: 3 unit: HOUR} duration_until_reset: {seconds: 1800}}`},
	{"headers", answer(false, []checks.Row{denied(3, 1, 5000)}, limit(3, nil)), Options{Headers: checks.PlainHeaders},
		`overall_code: OVER_LIMIT  statuses: {code: OVER_LIMIT current_limit: {requests_per_unit: 3 unit: HOUR} limit_remaining: 1 duration_until_reset: {seconds: 1800}}
		 response_headers_to_add: {key: "RateLimit-Limit" value: "3"} response_headers_to_add: {key: "RateLimit-Remaining" value: "1"}
		 response_headers_to_add: {key: "RateLimit-Reset" value: "1800"} response_headers_to_add: {key: "Retry-After" value: "5"}`},
	{"metadata of the limits that passed", answer(false, []checks.Row{passed(3, 1), denied(3, 0, 1), passed(3, 3)},
		limit(3, func(l *rules.Limit) {
			l.Rule.Metadata = map[string]any{"m": map[string]any{"a": 1, "n": nil, "l": []any{true, 1.5, "x\xff"}}}
		}),
		limit(3, func(l *rules.Limit) { l.Rule.Metadata = map[string]any{"hidden": 1} }),
		limit(3, func(l *rules.Limit) { l.Rule.Metadata = map[string]any{"m": map[string]any{"a": 2, "b": "c", "n": 1}} })),
		Options{Metadata: true},
		`overall_code: OVER_LIMIT
		 statuses: {code: OK current_limit: {requests_per_unit: 3 unit: HOUR} limit_remaining: 1 duration_until_reset: {seconds: 1800}}
		 statuses: {code: OVER_LIMIT current_limit: {requests_per_unit: 3 unit: HOUR} duration_until_reset: {seconds: 1800}}
		 statuses: {code: OK current_limit: {requests_per_unit: 3 unit: HOUR} limit_remaining: 3 duration_until_reset: {seconds: 1800}}
		 dynamic_metadata: {
		   fields: {key: "domain" value: {string_value: "api"}}
		   fields: {key: "hitsAddend" value: {number_value: 2}}
		   fields: {key: "descriptors" value: {list_value: {values: {struct_value: {
		     fields: {key: "entries" value: {list_value: {values: {string_value: "k=v\uFFFD"}}}}
		     fields: {key: "limit" value: {string_value: "requests_per_unit:5 unit:HOUR"}}
		     fields: {key: "hitsAddend" value: {number_value: 0}}}}}}}
		   fields: {key: "metadata" value: {struct_value: {fields: {key: "m" value: {struct_value: {
		     fields: {key: "a" value: {number_value: 1}} fields: {key: "b" value: {string_value: "c"}} fields: {key: "n" value: {null_value: NULL_VALUE}}
		     fields: {key: "l" value: {list_value: {values: {bool_value: true} values: {number_value: 1.5} values: {string_value: "x\uFFFD"}}}}}}}}}}}`},
}

// asked is the request of all answers.
var asked = &checks.Request{
	Request: rules.Request{Domain: []byte("api"), Descriptors: []rules.Descriptor{{
		Entries: []rules.Entry{{Key: []byte("k"), Value: []byte("v\xff")}},
		Limit:   &rules.RequestLimit{Count: 5, Period: int64(time.Hour)},
	}}},
	Hits: 2, HitsGiven: true, Own: []int64{0},
}

func TestAppend(t *testing.T) {
	for _, tt := range responses {
		want := new(service.RateLimitResponse)
		if err := prototext.Unmarshal([]byte(tt.want), want); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		w := Writer{Options: tt.options}
		w.Now = now
		for range 2 { // the second uses the Writer again
			got := new(service.RateLimitResponse)
			if err := proto.Unmarshal(w.Append(nil, asked, tt.answer), got); err != nil || !proto.Equal(got, want) {
				t.Errorf("%s: %v\n got %v\nwant %v", tt.name, err, got, want)
			}
			got.Reset()
			text := w.AppendJSON(nil, asked, tt.answer)
			if err := protojson.Unmarshal(text, got); err != nil || !proto.Equal(got, want) {
				t.Errorf("%s: %v\n got %s\nwant %v", tt.name, err, text, want)
			}
		}
	}
}

// TestMetadataIsACopy answers two requests with rules of different metadata: the rules' own
// stays as it is.
func TestMetadataIsACopy(t *testing.T) {
	first := limit(3, func(l *rules.Limit) { l.Rule.Metadata = map[string]any{"m": map[string]any{"a": "b"}} })
	second := limit(3, func(l *rules.Limit) { l.Rule.Metadata = map[string]any{"m": map[string]any{"c": "d"}} })
	w := Writer{Options: Options{Metadata: true}}
	alone := answer(true, []checks.Row{passed(3, 1)}, first)
	before := string(w.AppendJSON(nil, asked, alone))
	w.AppendJSON(nil, asked, answer(true, []checks.Row{passed(3, 1), passed(3, 1)}, first, second))
	if after := string(w.AppendJSON(nil, asked, alone)); after != before {
		t.Errorf("a request leaks its metadata into the next\n got %s\nwant %s", after, before)
	}
}

// TestBindingOfDescriptor gives one descriptor several limits.
func TestBindingOfDescriptor(t *testing.T) {
	shadow := func(l *rules.Limit) { l.Mode = rules.Shadow }
	for _, tt := range []struct {
		name   string
		rows   []checks.Row
		shadow []bool
		want   int64 // limit of the row
	}{
		{"the least remaining", []checks.Row{passed(10, 5), passed(11, 4), passed(12, 4)}, []bool{false, false, false}, 11},
		{"the longest wait", []checks.Row{denied(10, 0, 5), passed(11, 0), denied(12, 0, 6)}, []bool{false, false, false},
			12},
		{"one that never passes", []checks.Row{denied(10, 0, 5), denied(11, 0, -1), denied(12, 0, 6)},
			[]bool{false, false, false}, 11},
		{"none of shadow beside another", []checks.Row{denied(10, 0, 5), passed(11, 9)}, []bool{true, false}, 11},
	} {
		a := &checks.Answer{Rows: tt.rows, Descriptors: []rules.Verdict{rules.Limited}}
		for i, row := range tt.rows {
			change := func(*rules.Limit) {}
			if tt.shadow[i] {
				change = shadow
			}
			l := limit(row.Limit, change)
			a.Met = append(a.Met, checks.Met{Limit: l, Named: l, Rule: l.Rule, Mode: l.Mode, Guard: -1})
		}
		if got := statuses(nil, a, now)[0]; int64(got.count) != tt.want {
			t.Errorf("%s: the status shows the limit %d, want %d", tt.name, got.count, tt.want)
		}
	}
}

func TestCodecDoesNotAllocate(t *testing.T) {
	in, err := proto.Marshal(&service.RateLimitRequest{Domain: "api", Descriptors: nil})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		in = append(in, "\x12\x0e\x0a\x06\x0a\x01k\x12\x01v\x12\x04\x08\x05\x10\x03"...)
	}
	var r Reader
	w := Writer{Options: Options{Headers: checks.XHeaders | checks.DraftHeaders}}
	a := answer(false, []checks.Row{denied(3, 1, 5000), passed(4, 4), passed(5, 5)}, limit(3, nil), limit(4, nil),
		limit(5, func(l *rules.Limit) { l.Window = int64(time.Minute) * 15 }))
	var out []byte
	if n := testing.AllocsPerRun(100, func() {
		q, err := r.Read(in)
		if err != nil || len(q.Descriptors) != 3 {
			t.Fatal(q, err)
		}
		out = w.Append(out[:0], q, a)
	}); n != 0 {
		t.Errorf("a request and its response take %v allocations, want 0", n)
	}
}

func BenchmarkCodec(b *testing.B) {
	in := []byte("\x0a\x03api\x12\x08\x0a\x06\x0a\x01k\x12\x01v\x12\x08\x0a\x06\x0a\x01l\x12\x01w")
	var r Reader
	var w Writer
	a := answer(true, []checks.Row{passed(3, 1), passed(4, 4)}, limit(3, nil), limit(4, nil))
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		q, err := r.Read(in)
		if err != nil {
			b.Fatal(err)
		}
		out = w.Append(out[:0], q, a)
	}
}
