package commands

import (
	"strings"
	"testing"
)

func TestTableIsComplete(t *testing.T) {
	for _, c := range newRegistry(table).allSpecs() {
		forms := 0
		for _, has := range []bool{c.Op != nil, c.Run != nil && c.Sub == nil, c.Sub != nil} {
			if has {
				forms++
			}
		}
		if forms != 1 || (c.Op != nil) != (c.Reply != nil) {
			t.Errorf("%s is not one of an op command, a run command, and a container", c.name)
		}
		if c.Name != strings.ToUpper(c.Name) || strings.ContainsAny(c.Name, " |") {
			t.Errorf("%s: name %q", c.name, c.Name)
		}
		if !strings.HasSuffix(c.Summary, ".") || c.Complexity == "" || c.Since == "" || c.Group == "" {
			t.Errorf("%s: summary %q, complexity %q, since %q, group %q", c.name, c.Summary, c.Complexity, c.Since, c.Group)
		}
		if c.Flags&Write != 0 && c.Flags&ReadOnly != 0 {
			t.Errorf("%s: reads only, and writes", c.name)
		}
		if line, at := sampleLine(c), c.keyAt(); at != c.Keys.First {
			t.Errorf("%s: the first key is argument %d of %q, the table says %d", c.name, at, line, c.Keys.First)
		}
	}
}

// goodWords are valid words for the arguments of that name.
var goodWords = map[string]string{
	"key": "k", "cursor": "0", "index": "0", "numreplicas": "0", "timeout": "0", "duration": "1", "client-id": "1",
	"ip:port": "1.2.3.4:5", "command": "PING",
	"backup-name": "daily-1",
}

// sampleLine returns a shortest valid line of a command.
func sampleLine(c *spec) []string {
	line := strings.Split(c.name, "|")
	var add func([]arg)
	add = func(args []arg) {
		for _, a := range args {
			if a.optional {
				continue
			}
			if a.token != "" {
				line = append(line, a.token)
			}
			switch a.kind {
			case word:
				line = append(line, sampleOf(a.name))
			case oneOf:
				add(a.args[:1])
			case block:
				add(a.args)
			}
		}
	}
	add(c.args)
	return line
}

func sampleOf(name string) string {
	if s := goodWords[name]; s != "" {
		return s
	}
	return "word"
}

// keyAt returns the index of the first argument that is a key; 0: no key.
func (c *spec) keyAt() int {
	at := strings.Count(c.name, "|") + 1
	flat := flatten(c.args)
	for i, a := range flat {
		if a.name == "key" && a.kind == word {
			return at + i
		}
	}
	return 0
}

func flatten(args []arg) (flat []arg) {
	for _, a := range args {
		if a.kind == block {
			flat = append(flat, flatten(a.args)...)
			continue
		}
		flat = append(flat, a)
	}
	return flat
}

func bytesOf(line []string) [][]byte {
	args := make([][]byte, len(line))
	for i, w := range line {
		args[i] = []byte(w)
	}
	return args
}
