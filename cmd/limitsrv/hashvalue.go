package main

import (
	"fmt"

	"limitsrv/commands/rules"
	"limitsrv/commands/session"
)

// hashValueOptions are the options of the tool hash-value.
type hashValueOptions struct {
	Values []string `arg:"" name:"value" help:"Value of an attribute."`
}

const hashValueDescription = `Prints, for each value of an attribute, the hash that the log of the server has instead of it, and
the value. An address has the hash of its canonical form, which the log has.`

func runHashValue(c call) int {
	var o hashValueOptions
	if code, ok := c.parse("hash-value", hashValueDescription, &o); !ok {
		return code
	}
	for _, v := range o.Values {
		if a, ok := rules.ParseAddress([]byte(v)); ok {
			v = a.String()
		}
		fmt.Fprintf(c.stdout, "%s %s\n", session.HashOfValue(v), v)
	}
	return exitOK
}
