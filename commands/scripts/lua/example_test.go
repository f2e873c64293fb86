package lua_test

import (
	"fmt"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/library"
	"limitsrv/commands/scripts/lua/value"
)

func Example() {
	// Once: the environment and the scripts.
	env := lua.NewEnv(lua.Texts{MissingGlobal: "no global variable '%s'", ReadOnly: "read-only table"})
	library.Open(env, library.Options{})
	counters := map[string]float64{}
	store := env.NewTable()
	env.Register(store, &lua.Function{Name: "incr", One: func(st *lua.State, args []value.Value) value.Value {
		key := string(st.Text(args, 0))
		counters[key] += st.Number(args, 1)
		return value.Number(counters[key])
	}})
	env.Set("store", value.OfTable(store))
	arguments := env.Variable("ARGV")
	chunk, err := lua.Compile(env, []byte("local n = store.incr(ARGV[1], 2) return n <= 3, n"), "@limit")
	if err != nil {
		fmt.Println(err)
		return
	}

	// Many times, on states that are reused.
	st := lua.NewState(env)
	for range 2 {
		st.Reset(lua.Limits{Steps: 10_000, Memory: 1 << 20})
		list := st.Heap.NewTable(1, 0)
		list.SetInt(st.Heap, 1, st.NewText("user:1"))
		st.Set(arguments, value.OfTable(list))
		results, err := st.Run(chunk)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(results[0].Truth(), results[1].Float())
	}
	// Output:
	// true 2
	// false 4
}
