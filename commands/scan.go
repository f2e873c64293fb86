package commands

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"limitsrv/commands/backend"
	"limitsrv/commands/glob"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

const (
	// defaultScan and maxScan are the default and the maximum of SCAN's COUNT: keys
	// visited by one call.
	defaultScan = 10
	maxScan     = 10_000
	// scanPages is the number of pages of the table that a SCAN may read even if its
	// COUNT is less: it finds all keys of a small database.
	scanPages = 100
	// maxScanWork bounds the pattern matching of a SCAN with any COUNT. The unit is a step of
	// glob.Pattern.Work; this many steps take about 2 ms.
	maxScanWork = 1 << 20
	// maxKeys and maxKeysBytes bound the keys in a reply of KEYS, in number and in bytes.
	maxKeys      = 100_000
	maxKeysBytes = engine.MaxAnswerBytes - maxKeys*len("$1024\r\n\r\n")
	// keysAtOnce bounds the work of a KEYS that runs at once, in the unit of maxScanWork; keyWork is
	// its work for each key besides the pattern. With more work KEYS waits for a turn. A transaction
	// can not wait, so there KEYS fails with more than keysInExec.
	keysAtOnce = maxScanWork
	keysInExec = 4 * maxScanWork
	keyWork    = 32
)

var (
	errCursor     = resp.NewError("ERR", "invalid cursor")
	errPattern    = resp.NewError("ERR", fmt.Sprintf("a pattern is at most %d bytes long", glob.MaxBytes))
	errManyKeys   = resp.NewError("ERR", fmt.Sprintf("KEYS answers at most %d keys: use SCAN", maxKeys))
	errKeysInExec = resp.NewError("ERR", fmt.Sprintf("KEYS in a transaction needs a server with at most about %d short "+
		"keys: use SCAN", keysInExec/(2*keyWork)))
	errLongKeys = resp.NewError("ERR",
		fmt.Sprintf("KEYS answers keys of at most %d bytes together: use SCAN", maxKeysBytes))
)

var dbSize = spec.Command{
	Name: "DBSIZE", Summary: "Returns the number of keys of the selected database.",
	Complexity: "O(1)", Since: "1.0.0", Group: "server", Flags: spec.ReadOnly | spec.Fast,
	Fresh: session.Always,
	Body: session.Run(func(s *session.Session, w *resp.Writer, _ [][]byte) {
		keys, _ := s.Handler().Engine().KeysIn()
		w.Int(keys[s.DB()])
	}),
}

var scan = spec.Command{
	Name: "SCAN", Args: "cursor [MATCH pattern] [COUNT count] [TYPE type]", Summary: "Iterates over the keys of the " +
		"selected database in steps; TYPE is an algorithm, or a type of value such as hash.",
	Complexity: "O(1) for each key visited", Since: "2.8.0", Group: "generic", Flags: spec.ReadOnly | spec.AllKeys,
	Long:  2,
	Fresh: session.Always, Front: spec.FrontAsks,
	Body: session.Run(func(s *session.Session, w *resp.Writer, args [][]byte) {
		from, err := strconv.ParseUint(string(args[1]), 10, 64)
		if err != nil {
			w.Error(errCursor)
			return
		}
		o, wrong := parseScan(args[2:])
		if wrong != nil {
			w.Error(wrong)
			return
		}
		var (
			found  keyList
			now    = s.Handler().Now()
			looked = 0
			pages  = max(o.count, scanPages)
			work   = 0
		)
		for next := uint64(1); next != 0 && looked < o.count && pages > 0 && work < maxScanWork; from = next {
			pages--
			next, err = s.Handler().Engine().Scan(now, s.DB(), from, 1, func(key []byte, alg engine.Alg) {
				looked++
				if o.match != nil {
					work += o.match.Work(len(key))
				}
				if o.wants(key, alg) {
					found.add(key)
				}
			})
			if err != nil {
				w.Error(resp.Expose(err))
				return
			}
		}
		w.Array(2)
		w.BulkString(strconv.FormatUint(from, 10))
		found.reply(w)
	}),
}

// asked makes a front have another node answer a command.
func asked(c spec.Command) spec.Command {
	c.Front = spec.FrontAsks
	return c
}

// fresh makes a command wait for the state that all nodes share, see spec.Command.Fresh.
func fresh(c spec.Command) spec.Command {
	c.Fresh = session.Always
	return c
}

// scanOptions are the number of keys to visit and the filters of the reply.
type scanOptions struct {
	match *glob.Matcher // nil: any key
	kind  []byte        // nil: any type
	count int
}

func (o *scanOptions) wants(key []byte, alg engine.Alg) bool {
	return (o.match == nil || o.match.Match(key)) && (o.kind == nil || word.Is(o.kind, alg.String()))
}

// parseScan parses pairs of an option and its value. A COUNT above maxScan is clamped: it
// is a hint.
func parseScan(args [][]byte) (scanOptions, error) {
	o := scanOptions{count: defaultScan}
	if len(args)%2 != 0 {
		return o, errSyntax
	}
	for ; len(args) > 0; args = args[2:] {
		switch {
		case word.Is(args[0], "MATCH"):
			if len(args[1]) > glob.MaxBytes {
				return o, errPattern
			}
			o.match = glob.NewMatcher(args[1], glob.SameCase)
		case word.Is(args[0], "TYPE"):
			o.kind = args[1]
		case word.Is(args[0], "COUNT"):
			n, err := strconv.ParseInt(string(args[1]), 10, 64)
			if err != nil {
				return o, errNotInt
			}
			if n < 1 {
				return o, errSyntax
			}
			o.count = int(min(n, maxScan))
		default:
			return o, errSyntax
		}
	}
	return o, nil
}

var keys = spec.Command{
	Name: "KEYS", Args: "pattern",
	Summary:    fmt.Sprintf("Returns all keys that match a pattern, if they are at most %d.", maxKeys),
	Complexity: "O(N), N being the keys", Since: "1.0.0", Group: "generic", Flags: spec.ReadOnly | spec.AllKeys, Long: 2,
	Fresh: session.Always, Front: spec.FrontAsks,
	Body: session.Run(func(s *session.Session, w *resp.Writer, args [][]byte) {
		if len(args[1]) > glob.MaxBytes {
			w.Error(errPattern)
			return
		}
		h := s.Handler()
		l := &keyListing{state: h.Engine(), now: h.Now(), db: s.DB(),
			pattern: glob.NewMatcher(slices.Clone(args[1]), glob.SameCase)}
		most := keysAtOnce
		if s.InExec() {
			most = keysInExec
		}
		switch {
		case l.list(most):
			l.found.replyAll(w)
		case s.InExec():
			w.Error(errKeysInExec)
		default:
			s.Defer(func(done func(error)) (func(), error) {
				h.TakeTurn(func() { l.list(math.MaxInt) }, done)
				return nil, nil
			}, l.found.replyAll)
		}
	}),
}

// A keyListing is a KEYS in progress.
type keyListing struct {
	state   backend.State
	now     engine.Instant
	db      uint8
	pattern *glob.Matcher
	cursor  uint64
	found   keyList
}

// list adds the matching keys from the cursor on. It stops with more than most work, and when the
// list is long. It reports whether the list is complete or long.
func (l *keyListing) list(most int) (ended bool) {
	for work := 0; work <= most; {
		l.cursor, l.found.err = l.state.Scan(l.now, l.db, l.cursor, scanPages, func(key []byte, _ engine.Alg) {
			work += keyWork + l.pattern.Work(len(key))
			if !l.found.isLong() && l.pattern.Match(key) {
				l.found.add(key)
			}
		})
		work += scanPages // of other databases
		if l.cursor == 0 || l.found.err != nil || l.found.isLong() {
			return true
		}
	}
	return false
}

// replyAll writes the reply of KEYS.
func (l *keyList) replyAll(w *resp.Writer) {
	switch {
	case l.err != nil:
		w.Error(resp.Expose(l.err))
	case len(l.ends) > maxKeys:
		w.Error(errManyKeys)
	case l.isLong():
		w.Error(errLongKeys)
	default:
		l.reply(w)
	}
}

// randomPages bounds the pages that RANDOMKEY visits to find a live key.
const randomPages = 1000

var randomKey = spec.Command{
	Name: "RANDOMKEY", Summary: "Returns a random key, or nil if there is no key.",
	Complexity: "O(1)", Since: "1.0.0", Group: "generic", Flags: spec.ReadOnly | spec.AllKeys,
	Fresh: session.Always, Front: spec.FrontAsks,
	Body: session.Run(func(s *session.Session, w *resp.Writer, _ [][]byte) {
		var found keyList
		now := s.Handler().Now()
		cursor := rand.Uint64()
		for range randomPages {
			cursor, found.err = s.Handler().Engine().Scan(now, s.DB(), cursor, 1,
				func(key []byte, _ engine.Alg) { found.add(key) })
			if found.err != nil {
				w.Error(resp.Expose(found.err))
				return
			}
			if len(found.ends) > 0 {
				w.Bulk(found.key(rand.IntN(len(found.ends))))
				return
			}
		}
		w.Null()
	}),
}

// A keyList holds copies of keys in the same buffer.
type keyList struct {
	err   error // the keys are not complete
	bytes []byte
	ends  []int
}

func (l *keyList) add(key []byte) {
	l.bytes = append(l.bytes, key...)
	l.ends = append(l.ends, len(l.bytes))
}

// isLong reports whether the list exceeds the bounds of a reply of KEYS.
func (l *keyList) isLong() bool { return len(l.ends) > maxKeys || len(l.bytes) > maxKeysBytes }

func (l *keyList) key(i int) []byte {
	if i == 0 {
		return l.bytes[:l.ends[0]]
	}
	return l.bytes[l.ends[i-1]:l.ends[i]]
}

// reply writes the keys as an array.
func (l *keyList) reply(w *resp.Writer) {
	w.Array(len(l.ends))
	for i := range l.ends {
		w.Bulk(l.key(i))
	}
}
