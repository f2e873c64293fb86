package main

import (
	"context"
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/cmd/limitsrv/options"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/rules/stored"
	"limitsrv/commands/session"
	"limitsrv/internal/beat"
)

// rulesInterval is the time between two checks of the files of --rules for changes.
const rulesInterval = time.Second

// A rulesFollower loads the files of --rules whenever they change. A node that returns with
// older files must not turn other nodes back, so a text that the state has already had is
// loaded only if it was put in place of the text in use, or with --rules-file-wins.
type rulesFollower struct {
	n *node

	mu     sync.Mutex
	read   [sha256.Size]byte  // digest of the last files, or of the error
	text   *stored.Prepared   // theirs; nil: they have a mistake
	equal  *[sha256.Size]byte // of the last text of theirs that was in use
	logged string             // the last warning, with the digest of its text
	// tries is the number of further failures to load the first rules until no node waits for them
	// any more. 0: no node waits, because rules are in use or all tries have failed.
	tries atomic.Int64
}

// After firstTries failures to load the first rules, one per rulesInterval, the nodes of a cluster
// count as ready without them. The first tries may fail because the versions of the nodes are not
// known yet.
const firstTries = 10

// newRulesFollower compiles the files of --rules.
func newRulesFollower(n *node) (*rulesFollower, error) {
	if _, leftOut, _ := options.RuleFiles(n.Rules); len(leftOut) > 0 {
		n.log.Warn("the directory of --rules has files that are not read, because their names end in neither .yaml nor .yml",
			"files", leftOut)
	}
	all, err := n.ReadRules()
	r := &rulesFollower{n: n, read: digestOf(all, err)}
	if err == nil {
		r.text, err = options.PrepareRules(all)
	}
	if n.Rules != "" {
		r.tries.Store(firstTries)
	}
	return r, err
}

// areAwaited reports whether this node, if it leads, must still load its first rules.
func (r *rulesFollower) areAwaited() bool { return r.tries.Load() > 0 }

// followRules loads the files of --rules until stop is called. On a node that is alone they
// are loaded when it returns.
func (n *node) followRules() (stop func()) {
	if n.Rules == "" {
		return func() {}
	}
	n.handler.Config().Rules.Offer(n.ruleFiles.text)
	n.ruleFiles.check(context.Background())
	return beat.Start(func(ctx context.Context) {
		beat.Every(ctx, rulesInterval, func() { n.ruleFiles.check(ctx) })
	})
}

// check reads the files, and loads them if they are to be loaded. Concurrency: any number of
// goroutines may call it. Cost: the reading, and if they have changed the compilation.
func (r *rulesFollower) check(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, err := r.n.ReadRules()
	if read := digestOf(all, err); read != r.read {
		r.read, r.text = read, nil
		if err == nil {
			r.text, err = options.PrepareRules(all)
		}
		if r.n.handler.SetRulesFile(err); err != nil {
			r.n.log.Error("the files of --rules have a mistake, the rules stay as they are", "error", err)
		} else {
			r.n.handler.Config().Rules.Offer(r.text) // another node may load the same files
		}
	}
	if r.text == nil {
		r.n.handler.SetRulesFileDiffers(false) // they have a mistake, which SetRulesFile tells
	}
	if r.text == nil || r.load(ctx) {
		r.tries.Store(0)
	}
}

// digestOf hashes the contents of files, or the error of reading them.
func digestOf(all []source.File, err error) [sha256.Size]byte {
	h := sha256.New()
	if err != nil {
		h.Write([]byte("error: " + err.Error()))
	}
	for _, f := range all {
		sum := sha256.Sum256(f.Text)
		h.Write(append(sum[:], f.Name...))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// load loads the text of the files. It does nothing if the text is in use or was in use earlier, or
// if another node leads. The load replaces only the version that this decision was based on, so a
// concurrent change of the rules remains. It reports whether rules are in use.
func (r *rulesFollower) load(ctx context.Context) (inUse bool) {
	h := r.n.handler
	current, err := h.CurrentRules(ctx)
	if err != nil {
		r.warn("the files of --rules are not loaded yet", "error", err)
		return false
	}
	inUse = current.Header.Version > 0
	sha := r.text.SHA
	differs := sha != current.Header.SHA
	defer func() { h.SetRulesFileDiffers(differs) }()
	switch {
	case !differs:
		r.equal = &r.text.SHA
		return inUse
	case !h.LoadsRules():
		return inUse
	case !r.n.RulesFileWins && current.Documents.Knows(sha) && (r.equal == nil || *r.equal == sha):
		r.warn("the files of --rules have an earlier version of the rules, which stay as they are; RL.RULES LOAD loads "+
			"any, and with --rules-file-wins the files win", "version", current.Header.Version)
		return inUse
	}
	l := session.RulesLoad{Text: r.text, Expect: int64(current.Header.Version), Note: r.n.Rules, Source: "file"}
	if _, err := h.LoadRules(ctx, l); err != nil {
		r.warn("the files of --rules are not loaded yet", "error", err)
		r.tries.Store(max(0, r.tries.Load()-1))
		return inUse
	}
	r.equal, differs = &r.text.SHA, false
	return true
}

// warn logs a message about the text, unless it was the last message.
func (r *rulesFollower) warn(message string, args ...any) {
	if this := message + string(r.text.SHA[:]); this != r.logged {
		r.logged = this
		r.n.log.Warn(message, args...)
	}
}
