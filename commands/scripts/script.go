package scripts

import (
	"bytes"
	"crypto/sha1"
	"strings"

	"limitsrv/commands/scripts/lua"
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

// Compile compiles the text of a script. wrong is Redis' error if the text is invalid. Cost: linear
// in the text, see CompileSteps.
func Compile(text []byte) (s *Script, wrong string) {
	s = compile(text)
	if s.wrong == "" && len(text) >= leastFresh {
		compiled.keepFresh(sha1.Sum(text), s)
	}
	return s, s.wrong
}

// size returns an estimate of the memory of a script with a text of this length, in bytes.
func (s *Script) size(text int) int {
	if s.chunk == nil {
		return text
	}
	return s.chunk.Size()
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
	chunk, tree, err := lua.CompileWithin(host().env, host().env, body, chunkName)
	if err != nil {
		s.wrong = oneLine([]byte("ERR Error compiling script (new function): " + err.Error()))
		return s
	}
	s.chunk = chunk
	s.uses = usesOf(tree, nil, newest)
	return s
}

// Modes returns the modes of a script that runs by EVAL.
func (s *Script) Modes() Modes {
	return s.uses.modes(s.noWrites)
}

// Names returns the names of the commands that a script calls, in any case and more than once
// each. constant is false if it may call other commands too.
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
