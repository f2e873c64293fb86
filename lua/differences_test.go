package lua_test

import (
	"os"
	"strings"
	"testing"
)

// TestSameAsRedis runs the scripts of testdata on both. A line of two dashes ends each.
func TestSameAsRedis(t *testing.T) {
	text, err := os.ReadFile("testdata/scripts.lua")
	if err != nil {
		t.Fatal(err)
	}
	redis, ours := startRedis(t), newOurs()
	for _, script := range strings.Split(string(text), "\n--\n") {
		script = strings.TrimSpace(script)
		if script == "" {
			continue
		}
		if got, want := ours.eval(script), redis.eval(script); got != want {
			t.Errorf("%s\n got %.500s\nwant %.500s", script, got, want)
		}
	}
}
