package commands

import (
	"strings"
	"testing"

	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/spec/spectest"
	"limitsrv/commands/usage"
)

func TestTableIsComplete(t *testing.T) {
	for _, c := range newRegistry().Specs() {
		forms := 0
		for _, has := range []bool{c.HasOps(), c.Run != nil && c.Subs == nil, c.Subs != nil} {
			if has {
				forms++
			}
		}
		if forms != 1 || c.Op == nil && c.Reply != nil {
			t.Errorf("%s is not one of an op command, a run command, and a container", c.FullName)
		}
		if c.Name != strings.ToUpper(c.Name) || strings.ContainsAny(c.Name, " |") {
			t.Errorf("%s: name %q", c.FullName, c.Name)
		}
		if !strings.HasSuffix(c.Summary, ".") || c.Complexity == "" || c.Since == "" || c.Group == "" {
			t.Errorf("%s: summary %q, complexity %q, since %q, group %q", c.FullName, c.Summary, c.Complexity, c.Since, c.Group)
		}
		if c.Flags&spec.Write != 0 && c.Flags&spec.ReadOnly != 0 {
			t.Errorf("%s: reads only, and writes", c.FullName)
		}
		first := c.Keys.First
		switch {
		case c.Keys.Count > 0:
			first = c.Keys.Count + 1
		case c.Keys.Lead > 0:
			first = c.Keys.Lead
		}
		if line, at := sampleLine(c), keyAt(c); at != first {
			t.Errorf("%s: the first key is argument %d of %q, the table says %d", c.FullName, at, line, first)
		}
	}
}

// sampleLine returns a shortest valid line of a command.
func sampleLine(c *session.Spec) []string {
	return append(strings.Split(c.FullName, "|"), spectest.Words(c.Command, "k")...)
}

// keyAt returns the index of the first argument that is a key; 0: no key.
func keyAt(c *session.Spec) int {
	at := strings.Count(c.FullName, "|") + 1
	flat := flatten(c.Arguments)
	for i, a := range flat {
		if a.Kind == usage.OneOf && i == 0 { // an id, or KEY and a key
			a = a.Args[0]
		}
		if (docType(a) == "key" || i == 0 && a.Name == "id") && a.Kind == usage.Word { // the id of a reservation
			return at + i
		}
	}
	return 0
}

func flatten(args []usage.Arg) (flat []usage.Arg) {
	for _, a := range args {
		if a.Kind == usage.Block && a.Optional {
			break
		}
		if a.Kind == usage.Block {
			flat = append(flat, flatten(a.Args)...)
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
