package envoy

import (
	"strings"
	"testing"

	service "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"limitsrv/commands/rules/checks"
)

// probes have two parts of a request for each field, in protobuf's text form. The first sets the
// field; the second has another value, or no value, and must be read differently. The value of a
// wrapper is the value of its only field.
var probes = map[protoreflect.FullName][2]string{
	"envoy.service.ratelimit.v3.RateLimitRequest.domain": {`domain: "a"`,
		`domain: "b"`},
	"envoy.service.ratelimit.v3.RateLimitRequest.descriptors": {`descriptors: {}`,
		``},
	"envoy.service.ratelimit.v3.RateLimitRequest.hits_addend": {`hits_addend: 7`,
		``},
	"envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.entries":                                 {`descriptors: {entries: {}}`, `descriptors: {}`},
	"envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry.key":                               {`descriptors: {entries: {key: "k"}}`, `descriptors: {entries: {}}`},
	"envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry.value":                             {`descriptors: {entries: {value: "v"}}`, `descriptors: {entries: {}}`},
	"envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.limit":                                   {`descriptors: {limit: {unit: HOUR}}`, `descriptors: {}`},
	"envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.RateLimitOverride.requests_per_unit":     {`descriptors: {limit: {unit: HOUR requests_per_unit: 7}}`, `descriptors: {limit: {unit: HOUR}}`},
	"envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.RateLimitOverride.unit":                  {`descriptors: {limit: {unit: DAY}}`, `descriptors: {limit: {unit: HOUR}}`},
	"envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.RateLimitOverride.unit_multiplier":       {`descriptors: {limit: {unit: HOUR unit_multiplier: {value: 7}}}`, `descriptors: {limit: {unit: HOUR}}`},
	"envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.RateLimitOverride.unit_multiplier.value": {`descriptors: {limit: {unit: HOUR unit_multiplier: {value: 7}}}`, `descriptors: {limit: {unit: HOUR unit_multiplier: {value: 8}}}`},
	"envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.hits_addend":                             {`descriptors: {hits_addend: {}}`, `descriptors: {}`},
	"envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.hits_addend.value":                       {`descriptors: {hits_addend: {value: 7}}`, `descriptors: {hits_addend: {}}`},
	"envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.is_negative_hits":                        {`descriptors: {is_negative_hits: true}`, `descriptors: {}`},
}

// nameIn returns the name of a field of a message that is the value of another field. In messages of
// google.protobuf (wrappers, for example) it is the outer field's name and this field's name.
func nameIn(outer protoreflect.FullName, d protoreflect.FieldDescriptor) protoreflect.FullName {
	if strings.HasPrefix(string(d.FullName()), "google.protobuf.") {
		return outer.Append(d.Name())
	}
	return d.FullName()
}

// eachField calls f for the fields of a message, and, if f reports true, for the fields of the
// messages in them. A Struct has no fields here, because it may have any content.
func eachField(m protoreflect.MessageDescriptor, outer protoreflect.FullName,
	f func(name protoreflect.FullName, d protoreflect.FieldDescriptor) bool) {
	for i := range m.Fields().Len() {
		d := m.Fields().Get(i)
		name := nameIn(outer, d)
		if f(name, d) && d.Message() != nil && d.Message().FullName() != "google.protobuf.Struct" {
			eachField(d.Message(), name, f)
		}
	}
}

// both reads a request as protobuf, and as JSON with both names of fields.
func both(t *testing.T, text string) (read [3]string) {
	t.Helper()
	in := new(service.RateLimitRequest)
	if err := prototext.Unmarshal([]byte(text), in); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var r Reader
	for i := range read {
		var q *checks.Request
		message, err := proto.Marshal(in)
		if err == nil && i == 0 {
			q, err = r.Read(message)
		}
		if i > 0 {
			if message, err = (protojson.MarshalOptions{UseProtoNames: i == 1}).Marshal(in); err == nil {
				q, err = r.ReadJSON(message)
			}
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		read[i] = show(q)
	}
	return read
}

// TestFieldsOfRequests fails for a field of Envoy's requests that the Reader does not know: a newer
// go-control-plane may have it.
func TestFieldsOfRequests(t *testing.T) {
	left := len(probes)
	eachField(new(service.RateLimitRequest).ProtoReflect().Descriptor(), "",
		func(name protoreflect.FullName, d protoreflect.FieldDescriptor) bool {
			probe, known := probes[name]
			if !known {
				t.Errorf("%s, number %d, has no case: a Reader must read it", name, d.Number())
				return true
			}
			left--
			with, without := both(t, probe[0]), both(t, probe[1])
			for i, form := range []string{"protobuf", "JSON with original names", "JSON"} {
				if with[i] == without[i] {
					t.Errorf("%s, number %d, is skipped in %s: %s is read as %s, as is %s", name, d.Number(), form, probe[0], with[i],
						probe[1])
				}
			}
			return true
		})
	if left != 0 {
		t.Errorf("%d cases are for fields that requests do not have", left)
	}
}

// response is the start of the names of the fields of responses.
const response = "envoy.service.ratelimit.v3.RateLimitResponse."

// unsent are the fields of responses that a Writer never sets, and the reasons.
var unsent = map[protoreflect.FullName]string{
	response + "request_headers_to_add":                      "headers tell the client about its limits, not the upstream",
	response + "raw_body":                                    "the body of a denial is the proxy's",
	response + "quota":                                       "Envoy does not implement it",
	response + "DescriptorStatus.quota":                      "Envoy does not implement it",
	response + "DescriptorStatus.duration_until_reset.nanos": "times are whole seconds",
	"envoy.config.core.v3.HeaderValue.raw_value":             "headers are text",
}

// noteFields adds the names of the fields that are set in a message and in the messages in it.
func noteFields(set map[protoreflect.FullName]bool, m protoreflect.Message, outer protoreflect.FullName) {
	m.Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		name := nameIn(outer, d)
		set[name] = true
		switch {
		case d.Message() == nil || d.IsMap():
		case d.IsList():
			for i := range v.List().Len() {
				noteFields(set, v.List().Get(i).Message(), name)
			}
		default:
			noteFields(set, v.Message(), name)
		}
		return true
	})
}

// TestFieldsOfResponses fails for a field of Envoy's responses that no response of TestAppend
// sets, and that is not in unsent.
func TestFieldsOfResponses(t *testing.T) {
	set := map[protoreflect.FullName]bool{}
	for _, tt := range responses {
		out := new(service.RateLimitResponse)
		w := Writer{Options: tt.options}
		w.Now = now
		if err := proto.Unmarshal(w.Append(nil, asked, tt.answer), out); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		noteFields(set, out.ProtoReflect(), "")
	}
	left := len(unsent)
	eachField(new(service.RateLimitResponse).ProtoReflect().Descriptor(), "",
		func(name protoreflect.FullName, d protoreflect.FieldDescriptor) bool {
			reason, never := unsent[name]
			switch {
			case never && set[name]:
				t.Errorf("%s is set, though %s", name, reason)
			case never:
				left--
			case !set[name]:
				t.Errorf("%s, number %d, is in no response, and unsent has no reason", name, d.Number())
			}
			return !never
		})
	if left != 0 {
		t.Errorf("%d reasons are for fields that responses do not have, or that are set", left)
	}
}

// TestUnits fails for a unit of Envoy's that the codec does not know.
func TestUnits(t *testing.T) {
	for _, d := range []protoreflect.EnumDescriptor{typev3.RateLimitUnit(0).Descriptor(),
		service.RateLimitResponse_RateLimit_Unit(0).Descriptor()} {
		for i := range d.Values().Len() {
			v := d.Values().Get(i)
			if n := int(v.Number()); n >= len(units) || units[n].name != string(v.Name()) {
				t.Errorf("%s has the value %s, number %d, which units lacks", d.FullName(), v.Name(), n)
			}
		}
	}
	codes := service.RateLimitResponse_Code(0).Descriptor().Values()
	for i := range codes.Len() {
		if v := codes.Get(i); v.Number() > 0 &&
			(int(v.Number()) >= len(codeNames) || codeNames[v.Number()] != string(v.Name())) {
			t.Errorf("the code %s, number %d, is unknown", v.Name(), v.Number())
		}
	}
}
