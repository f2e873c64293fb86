package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"limitsrv/replication"
)

// recoverOptions are the command line of the tool recover.
type recoverOptions struct {
	Dir  string `arg:"" help:"The data directory of a node of the cluster that is lost. No server uses it."`
	Raft string `required:"" placeholder:"HOST:PORT" help:"Where other nodes are to reach this one: its --raft from now on."`
	Yes  bool   `help:"Do it without asking."`
}

const recoverDescription = `Makes a new cluster of what one node has, when a majority of the old one is lost for
good: its machines or disks are gone, and will not come back.

Without --yes it shows what the node has, and asks. Stop all nodes that are left, run it
on the directory of each, answer no, and compare: the one to go on from is that with the
highest term, and among these that with the highest last entry. Answer yes there alone.`

// recoverRisk is said before it is asked. It has the address of the node.
const recoverRisk = `
If you go on, this node becomes a new cluster of one, at %s, with the state above.
- What the lost nodes had acknowledged and this one does not have is lost: permits
  that were granted then can be granted again.
- Never do it while a majority of the old cluster may still come back: there would be
  two clusters, and clients of both would be granted what one of them has.
- The other nodes that are left are strangers to the new cluster. Empty their data
  directories, and start them with --join %s.
`

func runRecover(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var o recoverOptions
	if code, ok := parseTool("recover", recoverDescription, &o, args, stdout, stderr); !ok {
		return code
	}
	options := replication.Options{
		Dir: o.Dir, Raft: o.Raft,
		Logger: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	fail := func(err error) int {
		fmt.Fprintf(stderr, "limitsrv recover: %v\n", err)
		return exitFailure
	}
	found, err := replication.Inspect(options)
	if err != nil {
		return fail(err)
	}
	fmt.Fprint(stdout, remnantText(found, time.Now()))
	if !o.Yes {
		fmt.Fprintf(stdout, recoverRisk, o.Raft, o.Raft)
		if !ask("Make it a new cluster?", stdin, stdout) {
			fmt.Fprintln(stdout, "Nothing was changed.")
			return exitOK
		}
	}
	if _, err := replication.Recover(options); err != nil {
		return fail(err)
	}
	fmt.Fprintf(stdout, "Done. Start it with --raft %s --data %s, and all others, emptied, with --join %s.\n", o.Raft, o.Dir, o.Raft)
	return exitOK
}

// remnantText is what a node has, for people.
func remnantText(r replication.Remnant, now time.Time) string {
	last := "none"
	if r.Stamp > 0 {
		last = fmt.Sprintf("%s, %v ago", time.Unix(0, int64(r.Stamp)).UTC().Format(time.RFC3339), r.Age(now).Round(time.Second))
	}
	tail := "whole"
	if r.LostTail {
		tail = "it may lack its end: the system went down, and the log had not been synced (--ack memory)"
	}
	var b strings.Builder
	for _, line := range [][2]string{
		{"node", r.Node},
		{"cluster", r.Cluster},
		{"members", strings.Join(r.Servers, ", ")},
		{"term", fmt.Sprint(r.Term)},
		{"last entry", fmt.Sprint(r.LastIndex)},
		{"last decision", last},
		{"keys", fmt.Sprint(r.Keys)},
		{"log", tail},
	} {
		fmt.Fprintf(&b, "%-14s %s\n", line[0]+":", line[1])
	}
	return b.String()
}
