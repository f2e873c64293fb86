package commands

import (
	"fmt"
	"strings"
	"testing"

	"limitsrv/commands/auth/users"
	"limitsrv/commands/session"
	"limitsrv/internal/status"
)

const (
	lateScript  = "return redis.call('GET', KEYS[1])"
	lateHash    = "d3c21d0c2b9ca22f82737626a27bcaf5d288f99f"
	lateLibrary = "#!lua name=late\nredis.register_function{function_name='late', flags={'no-writes'}, " +
		"callback=function(keys) return redis.call('GET', keys[1]) end}"
)

// A loadedLater is a node that does not lead, and that gets what another node has loaded in Fresh.
type loadedLater struct {
	*fakeCluster
	handler *session.Handler
	load    func()
	err     error
	asked   int
}

func (c *loadedLater) Leads() bool { return false }

func (c *loadedLater) Fresh(done func(error)) {
	if c.asked++; c.err == nil {
		c.load()
	}
	done(c.err)
}

// newLateScripts returns a session of a user that may not run all scripts.
func newLateScripts(t *testing.T, groups string) (*session.Session, *loadedLater) {
	t.Helper()
	const user = "  - name: %s\n    hash: \"#pw\"\n    keys: [\"*\"]\n    groups: [%s]\n"
	file := withHashes(t, "users:\n"+fmt.Sprintf(user, "u", groups)+fmt.Sprintf(user, "boss", "admin"))
	table, err := users.Parse("users.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	c := &loadedLater{fakeCluster: newFakeCluster(status.Follower)}
	h := newTestHandlerWith(session.Config{Users: table, Cluster: c})
	c.handler = h
	c.load = func() {
		for _, line := range [][]string{{"SCRIPT", "LOAD", lateScript}, {"FUNCTION", "LOAD", lateLibrary}} {
			other := loggedIn(t, h, "boss", session.Client{Close: func() {}})
			other.Do(bytesOf(line))
			other.Flush()
		}
	}
	return loggedIn(t, h, "u", session.Client{Close: func() {}, Wake: func() {}}), c
}

// lateLines are the lines of the commands whose script is judged, with the number of questions.
var lateLines = map[string]struct {
	line  []string
	asked int
	known string // the answer when the script is known
	none  string // and when no node knows it
}{
	"eval":        {[]string{"EVAL", lateScript, "1", "k"}, 0, "$-1", "$-1"},
	"eval_ro":     {[]string{"EVAL_RO", lateScript, "1", "k"}, 0, "$-1", "$-1"},
	"evalsha":     {[]string{"EVALSHA", lateHash, "1", "k"}, 1, "$-1", "-NOSCRIPT"},
	"evalsha_ro":  {[]string{"EVALSHA_RO", lateHash, "1", "k"}, 1, "$-1", "-NOSCRIPT"},
	"fcall":       {[]string{"FCALL", "late", "1", "k"}, 1, "$-1", "-ERR Function not found"},
	"fcall_ro":    {[]string{"FCALL_RO", "late", "1", "k"}, 1, "$-1", "-ERR Function not found"},
	"script|load": {[]string{"SCRIPT", "LOAD", lateScript}, 0, "$40", "$40"},
}

// TestScriptsOfOtherNodes: a follower judges a script that another node has loaded just before, and asks
// only if it does not know the script.
func TestScriptsOfOtherNodes(t *testing.T) {
	reference := newTestHandler("")
	for _, spec := range reference.Registry().Specs() {
		if spec.Uses == nil {
			continue
		}
		tt, ok := lateLines[spec.FullName]
		if !ok {
			t.Errorf("%s judges scripts, and has no line", spec.FullName)
			continue
		}
		denied, leaderless := "-NOPERM", tt.known
		if spec.FullName == "script|load" { // runs nothing
			denied = tt.known
		}
		if tt.asked > 0 {
			leaderless = "-CLUSTERDOWN"
		}
		fail := func(c *loadedLater) { c.err = session.ErrDown }
		for _, of := range []struct {
			event  string
			groups string
			before string
			first  string // the answer to before
			change func(*loadedLater)
			want   string
			asked  int
		}{
			{"loaded by another node", "scripting, string", "", "", func(*loadedLater) {}, tt.known, tt.asked},
			{"after another command", "scripting, string", "GET k", "$-1\r\n", func(*loadedLater) {}, tt.known, tt.asked},
			{"known", "scripting, string", "", "", func(c *loadedLater) { c.load() }, tt.known, 0},
			{"not permitted", "scripting", "", "", func(*loadedLater) {}, denied, tt.asked},
			{"loaded nowhere", "scripting, string", "", "", func(c *loadedLater) { c.load = func() {} }, tt.none, tt.asked},
			{"without a leader", "scripting, string", "", "", fail, leaderless, tt.asked},
			{"in a transaction", "scripting, string", "MULTI", "+OK\r\n", func(*loadedLater) {}, "+QUEUED", tt.asked},
		} {
			s, c := newLateScripts(t, of.groups)
			of.change(c)
			s.Do(words(of.before))
			for !s.Do(bytesOf(tt.line)) {
				s.Resume()
			}
			s.Flush()
			if got, _ := strings.CutPrefix(string(s.Out), of.first); !strings.HasPrefix(got, of.want) || c.asked != of.asked {
				t.Errorf("%s, %s: %q after %d questions, want %s after %d",
					spec.FullName, of.event, got, c.asked, of.want, of.asked)
			}
		}
	}
}

// TestDryRunsOfOtherNodes: ACL DRYRUN knows the scripts that other nodes have loaded.
func TestDryRunsOfOtherNodes(t *testing.T) {
	for name, tt := range lateLines {
		if strings.Contains(name, "|") {
			continue
		}
		_, c := newLateScripts(t, "scripting, string")
		s := loggedIn(t, c.handler, "boss", session.Client{Close: func() {}, Wake: func() {}})
		s.Do(bytesOf(append([]string{"ACL", "DRYRUN", "u"}, tt.line...)))
		s.Flush()
		if got := string(s.Out); got != "+OK\r\n" || c.asked != tt.asked {
			t.Errorf("%s: %q after %d questions, want OK after %d", name, got, c.asked, tt.asked)
		}
	}
}
