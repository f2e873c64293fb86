package strictjson

import (
	"encoding/json"
	"testing"
)

type object struct {
	Domain string            `json:"domain"`
	Parts  []*object         `json:"parts"`
	Pair   [2]string         `json:"pair"`
	Any    map[string]object `json:"any"`
	Own    own               `json:"own"`
}

// own is a type that reads itself.
type own struct{}

func (*own) UnmarshalJSON([]byte) error { return nil }

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		text string
		want bool
	}{
		{`{}`, true},
		{` {"domain" : "a" , "parts":[ {"domain":"b\"\\"} , null, {} ], "pair":["Domain","Domain"]} ` + "\n", true},
		{`{"Domain":"a"}`, false},
		{`{"domain":"a","Domain":"b"}`, false},
		{`{"domain":"a","domain":"b"}`, false},
		{`{"domain":"a","\u0064omain":"b"}`, false},
		{`{"\u0064omain":"b"}`, true},
		{`{"domain":"a","other":"b"}`, false},
		{`{"parts":[{"domain":"a"},{"DOMAIN":"a"}]}`, false},
		{`{"parts":[{"domain":"a","domain":"a"}]}`, false},
		{`{"any":{"Domain":{},"domain":{}}}`, true},
		{`{"any":{"a":{},"a":{}}}`, false},
		{`{"any":{"a":{"Pair":["",""]}}}`, false},
		{`{"own":{"Domain":[1,-2.5e3,true,{"x":{}}],"domain":1}}`, true},
		{`{"own":[{"x":1,"x":2}]}`, false},
		{`{} {}`, false},
		{`{} x`, false},
		{``, false},
		{`null`, true},
	} {
		if err := Decode([]byte(tt.text), &object{}); (err == nil) != tt.want {
			t.Errorf("%s: %v, want valid: %t", tt.text, err, tt.want)
		}
	}
}

// FuzzDecode decodes any bytes. It must accept no bytes that encoding/json rejects.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"domain":"a","parts":[{"own":[1,"x"]}],"pair":["a"]}`))
	f.Add([]byte(`[1e5, {"a" : {"b":null}}, ""]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var a, b, c any
		if err := Decode(data, &a); err == nil && json.Unmarshal(data, &b) != nil {
			t.Fatalf("%q was decoded", data)
		}
		_ = Decode(data, &c)
		_ = Decode(data, &object{})
	})
}
