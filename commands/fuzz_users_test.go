package commands

import (
	"bytes"
	"strings"
	"testing"

	"limitsrv/commands/auth/users"
	"limitsrv/commands/session"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

// hidden is the name of a key that the user of FuzzLimitedUser may not use.
const hidden = "hidden-key"

// FuzzLimitedUser sends any lines as a user in the groups decide and peek with the keys
// that start with a. No other key is used or shown.
func FuzzLimitedUser(f *testing.F) {
	all := table
	table, err := users.Parse("f",
		[]byte(strings.ReplaceAll("users:\n  - {name: u, hash: \"HASH\", groups: [decide, peek], keys: [\"a*\"]}\n"+
			"  - {name: root, hash: \"HASH\", groups: [admin], keys: [\"*\"]}", "HASH", quickHash("pw"))))
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range session.NewRegistry(all, advice).Specs() {
		name := strings.ReplaceAll(c.FullName, "|", " ")
		for _, args := range []string{"", " " + hidden, " a " + hidden, " TOKEN a 1 1 1 TOKEN " + hidden + " 1 1 1",
			" " + hidden + " 1 1 1", " * 1 10", " a 1 10"} {
			f.Add([]byte(name + args))
			f.Add([]byte("MULTI\n" + name + args + "\nEXEC"))
		}
	}
	f.Add([]byte("SCAN 0\nKEYS *\nRANDOMKEY\nCLUSTER GETKEYSINSLOT 1 10\nSLOWLOG GET\nMONITOR\nMULTI\nKEYS " +
		"*\nEXEC\nAUTH root x\nHELLO 3 AUTH root x"))
	f.Fuzz(func(t *testing.T, input []byte) {
		h := newTestHandlerWith(session.Config{Users: table, Cluster: testCluster})
		root, u := loggedIn(t, h, "root", session.Client{}),
			loggedIn(t, h, "u", session.Client{Addr: "10.0.0.2:1", Wake: func() {}, Close: func() {}})
		root.Do(words("RL.TOKEN " + hidden + " 10 1"))
		root.Flush()
		before := h.Config().Engine().Fingerprint(h.Now(), 0, []byte(hidden))
		for line := range bytes.SplitSeq(input, []byte("\n")) {
			args, err := splitLine(string(line))
			if err != nil || len(args) == 0 || bytes.Contains(line, []byte("pw")) || len(args) > 1 &&
				word.Is(args[0], "CLIENT") && word.Is(args[1], "PAUSE") {
				continue
			}
			u.Do(args)
			u.Flush()
			u.Resume()
			// Errors and messages may repeat the client's bytes.
			if !bytes.Contains(input, []byte("hidden")) && bytes.Contains(u.Out, []byte(hidden)) {
				t.Fatalf("%q shows a hidden key: %q", line, u.Out)
			}
			u.Out = nil
		}
		if after := h.Config().Engine().Fingerprint(h.Now(), 0, []byte(hidden)); after != before {
			t.Fatalf("the hidden key was changed")
		}
		h.Config().Engine().Scan(h.Now(), 0, 0, 1000, func(key []byte, _ engine.Alg) {
			if string(key) != hidden && !bytes.HasPrefix(key, []byte("a")) {
				t.Fatalf("there is a key %q", key)
			}
		})
	})
}
