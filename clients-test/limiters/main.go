// Command limiters runs published limiter libraries against redis-server and limitsrv, and
// compares their transcripts. README.md has the contract of a folder of libraries.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Timeouts with a margin of several times for a busy machine.
const (
	buildTimeout   = 15 * time.Minute
	installTimeout = 30 * time.Minute
	runTimeout     = 60 * time.Second
)

const catalogue = "libraries.txt"

func main() {
	only := flag.String("only", "", "comma-separated languages or libraries to run (default all)")
	against := flag.String("against", "",
		"server program compared with redis-server: a limitsrv, or redis-server itself (default: a fresh build of limitsrv)")
	front := flag.Bool("front", false,
		"send all requests to a front of limitsrv, before a node of a cluster of one")
	times := flag.Int("times", 1, "runs of each library")
	atOnce := flag.Int("at-once", 6, "libraries that run concurrently")
	scripts := flag.String("scripts", "", "directory for the Lua scripts that the libraries send")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of the random calls of the libraries' scripts")
	document := flag.String("document", "", "Markdown file to check against the results; -rewrite updates it")
	rewrite := flag.Bool("rewrite", false, "write the table of -document")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := options{*only, *against, *front, *times, *atOnce, *scripts, *seed, *document, *rewrite}
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	only, against string
	front         bool
	times, atOnce int
	scripts       string
	seed          uint64
	document      string
	rewrite       bool
}

func run(ctx context.Context, o options) error {
	began := time.Now()
	c, err := readCatalogue(catalogue)
	if err != nil {
		return err
	}
	chosen, err := choose(c.libraries, o.only)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "limitsrv-limiters-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	if o.front && filepath.Base(o.against) == redisServer {
		return errors.New("-front: redis-server has no fronts")
	}
	if o.against == "" {
		o.against = filepath.Join(scratch, "limitsrv")
		if err := command(ctx, buildTimeout, "../..", "go", "build", "-o", o.against, "./cmd/limitsrv"); err != nil {
			return err
		}
	}
	if o.scripts == "" {
		o.scripts = filepath.Join(scratch, "scripts")
	}
	if err := install(ctx, chosen); err != nil {
		return err
	}
	judge := judge{against: program{o.against, o.front}, all: filepath.Base(o.against) == redisServer,
		supported: c.supported, scripts: o.scripts, folder: scratch}
	results := runAll(ctx, chosen, judge, o)
	fmt.Print(table(results))
	failed := countFailed(results)
	fmt.Printf("%d passed, %d failed, %d skipped\n%d s\n", len(results)-failed-countSkipped(results), failed,
		countSkipped(results), int(time.Since(began).Seconds()))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	compared, err := compareRandomly(ctx, chosen, judge.against, o.scripts, scratch, o.seed)
	fmt.Printf("random calls of the scripts of %d libraries, -seed %d\n%d s\n", compared, o.seed,
		int(time.Since(began).Seconds()))
	switch {
	case failed > 0:
		return errors.Join(err, fmt.Errorf("%d libraries failed", failed))
	case err != nil:
		return err
	case o.only == "" && compared < fewestScripted:
		return fmt.Errorf("%d libraries have sent scripts, want at least %d", compared, fewestScripted)
	case o.document != "" && o.only == "":
		return checkDocument(o.document, markdown(results, c.absent), o.rewrite)
	}
	return nil
}

// choose returns the libraries with one of the names or languages.
func choose(all []library, only string) ([]library, error) {
	if only == "" {
		return all, nil
	}
	var chosen []library
	for word := range strings.SplitSeq(only, ",") {
		matches := slices.DeleteFunc(slices.Clone(all), func(l library) bool { return l.name != word && l.language != word })
		if len(matches) == 0 {
			return nil, fmt.Errorf("-only: %s has no library or language %q", catalogue, word)
		}
		chosen = append(chosen, matches...)
	}
	return chosen, nil
}

// install installs the libraries of each language, sequentially because package managers
// hold locks.
func install(ctx context.Context, libraries []library) error {
	var done []string
	for _, l := range libraries {
		if slices.Contains(done, l.language) {
			continue
		}
		done = append(done, l.language)
		began := time.Now()
		if err := command(ctx, installTimeout, l.language, "./install"); err != nil {
			return fmt.Errorf("install the libraries of %s: %w", l.language, err)
		}
		fmt.Printf("installed %s, %.1f s\n", l.language, time.Since(began).Seconds())
	}
	return nil
}

// command runs a program in a folder, and returns its output as an error if it fails.
func command(ctx context.Context, timeout time.Duration, folder string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Dir = folder
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// runAll runs the libraries concurrently, and prints the result of each when it is done.
func runAll(ctx context.Context, libraries []library, j judge, o options) []result {
	results := make([]result, len(libraries))
	var (
		done  sync.WaitGroup
		slots = make(chan struct{}, o.atOnce)
	)
	for i, l := range libraries {
		done.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			for range o.times {
				results[i] = j.run(ctx, l)
				if results[i].failed {
					break
				}
			}
			fmt.Println(results[i].line())
		})
	}
	done.Wait()
	return results
}

func countFailed(results []result) (n int) {
	for _, r := range results {
		if r.failed {
			n++
		}
	}
	return n
}

func countSkipped(results []result) (n int) {
	for _, r := range results {
		if r.skipped {
			n++
		}
	}
	return n
}
