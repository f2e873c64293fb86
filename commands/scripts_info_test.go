package commands

import (
	"strings"
	"testing"

	"limitsrv/commands/session"
)

// INFO counts runs of scripts and functions, and their steps, and names the scripts with the longest runs.
func TestInfoScripts(t *testing.T) {
	h := newTestHandler("")
	s := h.NewSession(session.Client{})
	eval := func(text string) {
		s.Do([][]byte{[]byte("EVAL"), []byte(text), []byte("0")})
		s.Flush()
	}
	const long, short = "for i = 1, 1000 do redis.call('GET', 'x') end", "return 1"
	for _, text := range []string{short, long, short, "error('no')"} {
		eval(text)
	}
	ask(s, "SCRIPT LOAD return(2)")
	got := fields(infoText(h, words("scripts memory stats")))
	for name, want := range map[string]string{
		"script_runs": "4", "script_failures": "1", "number_of_cached_scripts": "4", "evicted_scripts": "0",
		"used_memory_scripts_eval": "73",
	} {
		if got[name] != want {
			t.Errorf("%s:%s, want %s", name, got[name], want)
		}
	}
	first, second := got["longest_script_1"], got["longest_script_2"]
	if !strings.HasPrefix(first, "sha1=7ed86ab45c48c1b9bbd6fa2dae2f901b6388d54e,steps=") ||
		got["longest_script_4"] != "" || second == "" {
		t.Errorf("the longest scripts are %q and %q", first, second)
	}
	if steps := got["script_steps"]; len(steps) < 4 {
		t.Errorf("%s steps, want those of 1000 calls at least", steps)
	}
	s.Do([][]byte{[]byte("FUNCTION"), []byte("LOAD"),
		[]byte("#!lua name=l\nredis.register_function('f', function() return redis.error_reply('no') end)")})
	ask(s, "FCALL f 0")
	if got := fields(infoText(h, words("scripts"))); got["script_runs"] != "5" || got["script_failures"] != "2" {
		t.Errorf("after a function: script_runs:%s, script_failures:%s, want 5 and 2", got["script_runs"],
			got["script_failures"])
	}
	ask(s, "SCRIPT FLUSH")
	if got := fields(infoText(h, words("memory"))); got["number_of_cached_scripts"] != "0" {
		t.Errorf("after SCRIPT FLUSH: number_of_cached_scripts:%s, want 0", got["number_of_cached_scripts"])
	}
}
