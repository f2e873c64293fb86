package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"limitsrv/replication"
)

// recoverOptions are the command line of the tool recover.
type recoverOptions struct {
	Dir    string `arg:"" help:"A data directory that no server uses, or a backup. It stays as it is."`
	To     string `placeholder:"NEW" help:"The data directory to make. It must not be there yet."`
	Raft   string `placeholder:"HOST:PORT" xor:"what" help:"Make NEW the first node of a new cluster. Other nodes will reach it here: its --raft from now on."`
	Single bool   `xor:"what" help:"Make NEW a server by itself, without --raft."`
	Yes    bool   `help:"Do it without asking."`
}

const recoverDescription = `Makes a new data directory of what another one, or a backup, has: of the first node of
a new cluster, or of a server by itself. It is for

  growing    one server becomes a cluster:      recover DIR --to NEW --raft HOST:PORT
  shrinking  a node becomes one server:         recover DIR --to NEW --single
  restoring  a backup becomes either of them:   recover BACKUP --to NEW ...
  a cluster whose majority is lost for good:    recover DIR --to NEW --raft HOST:PORT

Without --to it shows what DIR has. With it, it says what is risked and asks, unless
--yes is given. DIR stays as it is. If it fails or is killed there is no NEW.

Of several nodes of a cluster take the one with the highest term, and among these the
one with the highest last entry. Keys, counts and the time go on as they were.`

// risks are said before it is asked, by what the directory is.
var risks = map[replication.RemnantKind]string{
	replication.OfMember: `- What other nodes of the old cluster had acknowledged and this one does not have is
  lost: permits that were granted then can be granted again.
- Never do it while a majority of the old cluster runs or may come back: clients of
  both would be granted what each of them has. Old nodes can not join a new cluster.
`,
	replication.OfSingle: `- Do not start a server on the old directory again: clients of both would be granted
  what each of them has.
`,
	replication.OfBackup: `- What was decided after the backup was made is lost: permits that were granted then
  can be granted again.
- Stop the servers that it was made of, for good.
`,
}

func runRecover(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var o recoverOptions
	if code, ok := parseTool("recover", recoverDescription, &o, args, stdout, stderr); !ok {
		return code
	}
	fail := func(code int, err error) int {
		fmt.Fprintf(stderr, "limitsrv recover: %v\n", err)
		return code
	}
	if err := o.check(); err != nil {
		return fail(exitUsage, err)
	}
	options := replication.Options{
		Dir: o.Dir, Raft: o.Raft,
		Logger: slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if o.To == "" || !o.Yes {
		found, err := replication.Inspect(options)
		if err != nil {
			return fail(exitFailure, err)
		}
		fmt.Fprint(stdout, remnantText(found, time.Now()))
		if o.To == "" {
			return exitOK
		}
		fmt.Fprintf(stdout, "\nIf you go on, %s becomes %s, with the state above.\n%s", o.To, o.target(), risks[found.Kind])
		if !ask("Go on?", stdin, stdout) {
			fmt.Fprintln(stdout, "Nothing was made.")
			return exitOK
		}
	}
	found, err := replication.Recover(options, o.To)
	if err != nil {
		return fail(exitFailure, err)
	}
	if o.Yes {
		fmt.Fprint(stdout, remnantText(found, time.Now()))
	}
	fmt.Fprintln(stdout, o.next())
	return exitOK
}

// check returns an error that names the missing options.
func (o *recoverOptions) check() error {
	chosen := o.Raft != "" || o.Single
	switch {
	case o.To == "" && (chosen || o.Yes):
		return errors.New("--to NEW is missing: the data directory to make (limitsrv recover --help tells more)")
	case o.To != "" && !chosen:
		return errors.New("give --raft HOST:PORT for the first node of a new cluster, or --single for a server by itself (limitsrv recover --help tells more)")
	}
	return nil
}

// target describes the owner of the new directory.
func (o *recoverOptions) target() string {
	if o.Single {
		return "the data directory of a server by itself"
	}
	return "the data directory of the first node of a new cluster, at " + o.Raft
}

// next is the command that starts on the new directory.
func (o *recoverOptions) next() string {
	if o.Single {
		return fmt.Sprintf("Done. Start it with --data %s.", o.To)
	}
	return fmt.Sprintf("Done. Start it with --raft %s --data %s, and all other nodes, on empty directories, with --join %s.", o.Raft, o.To, o.Raft)
}

// remnantText describes the content of a directory, for people.
func remnantText(r replication.Remnant, now time.Time) string {
	last := "none"
	if r.Stamp > 0 {
		last = fmt.Sprintf("%s, %v ago", time.Unix(0, int64(r.Stamp)).UTC().Format(time.RFC3339), r.Age(now).Round(time.Second))
	}
	cluster, of := r.Cluster, r.Cluster != ""
	if !of {
		cluster = "none"
	}
	lines := [][2]string{{"what", remnantKinds[r.Kind]}, {"node", r.Node}, {"cluster", cluster}}
	if r.Kind == replication.OfBackup {
		lines = append(lines, [2]string{"made", r.Taken.UTC().Format(time.RFC3339)})
	}
	if r.Kind == replication.OfMember {
		lines = append(lines, [2]string{"members", strings.Join(r.Servers, ", ")})
	}
	if of {
		lines = append(lines, [2]string{"term", fmt.Sprint(r.Term)})
	}
	lines = append(lines, [][2]string{{"last entry", fmt.Sprint(r.LastIndex)}, {"time", last}, {"keys", fmt.Sprint(r.Keys)}}...)
	if r.Kind != replication.OfBackup {
		lines = append(lines, [2]string{"log", tailText(r)})
	}
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, "%-14s %s\n", line[0]+":", line[1])
	}
	return b.String()
}

// tailText is how the log ends.
func tailText(r replication.Remnant) string {
	switch {
	case !r.LostTail:
		return "whole"
	case r.Kind == replication.OfMember:
		return "it may lack its end: the system went down, and the log had not been synced (--ack memory)"
	}
	return "its end is torn and dropped: the system went down, and it was not on disk (limitsrv check tells more)"
}

var remnantKinds = map[replication.RemnantKind]string{
	replication.OfMember: "a node of a cluster", replication.OfSingle: "a server by itself", replication.OfBackup: "a backup",
}
