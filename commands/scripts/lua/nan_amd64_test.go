package lua_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestSignalingNaN: functions give the same NaN for a signaling NaN on all processors.
func TestSignalingNaN(t *testing.T) {
	results, _, err := run(t, `local x = struct.unpack('>d', '\127\240\0\0\0\0\0\1')
		local function hex(x) return (struct.pack('>d', x):gsub('.', function(c) return ('%02x'):format(c:byte()) end)) end
		local whole, fraction = math.modf(x)
		return table.concat({hex(whole), hex(fraction), hex(math.floor(x)), hex(math.ceil(x)), hex(math.sqrt(x)),
			hex(x + 1), hex(math.fmod(x, 2))}, ' ')`, generous)
	if err != nil {
		t.Fatal(err)
	}
	const loud, quiet = "7ff0000000000001", "7ff8000000000001"
	s, _ := results[0].String()
	want := strings.Join([]string{quiet, quiet, loud, loud, loud, loud, loud}, " ")
	if got := string(s.Bytes()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestSignalingNaNWithoutSSE41 runs TestSignalingNaN in a process that rounds without the
// processor's instruction.
func TestSignalingNaNWithoutSSE41(t *testing.T) {
	command := exec.Command(os.Args[0], "-test.run", "^TestSignalingNaN$", "-test.v")
	command.Env = append(os.Environ(), "GODEBUG=cpu.sse41=off")
	output, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: TestSignalingNaN") {
		t.Errorf("%v\n%s", err, output)
	}
}
