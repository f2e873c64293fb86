package lua_test

import (
	"errors"
	"testing"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/value"
)

// fuzzLimits bound a run of a fuzz target.
var fuzzLimits = lua.Limits{Steps: 100_000, Memory: 4 << 20, String: 1 << 20}

// maxFuzz bounds the length of inputs, so that each is quick.
const maxFuzz = 64 << 10

// fuzzed runs a script that takes its data from ARGV. Any end but a panic is fine.
type fuzzed struct {
	env  *lua.Env
	st   *lua.State
	argv int
}

func newFuzzed() *fuzzed {
	env, _, argv := newEnv()
	return &fuzzed{env, lua.NewState(env), argv}
}

func (f *fuzzed) run(t *testing.T, chunk *lua.Chunk, data ...[]byte) []value.Value {
	f.st.Reset(fuzzLimits)
	list := f.st.Heap.NewTable(len(data), 0)
	for i, b := range data {
		list.SetInt(f.st.Heap, i+1, value.OfString(f.st.Heap.Adopt(b)))
	}
	f.st.Set(f.argv, value.OfTable(list))
	results, err := f.st.Run(chunk)
	var e *lua.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("an error of type %T: %v", err, err)
	}
	return results
}

func (f *fuzzed) compile(t testing.TB, script string) *lua.Chunk {
	chunk, err := lua.Compile(f.env, []byte(script), "@user_script")
	if err != nil {
		t.Fatal(err)
	}
	return chunk
}

func FuzzScript(f *testing.F) {
	for _, limiter := range limiters {
		f.Add([]byte(limiter.script))
	}
	for _, tt := range endless {
		f.Add([]byte(tt.script))
	}
	for _, word := range words {
		f.Add([]byte(word))
	}
	fuzz := newFuzzed()
	f.Fuzz(func(t *testing.T, source []byte) {
		if len(source) > maxFuzz {
			return
		}
		if chunk, err := lua.Compile(fuzz.env, source, "@user_script"); err == nil {
			fuzz.run(t, chunk, []byte("1"), []byte("x"))
		}
	})
}

func FuzzPattern(f *testing.F) {
	for _, p := range patterns {
		f.Add([]byte("hello world, (a(b)c) 123"), []byte(p), []byte("<%1%0>"))
	}
	fuzz := newFuzzed()
	chunk := fuzz.compile(f, `
local s, p, r = ARGV[1], ARGV[2], ARGV[3]
pcall(string.find, s, p) pcall(string.match, s, p, 2) pcall(string.gsub, s, p, r) pcall(string.gsub, s, p, {}) pcall(string.gsub, s, p, string.upper, 3)
pcall(function() for a, b in s:gmatch(p) do end end) pcall(string.format, p, s, 1, 2) pcall(string.format, r, 1.5, s)`)
	f.Fuzz(func(t *testing.T, subject, pattern, replacement []byte) {
		if len(subject)+len(pattern)+len(replacement) <= maxFuzz {
			fuzz.run(t, chunk, subject, pattern, replacement)
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, text := range []string{"1", `{"a":[1,2,{"b":null}],"c":"\u00e9\ud83d\ude00"}`, `[1,`, `"\x"`, "nan", "-",
		"[[[[]]]]"} {
		f.Add([]byte(text))
	}
	fuzz := newFuzzed()
	// A text that can be decoded is encoded; decoded and encoded again it is the same.
	chunk := fuzz.compile(f, `
local ok, v = pcall(cjson.decode, ARGV[1])
if not ok then return true end
local ok, text = pcall(cjson.encode, v)
if not ok then return true end
return cjson.encode(cjson.decode(text)) == text or text`)
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > maxFuzz {
			return
		}
		if results := fuzz.run(t, chunk, text); len(results) > 0 && results[0].Kind() == value.StringKind &&
			!hasObject(text) {
			t.Errorf("%q: %s is not stable", text, show(results[0]))
		}
	})
}

// hasObject reports whether a text may have objects: their order may change.
func hasObject(text []byte) bool {
	for _, c := range text {
		if c == '{' {
			return true
		}
	}
	return false
}

func FuzzStruct(f *testing.F) {
	for _, layout := range []string{"Bc0I", ">i8<h!4bI", "s", "fdx", "i16", "c5", "!3", "i99999999999"} {
		f.Add([]byte(layout), []byte("\x03abc\x00\x00\x00\x07"))
	}
	fuzz := newFuzzed()
	chunk := fuzz.compile(f, `
local layout, data = ARGV[1], ARGV[2]
pcall(struct.size, layout) pcall(struct.unpack, layout, data, 2)
local all = {pcall(struct.unpack, layout, data)}
pcall(struct.pack, layout, unpack(all, 2)) pcall(struct.pack, layout, 1, data, 2, data, 3)`)
	f.Fuzz(func(t *testing.T, layout, data []byte) {
		if len(layout)+len(data) <= maxFuzz {
			fuzz.run(t, chunk, layout, data)
		}
	})
}
