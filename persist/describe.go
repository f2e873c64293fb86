package persist

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"limitsrv/engine"
)

// Bounds of the description of an entry.
const (
	describedOps    = 8
	describedScript = 80 // bytes of the text of a script
	describedName   = 64 // bytes of the name of a function
)

// Describe describes an entry of the log in a line for an operator: its time, its ops, and the
// scripts that it runs. It shows no keys and no arguments, because these may be secret. source
// returns the text of a script by its SHA-1 in hexadecimal, or "" if it is unknown; nil: all are
// unknown. If an entry can't be read completely, the description ends with the reason.
func Describe(data []byte, commands engine.Commands, source func(name []byte) string) string {
	d := describer{commands: commands, source: source, learned: make(map[string]string)}
	decoder := Decoder{Commands: commands}
	err := decoder.Decode(data, func(stamp engine.Instant, b *engine.Batch) error {
		if d.ops == 0 {
			d.text.WriteString(time.Unix(0, int64(stamp)).UTC().Format(time.RFC3339Nano) + ":")
		}
		for i := range b.Ops {
			d.op(b, &b.Ops[i])
		}
		return nil
	})
	if d.ops > describedOps {
		fmt.Fprintf(&d.text, ", and %d more", d.ops-describedOps)
	}
	fmt.Fprintf(&d.text, " (%d bytes)", len(data))
	if err != nil {
		fmt.Fprintf(&d.text, "; the rest can't be read: %v", err)
	}
	return strings.TrimSpace(d.text.String())
}

// DescribeIn is Describe with the commands and the sources of an engine.
func DescribeIn(e *engine.Engine, data []byte) string {
	return Describe(data, e.Commands(), func(name []byte) string {
		if s := e.SourceNamed(name); s != nil {
			return s.Text
		}
		return ""
	})
}

// A describer writes the description of an entry.
type describer struct {
	commands engine.Commands
	source   func(name []byte) string
	learned  map[string]string // texts of sources in the entry, by SHA-1
	text     strings.Builder
	ops      int
}

func (d *describer) op(b *engine.Batch, op *engine.Op) {
	if op.Kind == engine.Learn && len(op.ID) > 0 {
		sum := sha1.Sum(op.ID)
		d.learned[hex.EncodeToString(sum[:])] = string(op.ID)
	}
	if d.ops++; d.ops > describedOps {
		return
	}
	if d.ops > 1 {
		d.text.WriteByte(',')
	}
	d.text.WriteByte(' ')
	switch {
	case op.Kind == engine.Do:
		d.call(b.CallOf(op))
	case op.Params != engine.Params{}:
		fmt.Fprintf(&d.text, "%s of %s", strings.ToLower(op.Kind.String()), op.Params.Alg)
	default:
		d.text.WriteString(strings.ToLower(op.Kind.String()))
	}
}

func (d *describer) call(c *engine.Call) {
	name, script := fmt.Sprint("command ", c.Command), []byte(nil)
	if x, ok := d.commands.(engine.Describer); ok {
		name, script = x.Describe(c)
	}
	keys, _ := d.commands.Keys(c, nil)
	bytes := 0
	for _, arg := range c.Args {
		bytes += len(arg)
	}
	fmt.Fprintf(&d.text, "%s with %d keys, %d words of %d bytes", name, len(keys), len(c.Args), bytes)
	if script == nil {
		return
	}
	fmt.Fprintf(&d.text, ", script %.*q", describedName, script)
	text, ok := d.learned[strings.ToLower(string(script))]
	if !ok && d.source != nil {
		text = d.source(script)
	}
	if text != "" {
		fmt.Fprintf(&d.text, " that begins with %q", text[:min(len(text), describedScript)])
	}
}
