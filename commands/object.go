package commands

import (
	"fmt"
	"strconv"

	"limitsrv/commands/datatypes"
	"limitsrv/commands/limiters"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

var (
	errIdle = resp.NewError("ERR", "idle time is not tracked")
	errFreq = resp.NewError("ERR", "An LFU maxmemory policy is not selected, access frequency not tracked. Please note "+
		"that when switching between policies at runtime LRU and LFU data will take some time to adjust.")
)

var object = spec.Command{
	Name: "OBJECT", Summary: "Commands about the contents of a key.",
	Complexity: "See its subcommands", Since: "2.2.3", Group: "generic",
	Body: &spec.Container{Sub: []spec.Command{
		{
			Name: "ENCODING", Args: "key",
			Summary:    "Returns the form of the contents of a key, or the algorithm of a limit in lower case.",
			Complexity: "O(1)", Since: "2.2.3", Group: "generic", Flags: spec.ReadOnly,
			Keys: spec.Keys{First: 2, Last: 2, Step: 1},
			Body: &spec.Ops{Parse: func(b *engine.Batch, args [][]byte) error {
				datatypes.Find(args[0]).SetCall(b.AddCall(0), args[1:])
				return nil
			}},
		},
		objectSub("FREQ", "Rejected: frequency is not tracked.", func(w *resp.Writer, _ engine.Alg) { w.Error(errFreq) }),
		objectSub("IDLETIME", "Rejected: idle time is not tracked.", func(w *resp.Writer, _ engine.Alg) { w.Error(errIdle) }),
		objectSub("REFCOUNT", "Returns 1 for a key that exists.", func(w *resp.Writer, _ engine.Alg) { w.Int(1) }),
	}},
}

// objectSub makes a subcommand of OBJECT; all answer nil for a missing key.
func objectSub(name, summary string, found func(*resp.Writer, engine.Alg)) spec.Command {
	return spec.Command{
		Name: name, Args: "key", Summary: summary, Complexity: "O(1)", Since: "2.2.3", Group: "generic",
		Flags: spec.ReadOnly, Keys: spec.Keys{First: 2, Last: 2, Step: 1},
		Body: &spec.Ops{Parse: func(b *engine.Batch, args [][]byte) error { return peekEach(b, args[1:]) },
			Reply: func(w *resp.Writer, _ []engine.Op, ds []engine.Decision) {
				if ds[0].Status != engine.OK {
					w.Null()
					return
				}
				found(w, ds[0].Params.Alg)
			}},
	}
}

var peekEach = eachKey(engine.Peek)

var memory = spec.Command{
	Name: "MEMORY", Summary: "Commands about memory.",
	Complexity: "See its subcommands", Since: "4.0.0", Group: "server",
	Body: &spec.Container{Sub: []spec.Command{
		{
			Name: "DOCTOR", Summary: "Describes the use of memory in words.",
			Complexity: "O(1)", Since: "4.0.0", Group: "server", Front: spec.FrontCounts,
			Body: session.Run(func(s *session.Session, w *resp.Writer, _ [][]byte) {
				k := s.Handler().Engine().Stats()
				w.Verbatim(fmt.Sprintf("%d keys take %d bytes; the process has obtained %d bytes from the system.\n", k.Keys,
					k.MemoryBytes, readMemory().resident))
			}),
		},
		{
			Name: "STATS", Summary: "Describes the use of memory in numbers.",
			Complexity: "O(1)", Since: "4.0.0", Group: "server", Front: spec.FrontCounts,
			Body: session.Run(runMemoryStats),
		},
		{
			Name: "USAGE", Args: "key [SAMPLES count]",
			Summary:    "Returns the memory of a key in bytes; nil if there is no such key.",
			Complexity: "O(1)", Since: "4.0.0", Group: "server", Flags: spec.ReadOnly,
			Keys:  spec.Keys{First: 2, Last: 2, Step: 1},
			Fresh: session.Always, Front: spec.FrontAsks,
			Body: session.Run(runMemoryUsage),
		},
	}},
}

func runMemoryUsage(s *session.Session, w *resp.Writer, args [][]byte) {
	if len(args) > 3 && (len(args) != 5 || !word.Is(args[3], "SAMPLES")) {
		w.Error(errSyntax)
		return
	}
	if len(args) == 5 {
		if n, err := strconv.ParseInt(string(args[4]), 10, 64); err != nil {
			w.Error(errNotInt)
			return
		} else if n < 0 {
			w.Error(errSyntax)
			return
		}
	}
	if err := limiters.ParseKey(args[2]); err != nil {
		w.Error(err)
		return
	}
	size := s.Handler().Engine().KeyBytes(s.Handler().Now(), s.DB(), args[2])
	if size == 0 {
		w.Null()
		return
	}
	w.Int(size)
}

func runMemoryStats(s *session.Session, w *resp.Writer, _ [][]byte) {
	k, m := s.Handler().Engine().Stats(), readMemory()
	perKey := int64(0)
	if k.Keys > 0 {
		perKey = k.MemoryBytes / k.Keys
	}
	fields := []struct {
		name  string
		value int64
	}{
		{"total.allocated", m.used},
		{"resident", m.resident},
		{"keys.count", k.Keys},
		{"keys.bytes-per-key", perKey},
		{"dataset.bytes", k.MemoryBytes},
	}
	w.Map(len(fields))
	for _, f := range fields {
		w.BulkString(f.name)
		w.Int(f.value)
	}
}
