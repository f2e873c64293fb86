package rls

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	service "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"limitsrv/commands/resp"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/server/rls/envoy"
)

// kuadrant has the messages of kuadrant.service.ratelimit.v1, for protobuf's own code.
var kuadrant = func() protoreflect.MessageDescriptors {
	const descriptors = ".envoy.extensions.common.ratelimit.v3.RateLimitDescriptor"
	field := func(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type,
		of string) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{Name: &name, Number: &number, Type: &kind,
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
		if of != "" {
			f.TypeName = &of
		}
		if of == descriptors {
			f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		return f
	}
	message := func(name string, fields ...*descriptorpb.FieldDescriptorProto) *descriptorpb.DescriptorProto {
		return &descriptorpb.DescriptorProto{Name: &name, Field: fields}
	}
	const (
		text  = descriptorpb.FieldDescriptorProto_TYPE_STRING
		whole = descriptorpb.FieldDescriptorProto_TYPE_UINT64
		inner = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
		truth = descriptorpb.FieldDescriptorProto_TYPE_BOOL
		code  = descriptorpb.FieldDescriptorProto_TYPE_INT32 // of an enum
	)
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("kuadrant.proto"), Package: proto.String("kuadrant.service.ratelimit.v1"),
		Syntax:     proto.String("proto3"),
		Dependency: []string{"envoy/extensions/common/ratelimit/v3/ratelimit.proto", "google/protobuf/duration.proto"},
		MessageType: []*descriptorpb.DescriptorProto{
			message("ReserveRequest", field("domain", 1, text, ""), field("descriptors", 2, inner, descriptors),
				field("amount", 3, whole, ""), field("ttl", 4, inner, ".google.protobuf.Duration")),
			message("ReserveResponse", field("code", 1, code, ""), field("reservation_id", 2, text, "")),
			message("CommitRequest", field("domain", 1, text, ""), field("descriptors", 2, inner, descriptors),
				field("reservation_id", 3, text, ""), field("actual_amount", 4, whole, "")),
			message("CommitResponse", field("reservation_released", 1, truth, "")),
		},
	}, protoregistry.GlobalFiles)
	if err != nil {
		panic(err)
	}
	return file.Messages()
}()

// A dynamic is a message of kuadrant, or of a part of it.
type dynamic struct{ protoreflect.Message }

func newDynamic(name string) dynamic {
	return dynamic{dynamicpb.NewMessage(kuadrant.ByName(protoreflect.Name(name)))}
}

func (d dynamic) field(name string) protoreflect.FieldDescriptor {
	return d.Descriptor().Fields().ByName(protoreflect.Name(name))
}

func (d dynamic) get(name string) protoreflect.Value { return d.Get(d.field(name)) }

// set sets fields: pairs of a name and a value. Messages are copied by their bytes.
func (d dynamic) set(t testing.TB, pairs ...any) dynamic {
	for i := 0; i < len(pairs); i += 2 {
		f := d.field(pairs[i].(string))
		switch v := pairs[i+1].(type) {
		case *common.RateLimitDescriptor:
			d.merge(t, d.Mutable(f).List().AppendMutable().Message(), v)
		case *durationpb.Duration:
			d.merge(t, d.Mutable(f).Message(), v)
		default:
			d.Set(f, protoreflect.ValueOf(v))
		}
	}
	return d
}

func (d dynamic) merge(t testing.TB, to protoreflect.Message, from proto.Message) {
	data, err := proto.Marshal(from)
	if err == nil {
		err = proto.Unmarshal(data, to.Interface())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func tenant(name string) *common.RateLimitDescriptor {
	return &common.RateLimitDescriptor{Entries: []*common.RateLimitDescriptor_Entry{{Key: "tenant", Value: name}}}
}

// TestKuadrant reserves, commits, checks and reports by the service of Kuadrant.
func TestKuadrant(t *testing.T) {
	s := startStack(t, "domain: llm\nrules: [{name: tokens, per: [tenant], limits: [1000/m log]}]", envoy.Options{})
	defer s.stop()
	invoke := func(method string, in, out proto.Message) error {
		return s.grpc.Invoke(within(t), "/kuadrant.service.ratelimit.v1.RateLimitService/"+method, in, out)
	}
	reserve := func(amount uint64, more ...any) (code int64, id string, err error) {
		out := newDynamic("ReserveResponse")
		in := newDynamic("ReserveRequest").set(t, "domain", "llm", "descriptors", tenant("a"), "amount", amount)
		err = invoke("Reserve", in.set(t, more...).Interface(), out.Interface())
		return out.get("code").Int(), out.get("reservation_id").String(), err
	}
	commit := func(id string, actual uint64) string {
		out := newDynamic("CommitResponse")
		in := newDynamic("CommitRequest").set(t, "domain", "llm", "descriptors", tenant("a"), "reservation_id", id,
			"actual_amount", actual)
		if err := invoke("Commit", in.Interface(), out.Interface()); err != nil {
			return err.Error()
		}
		return fmt.Sprint(out.get("reservation_released").Bool())
	}
	left := func() uint32 {
		out := new(service.RateLimitResponse)
		in := &service.RateLimitRequest{Domain: "llm", Descriptors: []*common.RateLimitDescriptor{tenant("a")}, HitsAddend: 9}
		if err := invoke("CheckRateLimit", in, out); err != nil {
			t.Fatal(err)
		}
		return out.GetStatuses()[0].GetLimitRemaining()
	}
	expect := func(step string, want uint32) {
		t.Helper()
		if got := left(); got != want {
			t.Errorf("after %s %d tokens are left, want %d", step, got, want)
		}
	}
	code, id, err := reserve(600)
	if code != 1 || !strings.HasPrefix(id, idPrefix) || err != nil {
		t.Fatalf("Reserve answers %d %q %v", code, id, err)
	}
	expect("Reserve", 400)
	if code, id, err := reserve(401); code != 2 || id != "" || err != nil {
		t.Errorf("Reserve beyond the limit answers %d %q %v", code, id, err)
	}
	for _, tt := range []struct {
		id     string
		actual uint64
		want   string
		left   uint32
	}{
		{id, 100, "true", 900}, {id, 100, "true", 900}, {id, 101, "false", 900},
		{"lost", 50, "false", 850}, {"lost", 50, "false", 850}, {"", 50, "false", 800}, {"", 50, "false", 750},
		{"", 0, "false", 750}, {"other", 0, "false", 750},
	} {
		if got := commit(tt.id, tt.actual); got != tt.want {
			t.Errorf("Commit %q of %d answers %s, want %s", tt.id, tt.actual, got, tt.want)
		}
		expect("Commit", tt.left)
	}
	_, id, _ = reserve(700, "ttl", durationpb.New(5e9))
	s.advance(5e9)
	expect("the end of a reservation", 750)
	if got := commit(id, 30); got != "false" {
		t.Errorf("a late Commit answers %s", got)
	}
	expect("a late Commit", 720)
	out := new(service.RateLimitResponse)
	in := &service.RateLimitRequest{Domain: "llm", Descriptors: []*common.RateLimitDescriptor{tenant("a")}}
	for _, in.HitsAddend = range []uint32{0, 19} {
		if err := invoke("Report", in, out); err != nil || out.GetOverallCode() != service.RateLimitResponse_OK {
			t.Errorf("Report answers %v, %v", out, err)
		}
	}
	expect("two Reports", 700)
	for _, ttl := range []*durationpb.Duration{{Seconds: -1}, {Nanos: 999}, {Nanos: -5}, {Seconds: 1, Nanos: 1e9},
		{Seconds: 1 << 40}} {
		_, _, err := reserve(1, "ttl", ttl)
		wantCode(t, fmt.Sprint("ttl ", ttl), err, codes.InvalidArgument)
	}
	if got := commit(strings.Repeat("x", engine.MaxIDBytes+1), 1); !strings.Contains(got, "reservation_id") {
		t.Errorf("a long id: %s", got)
	}
	expect("mistakes", 700)
}

// TestKuadrantLeases: a reservation over gRPC has a lease of each limit with leases, until it is committed or
// its ttl ends.
func TestKuadrantLeases(t *testing.T) {
	s := startStack(t, "domain: llm\nrules: [{name: tokens, per: [tenant], limits: [1000/m log]}, "+
		"{name: streams, per: [tenant], limits: [2 at once ttl 30s]}]", envoy.Options{})
	defer s.stop()
	invoke := func(method string, in, out dynamic) {
		t.Helper()
		err := s.grpc.Invoke(within(t), "/kuadrant.service.ratelimit.v1.RateLimitService/"+method, in.Interface(),
			out.Interface())
		if err != nil {
			t.Fatal(err)
		}
	}
	reserve := func(step string, want int64) string {
		t.Helper()
		out := newDynamic("ReserveResponse")
		invoke("Reserve", newDynamic("ReserveRequest").set(t, "domain", "llm", "descriptors", tenant("a"), "amount",
			uint64(5), "ttl", durationpb.New(5e9)), out)
		if got := out.get("code").Int(); got != want {
			t.Errorf("%s: Reserve answers %d, want %d", step, got, want)
		}
		return out.get("reservation_id").String()
	}
	first := reserve("the first stream", 1)
	reserve("the second stream", 1)
	reserve("a third stream", 2)
	invoke("Commit", newDynamic("CommitRequest").set(t, "domain", "llm", "descriptors", tenant("a"), "reservation_id",
		first, "actual_amount", uint64(3)), newDynamic("CommitResponse"))
	reserve("after a Commit", 1)
	reserve("again a third stream", 2)
	s.advance(5e9)
	reserve("after the ttl", 1)
}

// FuzzKuadrant reads any message by the codec and by protobuf's own code.
func FuzzKuadrant(f *testing.F) {
	for _, in := range []dynamic{
		newDynamic("ReserveRequest").set(f, "domain", "d", "descriptors", tenant("a"), "amount", uint64(7), "ttl",
			durationpb.New(1500e6)),
		newDynamic("ReserveRequest").set(f, "amount", uint64(math.MaxUint64), "ttl", &durationpb.Duration{Nanos: -1}),
		newDynamic("CommitRequest").set(f, "domain", "d", "descriptors", tenant("a"), "reservation_id", "r",
			"actual_amount", uint64(7)),
	} {
		data, err := proto.Marshal(in.Interface())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	var r envoy.Reader
	f.Fuzz(func(t *testing.T, data []byte) {
		theirs := newDynamic("ReserveRequest")
		theirErr := proto.Unmarshal(data, theirs.Interface())
		if q, ttl, err := r.ReadReserve(data); bothRead(t, data, err, theirErr) {
			sent := dynamic{theirs.get("ttl").Message()}
			want := sent.get("seconds").Int()*1e9 + sent.get("nanos").Int()
			if want == 0 {
				want = envoy.DefaultTTL
			}
			sameRequest(t, q, theirs, "amount")
			if ttl != want {
				t.Errorf("ReadReserve(%x) has a ttl of %d, want %d", data, ttl, want)
			}
		}
		theirs = newDynamic("CommitRequest")
		theirErr = proto.Unmarshal(data, theirs.Interface())
		if q, id, err := r.ReadCommit(data); bothRead(t, data, err, theirErr) {
			sameRequest(t, q, theirs, "actual_amount")
			if want := theirs.get("reservation_id").String(); string(id) != want {
				t.Errorf("ReadCommit(%x) has the id %q, want %q", data, id, want)
			}
		}
	})
}

// bothRead reports whether both codecs have read a message. Only bounds, and text that is not UTF-8, may make
// a difference.
func bothRead(t *testing.T, data []byte, err, theirErr error) bool {
	t.Helper()
	switch e := resp.ErrorOf(err); {
	case err == nil && theirErr != nil && !strings.Contains(theirErr.Error(), "UTF-8"):
		t.Errorf("%x is read, and protobuf says %v", data, theirErr)
	case err != nil && e == nil:
		t.Errorf("%x: %v is no error for clients", data, err)
	case theirErr == nil && err != nil && strings.Contains(err.Error(), "not of the type"):
		t.Errorf("%x: %v, and protobuf reads it", data, err)
	}
	return err == nil && theirErr == nil
}

// TestCommitsMayBeRepeated: a Commit without a certain outcome may be sent again, and a Reserve may not.
func TestCommitsMayBeRepeated(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	if f := failureOf(repeatable(session.ErrUncertain), log); f.code != codes.Unavailable {
		t.Errorf("a Commit ends with %v", f.code)
	}
	if f := failureOf(session.ErrUncertain, log); f.code != codes.Aborted {
		t.Errorf("a Reserve ends with %v", f.code)
	}
	if err := repeatable(session.ErrDown); err != session.ErrDown {
		t.Errorf("another error is %v", err)
	}
}

// sameRequest compares a request with a message that has the amount in a field.
func sameRequest(t *testing.T, q *checks.Request, theirs dynamic, amount string) {
	t.Helper()
	if want := theirs.get("domain").String(); string(q.Domain) != want {
		t.Errorf("the domain is %q, want %q", q.Domain, want)
	}
	if want := min(theirs.get(amount).Uint(), engine.MaxN); uint64(q.Hits) != want {
		t.Errorf("the amount is %d, want %d", q.Hits, want)
	}
	all := theirs.get("descriptors").List()
	if len(q.Descriptors) != all.Len() {
		t.Fatalf("there are %d descriptors, want %d", len(q.Descriptors), all.Len())
	}
	for i := range all.Len() {
		entries := dynamic{all.Get(i).Message()}.get("entries").List()
		if len(q.Descriptors[i].Entries) != entries.Len() {
			t.Fatalf("descriptor %d has %d entries, want %d", i, len(q.Descriptors[i].Entries), entries.Len())
		}
		for j := range entries.Len() {
			e, want := q.Descriptors[i].Entries[j], dynamic{entries.Get(j).Message()}
			if !bytes.Equal(e.Key, []byte(want.get("key").String())) || string(e.Value) != want.get("value").String() {
				t.Errorf("entry %d of descriptor %d is %q=%q", j, i, e.Key, e.Value)
			}
		}
	}
}
