package lua_test

import (
	"fmt"
	"testing"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/value"
)

// TestListsAreTables runs scripts with a list and with the table of its strings: all that
// a script sees and takes is the same.
func TestListsAreTables(t *testing.T) {
	env, keys, argv := newEnv()
	texts := [][]byte{[]byte("one"), []byte("2"), []byte("three")}
	for _, script := range []string{
		"return KEYS[1]", "return KEYS[3] .. KEYS[2]", "return tostring(KEYS[0]) .. tostring(KEYS[4]) .. tostring(KEYS[-1])",
		"return #KEYS", "local s = '' for i = 1, #KEYS do s = s .. KEYS[i] .. #KEYS end return s",
		"local s = '' for i = -1, 5 do s = s .. tostring(KEYS[i]) end return s",
		"local i = '1' return KEYS[i]", "local i = 1.5 return KEYS[i]", "local i = 2^40 return KEYS[i]",
		"local i = 0/0 return KEYS[i]", "local i return KEYS[i]", "local i = 1 return ARGV[i]",
		"local i = 1 KEYS[2] = 'x' return KEYS[i] .. KEYS[i + 1] .. #KEYS",
		"local function f() KEYS[1] = 'x' return 1 end return KEYS[f()]", "return KEYS[error('e')]",
		"return KEYS[2] + 1", "return KEYS['1']", "return KEYS.n", "return KEYS[1.5]",
		"return #KEYS[3]", "return KEYS[1]:upper()", "return KEYS[4].x", "return #ARGV", "return ARGV[1]",
		"KEYS[1] = 'x' return KEYS[1] .. KEYS[2]", "KEYS[4] = 'x' return #KEYS .. KEYS[4]",
		"KEYS[2] = nil return tostring(KEYS[2])",
		"local k = KEYS k[1] = 'x' return KEYS[1]", "table.insert(KEYS, 'x') return KEYS[4]", "return _G.KEYS[2]",
		"_G.KEYS[2] = 'x' return KEYS[2]",
		"local s = KEYS[1] for i, k in ipairs(KEYS) do s = s .. i .. k end return s", "return select('#', unpack(KEYS))",
		"return tostring(KEYS) .. tostring(ARGV) .. tostring({})", "return tostring({}) .. tostring(ARGV) .. tostring(KEYS)",
		"return KEYS == KEYS",
		"local function f() return KEYS[1] end return f() .. f()",
		"return tostring(setmetatable(KEYS, {__index = function() return 'm' end})[4]) .. KEYS[4]",
	} {
		chunk, err := lua.Compile(env, []byte(script), "@user_script")
		if err != nil {
			t.Fatal(err)
		}
		run := func(set func(st *lua.State)) string {
			st := lua.NewState(env)
			st.Reset(generous)
			set(st)
			results, err := st.Run(chunk)
			shown := fmt.Sprint(err)
			if err == nil {
				shown = show(results[0])
			}
			return fmt.Sprint(shown, " with ", st.StepsLeft(), " steps and ", st.Heap.Left(), " bytes left")
		}
		got := run(func(st *lua.State) {
			setLists(st, keys, argv, texts, len(texts))
		})
		want := run(func(st *lua.State) {
			st.Set(keys, tableOf(st, texts))
			st.Set(argv, tableOf(st, nil))
		})
		if got != want {
			t.Errorf("%s: a list gives %s, a table %s", script, got, want)
		}
	}
}

// tableOf makes a table of strings.
func tableOf(st *lua.State, texts [][]byte) value.Value {
	t := st.Heap.NewTable(len(texts), 0)
	for i, text := range texts {
		t.SetInt(st.Heap, i+1, value.OfString(st.Heap.Adopt(text)))
	}
	return value.OfTable(t)
}

// TestStackGrowsAtAnyCall passes as many values as make the stack of a new state grow, in each
// way of passing values on, and compares the results with the results of a large stack.
func TestStackGrowsAtAnyCall(t *testing.T) {
	env, _, _ := newEnv()
	large := lua.NewState(env)
	for _, form := range []string{
		"return join('a', 'b', unpack(t))", "return o:join('a', unpack(t))", "return join('a', inner('b', unpack(t)))",
		"local all = {'a', 'b', unpack(t)} return join(unpack(all))",
		"local x, y = 'a', unpack(t) return join(x, y, unpack(t))",
		"return join('a', select(2, 'b', unpack(t)))", "return called('a', unpack(t))",
		"return join('a', pcall(inner, 'b', unpack(t)))",
		"return join('a', deep(20, unpack(t)))", "local s = 'a' for _, v in ipairs({unpack(t)}) do s = s .. v end return s",
		"return join('a', string.byte(table.concat(t), 1, -1))", "return tostring(math.max(1, 2, unpack(t)))",
	} {
		for n := 1; n < 3000; n += n/3 + 1 {
			script := fmt.Sprintf(`
				local t, o = {}, {}
				for i = 1, %d do t[i] = i end
				local function join(...) return table.concat({...}, ' ') end
				local function inner(...) return ... end
				local function deep(d, ...) if d > 0 then return 'd', deep(d - 1, ...) end return ... end
				function o:join(...) return join(...) end
				local called = setmetatable({}, {__call = function(self, ...) return join(...) end})
				%s`, n, form)
			chunk, err := lua.Compile(env, []byte(script), "@user_script")
			if err != nil {
				t.Fatal(err)
			}
			run := func(st *lua.State) string {
				st.Reset(generous)
				results, err := st.Run(chunk)
				if err != nil {
					return err.Error()
				}
				return show(results[0])
			}
			first := run(lua.NewState(env))
			run(large)
			if again := run(large); first != again {
				t.Fatalf("%s with %d values: a new state gives %.200s, a used one %.200s", form, n, first, again)
			}
		}
	}
}

// setLists sets two variables to lists of the first n texts and of the remaining texts, within
// the limits.
func setLists(st *lua.State, keys, argv int, texts [][]byte, n int) {
	a, b, ok := st.Heap.NewLists(texts, n)
	if !ok {
		panic("lists pass a limit")
	}
	st.SetList(keys, a)
	st.SetList(argv, b)
}

// TestRunsKeepNoFrame: functions run after one Reset as often as they like.
func TestRunsKeepNoFrame(t *testing.T) {
	env, _, _ := newEnv()
	chunk, err := lua.Compile(env, []byte("return 1"), "@user_script")
	if err != nil {
		t.Fatal(err)
	}
	st := lua.NewState(env)
	st.Reset(generous)
	for i := range 50_000 {
		if _, err := st.Run(chunk); err != nil {
			t.Fatalf("run %d: %v", i, err)
		}
	}
}
