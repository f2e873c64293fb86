package scripts

import (
	"bytes"
	"strings"
	"sync"
	"sync/atomic"

	"limitsrv/engine"
	"limitsrv/lua"
	"limitsrv/lua/syntax"
)

// A Script is a compiled source. It does not change.
type Script struct {
	chunk *lua.Chunk
	// wrong is the error of a text that does not compile.
	wrong    string
	flagged  bool // it begins with a shebang
	noWrites bool // by a flag of it
	uses     uses
}

// chunkName is the name of scripts in errors.
const chunkName = "@user_script"

// Compile compiles the text of a script. wrong is Redis' error if it is not valid. Cost:
// linear.
func Compile(text []byte) (s *Script, wrong string) {
	s = compile(text)
	return s, s.wrong
}

func compile(text []byte) *Script {
	s := &Script{}
	body := text
	if bytes.HasPrefix(text, []byte("#!")) {
		line, _, ended := bytes.Cut(text, []byte("\n"))
		if !ended {
			s.wrong = "ERR Invalid script shebang"
			return s
		}
		s.flagged = true
		if s.noWrites, s.wrong = parseShebang(line); s.wrong != "" {
			return s
		}
		body = text[len(line):]
	}
	chunk, err := lua.Compile(host().env, body, chunkName)
	if err != nil {
		s.wrong = oneLine([]byte("ERR Error compiling script (new function): " + err.Error()))
		return s
	}
	s.chunk = chunk
	if tree, err := syntax.Parse(body, chunkName, 0); err == nil {
		s.uses = usesOf(tree, nil)
	}
	return s
}

// Modes returns the modes with which a script runs by EVAL.
func (s *Script) Modes() Modes {
	return s.uses.modes(s.noWrites)
}

// Names returns the names of the commands that a script calls, in any case and more than once
// each. constant is false if it may call others too.
func (s *Script) Names() (names []string, constant bool) { return s.uses.names, s.uses.constant }

// parseShebang parses the first line of a script, such as #!lua flags=no-writes.
func parseShebang(line []byte) (noWrites bool, wrong string) {
	words := strings.Fields(string(line))
	if bytes.ContainsAny(line, "\"'") {
		return false, "ERR Invalid engine in script shebang"
	}
	if words[0] != "#!lua" {
		return false, "ERR Unexpected engine in script shebang: " + words[0]
	}
	for _, word := range words[1:] {
		list, isFlags := strings.CutPrefix(word, "flags=")
		if !isFlags {
			return false, "ERR Unknown lua shebang option: " + word
		}
		if list == "" {
			continue
		}
		for flag := range strings.SplitSeq(list, ",") {
			switch flag {
			case "no-writes":
				noWrites = true
			case "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys":
			default:
				return false, "ERR Unexpected flag in script shebang: " + flag
			}
		}
	}
	return noWrites, ""
}

// Of returns the compiled form of a source. Cost: a load, unless it has to be compiled.
func Of(source *engine.Source) *Script {
	if s, _ := source.Compiled.Load().(*Script); s != nil {
		return s
	}
	s := compile([]byte(source.Text))
	source.Compiled.Store(s)
	compiled.keep(kept{&source.Compiled, (*Script)(nil), len(source.Text)})
	return s
}

// maxCompiled bounds the text of the sources and documents that are kept compiled, in bytes: a
// compiled byte takes 20 to 150 bytes.
const maxCompiled = 1 << 20

// A keeper keeps the texts compiled last, up to maxCompiled. Concurrency: any number of
// goroutines may use it.
type keeper struct {
	mu    sync.Mutex
	list  []kept
	bytes int
}

// kept is the compiled form of a text.
type kept struct {
	compiled *atomic.Value
	none     any // takes its place when it is dropped
	bytes    int // of the text
}

var compiled keeper

func (k *keeper) keep(one kept) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, one)
	k.bytes += one.bytes
	dropped := 0
	for k.bytes > maxCompiled && dropped < len(k.list)-1 {
		x := &k.list[dropped]
		x.compiled.Store(x.none)
		k.bytes -= x.bytes
		dropped++
	}
	n := copy(k.list, k.list[dropped:])
	clear(k.list[n:])
	k.list = k.list[:n]
}
