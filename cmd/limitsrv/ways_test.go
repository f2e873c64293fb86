package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// everything is standing, with a quota of a month.
func everything(t *testing.T, w *wire) []string {
	t.Helper()
	bill, _ := w.do(t, "RL.PEEK bill").([]any)
	return append(standing(t, w), fmt.Sprint(bill[:min(3, len(bill))]))
}

// wantEverything wants that of before.
func wantEverything(t *testing.T, what string, w *wire, before []string) {
	t.Helper()
	if after := everything(t, w); !reflect.DeepEqual(after, before) {
		t.Errorf("%s has\n%q, want\n%q", what, after, before)
	}
}

// The state of a server by itself goes into a cluster, into backups of each of its
// nodes, and from there into other clusters and servers, and stays as it is.
func TestWays(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	r, w := keeps(t, at("single"))
	prepare(t, w)
	w.do(t, "RL.FIXED bill 100 month 30")
	before := everything(t, w)
	if len(before) != len(algorithms)+1 || before[len(algorithms)] != "[FIXED 100 70]" {
		t.Fatalf("it has %q", before)
	}
	runsTool(t, "", exitFailure, []string{"recover", at("single"), "--to", at("n1"), "--single"}, "in use")
	r.Process.Kill()
	<-r.ended
	original := contents(t, at("single"))
	runsTool(t, "", exitOK, []string{"recover", at("single")}, "a server by itself", "keys:", "ago")

	a, b, c := freeAddress(t), freeAddress(t), freeAddress(t)
	runsTool(t, "n\n", exitOK, []string{"recover", at("single"), "--to", at("n1"), "--raft", a}, "first node of a new cluster", "old directory again", "[y/N]", "Nothing was created")
	runsTool(t, "", exitOK, []string{"recover", at("single"), "--to", at("n1"), "--raft", a, "--yes"}, "Done", "--join "+a)
	if now := contents(t, at("single")); !reflect.DeepEqual(now, original) {
		t.Error("the directory that the cluster was made of has changed")
	}
	_, first := joined(t, "--data", at("n1"), "--raft", a)
	wantEverything(t, "the first node", first, before)
	joined(t, "--data", at("n2"), "--raft", b, "--join", a)
	third, last := joined(t, "--data", at("n3"), "--raft", c, "--join", a)
	until(t, "all nodes have all", func() bool { return first.do(t, "WAIT 2 1000") == int64(2) })
	wantEverything(t, "the last node", last, before)

	for name, w := range map[string]*wire{"leader": first, "follower": last} {
		backup, ok := w.do(t, "RL.BACKUP "+name).(string)
		if !ok {
			t.Fatalf("RL.BACKUP on the %s is answered %v", name, backup)
		}
		if reply := w.do(t, "RL.BACKUP "+name); !isError(reply, "ERR") || !strings.Contains(fmt.Sprint(reply), "already") {
			t.Errorf("a second RL.BACKUP of that name is answered %v", reply)
		}
		runsTool(t, "", exitOK, []string{"check", backup}, "snapshot 1: good", "log: none")
		runsTool(t, "", exitOK, []string{"recover", backup}, "a backup", "cluster: ", "term: ", "last entry: ", "made: ")
		copied := at("copy-" + name)
		if err := os.CopyFS(copied, os.DirFS(backup)); err != nil {
			t.Fatal(err)
		}
		_, single := keeps(t, copied)
		wantEverything(t, "a server on the backup of the "+name, single, before)
		goOn(t, single)
		other := freeAddress(t)
		runsTool(t, "", exitOK, []string{"recover", backup, "--to", at("c-" + name), "--raft", other, "--yes"}, "Done")
		_, member := joined(t, "--data", at("c-"+name), "--raft", other)
		wantEverything(t, "a cluster of the backup of the "+name, member, before)
		goOn(t, member)
	}
	third.end(t)
	runsTool(t, "", exitOK, []string{"recover", at("n3"), "--to", at("back"), "--single", "--yes"}, "Done. Start it with --data "+at("back"))
	r, w = keeps(t, at("back"))
	wantEverything(t, "one server again", w, before)
	goOn(t, w)
	after := everything(t, w)
	ends(t, r, w, "SHUTDOWN NOSAVE")
	_, w = keeps(t, at("back"))
	wantEverything(t, "one server again, started again,", w, after)
	joined(t, "--data", at("n3"), "--raft", c) // which is the node that it was
}
