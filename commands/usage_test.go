package commands

import (
	"fmt"
	"strings"
	"testing"
)

// show formats args on one line: (a b) a block, a/b a choice, ? optional, + repeated.
func show(args []arg) string {
	var all []string
	for _, a := range args {
		text := ""
		switch a.kind {
		case word, pureToken:
			text = a.name
		case oneOf:
			var choices []string
			for _, c := range a.args {
				choices = append(choices, show([]arg{c}))
			}
			text = strings.Join(choices, "/")
		case block:
			text = "(" + show(a.args) + ")"
		}
		if a.token != "" {
			text = a.token + "=" + text
		}
		if a.optional {
			text += "?"
		}
		if a.multiple {
			text += "+"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func TestParseUsage(t *testing.T) {
	for _, tt := range []struct{ usage, want string }{
		{"", " 0 0"},
		{"key", "key 1 1"},
		{"key capacity rate [n] [PARTIAL] [SHADOW]", "key capacity rate n? PARTIAL=partial? SHADOW=shadow? 3 6"},
		{"key [key ...]", "key+ 1 many"},
		{"[section ...]", "section?+ 0 many"},
		{"alg key n [alg key n ...]", "(alg key n)+ 3 many"},
		{"cursor [MATCH pattern] [COUNT count]", "cursor MATCH=pattern? COUNT=count? 1 5"},
		{"[ASYNC|SYNC]", "ASYNC=async/SYNC=sync? 0 1"},
		{"key [TOKENS n]", "key TOKENS=n? 1 3"},
		{"[protover [AUTH username password] [SETNAME clientname]]", "(protover AUTH=(username password)? SETNAME=clientname?)? 0 6"},
		{"[FILTERBY <MODULE name | ACLCAT category>]", "FILTERBY=MODULE=name/ACLCAT=category? 0 3"},
		{"<parameter value ...>", "(parameter value)+ 2 many"},
		{"<ip | <ID id | SKIPME YES|NO ...>>", "ip/ID=id/SKIPME=YES=yes/NO=no+ 1 many"},
		{"[username] password", "username? password 1 2"},
	} {
		args := parseUsage(tt.usage)
		least, most := counts(args)
		count := fmt.Sprint(most)
		if most == unlimited {
			count = "many"
		}
		if got := fmt.Sprintf("%s %d %s", show(args), least, count); got != tt.want {
			t.Errorf("parseUsage(%q)\n got %s\nwant %s", tt.usage, got, tt.want)
		}
	}
}
