package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// fullState is the state of all keys, with a quota of a month.
func fullState(t *testing.T, w *wire) []string {
	t.Helper()
	bill, _ := w.do(t, "RL.PEEK bill").([]any)
	return append(peekAll(t, w), fmt.Sprint(bill[:min(3, len(bill))]))
}

// wantFullState compares the state with an earlier state.
func wantFullState(t *testing.T, place string, w *wire, before []string) {
	t.Helper()
	if after := fullState(t, w); !reflect.DeepEqual(after, before) {
		t.Errorf("%s has\n%q, want\n%q", place, after, before)
	}
}

// The state of a single server moves into a cluster, into backups of each of its nodes,
// and from there into other clusters and servers, and remains the same.
func TestStateMovesBetweenModes(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, name) }
	r, w := serveData(t, at("single"))
	prepare(t, w)
	w.do(t, "RL.FIXED bill 100 month 30")
	before := fullState(t, w)
	if len(before) != len(algorithms)+1 || before[len(algorithms)] != "[FIXED 100 70]" {
		t.Fatalf("the state is %q", before)
	}
	runsTool(t, "", exitFailure, []string{"recover", at("single"), "--to", at("n1"), "--single"}, "in use")
	r.Process.Kill()
	<-r.ended
	original := contents(t, at("single"))
	runsTool(t, "", exitOK, []string{"recover", at("single")}, "a server by itself", "keys:", "ago")

	a, b, c := freeAddress(t), freeAddress(t), freeAddress(t)
	runsTool(t, "n\n", exitOK, []string{"recover", at("single"), "--to", at("n1"), "--raft", a},
		"first node of a new cluster", "old directory again", "[y/N]", "Nothing was created")
	runsTool(t, "", exitOK, []string{"recover", at("single"), "--to", at("n1"), "--raft", a, "--yes"}, "Done", "--join "+a)
	if now := contents(t, at("single")); !reflect.DeepEqual(now, original) {
		t.Error("the source directory of the cluster has changed")
	}
	_, first := joined(t, "--data", at("n1"), "--raft", a)
	wantFullState(t, "the first node", first, before)
	joined(t, "--data", at("n2"), "--raft", b, "--join", a)
	third, last := joined(t, "--data", at("n3"), "--raft", c, "--join", a)
	until(t, "all nodes have the state", func() bool { return first.do(t, "WAIT 2 1000") == int64(2) })
	wantFullState(t, "the last node", last, before)

	for name, w := range map[string]*wire{"leader": first, "follower": last} {
		backup, ok := w.do(t, "RL.BACKUP "+name).(string)
		if !ok {
			t.Fatalf("reply to RL.BACKUP on the %s = %v", name, backup)
		}
		if reply := w.do(t, "RL.BACKUP "+name); !isError(reply, "ERR") || !strings.Contains(fmt.Sprint(reply), "already") {
			t.Errorf("reply to a second RL.BACKUP of that name = %v", reply)
		}
		runsTool(t, "", exitOK, []string{"check", backup}, "snapshot 1: good", "log: none")
		runsTool(t, "", exitOK, []string{"recover", backup}, "a backup", "cluster: ", "term: ", "last entry: ", "made: ")
		copied := at("copy-" + name)
		if err := os.CopyFS(copied, os.DirFS(backup)); err != nil {
			t.Fatal(err)
		}
		_, single := serveData(t, copied)
		wantFullState(t, "a server on the backup of the "+name, single, before)
		checkDecisions(t, single)
		other := freeAddress(t)
		runsTool(t, "", exitOK, []string{"recover", backup, "--to", at("c-" + name), "--raft", other, "--yes"}, "Done")
		_, member := joined(t, "--data", at("c-"+name), "--raft", other)
		wantFullState(t, "a cluster of the backup of the "+name, member, before)
		checkDecisions(t, member)
	}
	third.end(t)
	runsTool(t, "", exitOK, []string{"recover", at("n3"), "--to", at("back"), "--single", "--yes"},
		"Done. Start it with --data "+at("back"))
	r, w = serveData(t, at("back"))
	wantFullState(t, "one server again", w, before)
	checkDecisions(t, w)
	after := fullState(t, w)
	endBy(t, r, w, "SHUTDOWN NOSAVE")
	_, w = serveData(t, at("back"))
	wantFullState(t, "one server again, started again,", w, after)
	joined(t, "--data", at("n3"), "--raft", c) // the same node as before
}
