package lua_test

import (
	"errors"
	"testing"

	"limitsrv/commands/scripts/lua"
)

// TestNestedBuffers: the buffers of functions that wait for a call count together.
func TestNestedBuffers(t *testing.T) {
	limits := lua.Limits{Steps: 50_000_000, Memory: 16 << 20, Prepaid: true, Together: true}
	for _, script := range []string{
		`local text, depth = ('x'):rep(1e6), 0
		local function nest()
			local n = 0
			depth = depth + 1
			return (('a'):rep(5):gsub('a', function()
				n = n + 1
				if depth == 12 then error('deep') end
				if n == 5 then nest() end
				return text
			end))
		end
		nest()`,
		`local text, depth = ('x'):rep(1e6), 0
		local nest
		local answers = setmetatable({}, {__index = function(_, key)
			if depth == 12 then error('deep') end
			if key == 'b' then nest() end
			return text
		end})
		nest = function()
			depth = depth + 1
			return (('aaaab'):gsub('.', answers))
		end
		nest()`,
	} {
		_, _, err := run(t, script, limits)
		var e *lua.Error
		if !errors.As(err, &e) || e.Limit != lua.MemoryLimit {
			t.Errorf("%s\n ends with %v", script, err)
		}
	}
	// A buffer does not count when its function has ended, whether by an error or not.
	results, _, err := run(t, `local text, n = ('x'):rep(1e6), 0
		for i = 1, 100 do
			pcall(string.gsub, 'abcd', '.', function(c) if c == 'd' then error(nil) end return text end)
			n = n + #(('ab'):gsub('.', {a = 'c'}))
		end
		local s = ('abcd'):gsub('.', function() return text end)
		return n + #s`, limits)
	if err != nil || results[0].Float() != 4_000_200 {
		t.Errorf("%v, %v", results, err)
	}
}
