package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"limitsrv/cmd/limitsrv/state"
	"limitsrv/replication/offline"
)

// recoverOptions are the options of the tool recover.
type recoverOptions struct {
	Dir       string `arg:"" help:"A data directory that no server uses, or a backup. Only --skip-entry changes it."`
	To        string `placeholder:"NEW" help:"The data directory to create. It must not exist."`
	Raft      string `placeholder:"HOST:PORT" xor:"target" help:"Make NEW the first node of a new cluster, with this address for other nodes: its --raft from now on."`
	Single    bool   `xor:"target" help:"Make NEW a single server, without --raft."`
	SkipEntry uint64 `placeholder:"INDEX" help:"Make DIR start without this entry of its log. Run it on each node of a cluster, while all nodes are stopped."`
	Yes       bool   `help:"Do it without asking."`
}

const recoverDescription = `Creates a data directory from another one or from a backup: for the first node of a new
cluster, or for a single server. Its uses are

  growing    one server becomes a cluster:      recover DIR --to NEW --raft HOST:PORT
  shrinking  a node becomes one server:         recover DIR --to NEW --single
  restoring  a backup becomes either of them:   recover BACKUP --to NEW ...
  a cluster whose majority is lost for good:    recover DIR --to NEW --raft HOST:PORT
  an entry of the log that ends the process:    recover DIR --skip-entry INDEX

Without --to it describes the content of DIR. With it, it states the risks and asks,
unless --yes is given. DIR is not changed. If it fails or is killed, NEW does not exist.

--skip-entry is for an entry that a start named, because processes ended while they applied
it. It describes the entry and asks, unless --yes is given. From then on DIR goes on as if
the entry had no decisions, and its file skipped-entry-INDEX keeps the entry. It exits
with 0 too if there is nothing to skip, because the log ends before the entry. In a
cluster stop all nodes, run it on the directory of each node, and start them again.

Of several nodes of a cluster take the one with the highest term, and among these the
one with the highest last entry. Keys, counts and the time are preserved.`

// risks are the warnings before the question, by the kind of the directory.
var risks = map[offline.RemnantKind]string{
	offline.OfMember: `- Decisions that other nodes of the old cluster acknowledged and this one does not have
  are lost: their tokens can be granted again.
- Never do it while a majority of the old cluster runs or may come back: both clusters
  would grant the full limits. Nodes of the old cluster can't join the new one.
`,
	offline.OfSingle: `- Do not start a server on the old directory again: both servers would grant the full
  limits.
`,
	offline.OfBackup: `- Decisions after the backup are lost: their tokens can be granted again.
- Stop the servers of which it is a backup, for good.
`,
}

func runRecover(c call) int {
	var o recoverOptions
	if code, ok := c.parse("recover", recoverDescription, &o); !ok {
		return code
	}
	fail := func(code int, err error) int {
		fmt.Fprintf(c.stderr, "limitsrv recover: %v\n", err)
		return code
	}
	if err := o.check(); err != nil {
		return fail(exitUsage, err)
	}
	if o.SkipEntry > 0 {
		return skipEntry(c, &o)
	}
	options := offline.Options{
		Dir: o.Dir, Raft: o.Raft, Commands: state.Commands,
		Logger: slog.New(slog.NewTextHandler(c.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if o.To == "" || !o.Yes {
		found, err := offline.Inspect(options)
		if err != nil {
			return fail(exitFailure, err)
		}
		fmt.Fprint(c.stdout, remnantText(found, time.Now()))
		if o.To == "" {
			return exitOK
		}
		fmt.Fprintf(c.stdout, "\n%s will become %s, with the state above.\n%s", o.To, o.target(), risks[found.Kind])
		if !c.ask("Continue?") {
			fmt.Fprintln(c.stdout, "Nothing was created.")
			return exitOK
		}
	}
	found, err := offline.Recover(options, o.To)
	if err != nil {
		return fail(exitFailure, err)
	}
	if o.Yes {
		fmt.Fprint(c.stdout, remnantText(found, time.Now()))
	}
	fmt.Fprintln(c.stdout, o.next())
	return exitOK
}

// check returns an error that names the missing options.
func (o *recoverOptions) check() error {
	chosen := o.Raft != "" || o.Single
	switch {
	case o.SkipEntry > 0 && (chosen || o.To != ""):
		return errors.New("--skip-entry changes DIR itself: give it without --to, --raft and --single (see limitsrv " +
			"recover --help)")
	case o.SkipEntry > 0:
		return nil
	case o.To == "" && (chosen || o.Yes):
		return errors.New("--to NEW is missing: the data directory to create (see limitsrv recover --help)")
	case o.To != "" && !chosen:
		return errors.New("give --raft HOST:PORT for the first node of a new cluster, or --single for a single server (see " +
			"limitsrv recover --help)")
	}
	return nil
}

// target describes the owner of the new directory.
func (o *recoverOptions) target() string {
	if o.Single {
		return "the data directory of a single server"
	}
	return "the data directory of the first node of a new cluster, at " + o.Raft
}

// next tells the operator how to start on the new directory.
func (o *recoverOptions) next() string {
	if o.Single {
		return fmt.Sprintf("Done. Start it with --data %s.", o.To)
	}
	return fmt.Sprintf("Done. Start it with --raft %s --data %s, and all other nodes, on empty directories, with --join "+
		"%s.", o.Raft, o.To, o.Raft)
}

// remnantText describes the content of a directory for people.
func remnantText(r offline.Remnant, now time.Time) string {
	last := "none"
	if r.Stamp > 0 {
		last = fmt.Sprintf("%s, %v ago", time.Unix(0, int64(r.Stamp)).UTC().Format(time.RFC3339),
			r.Age(now).Round(time.Second))
	}
	cluster, clustered := r.Cluster, r.Cluster != ""
	if !clustered {
		cluster = "none"
	}
	lines := [][2]string{{"what", remnantKinds[r.Kind]}, {"node", r.Node}, {"cluster", cluster}}
	if r.Kind == offline.OfBackup {
		lines = append(lines, [2]string{"made", r.Taken.UTC().Format(time.RFC3339)})
	}
	if r.Kind == offline.OfMember {
		lines = append(lines, [2]string{"members", strings.Join(r.Servers, ", ")})
	}
	if clustered {
		lines = append(lines, [2]string{"term", fmt.Sprint(r.Term)})
	}
	lines = append(lines, [][2]string{{"last entry", fmt.Sprint(r.LastIndex)}, {"time", last},
		{"keys", fmt.Sprint(r.Keys)}}...)
	if r.Kind != offline.OfBackup {
		lines = append(lines, [2]string{"log", tailText(r)})
	}
	var b strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&b, "%-14s %s\n", line[0]+":", line[1])
	}
	return b.String()
}

// tailText describes the tail of the log.
func tailText(r offline.Remnant) string {
	switch {
	case !r.LostTail:
		return "complete"
	case r.Kind == offline.OfMember:
		return "its tail may be missing: the system went down before the log was synced (--ack memory)"
	}
	return "its tail is torn and dropped: the system went down before it was on disk (see limitsrv check)"
}

var remnantKinds = map[offline.RemnantKind]string{
	offline.OfMember: "a node of a cluster", offline.OfSingle: "a server by itself", offline.OfBackup: "a backup",
}
