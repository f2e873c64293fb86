package usage

import (
	"fmt"
	"strings"
	"testing"
)

// show formats args on a line: (a b) a block, a/b a choice, ? optional, + repeated.
func show(args []Arg) string {
	var all []string
	for _, a := range args {
		text := ""
		switch a.Kind {
		case Word, PureToken:
			text = a.Name
		case OneOf:
			var choices []string
			for _, c := range a.Args {
				choices = append(choices, show([]Arg{c}))
			}
			text = strings.Join(choices, "/")
		case Block:
			text = "(" + show(a.Args) + ")"
		}
		if a.Token != "" {
			text = a.Token + "=" + text
		}
		if a.Optional {
			text += "?"
		}
		if a.Multiple {
			text += "+"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func TestParse(t *testing.T) {
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
		{"[protover [AUTH username password] [SETNAME clientname]]",
			"(protover AUTH=(username password)? SETNAME=clientname?)? 0 6"},
		{"[FILTERBY <MODULE name | ACLCAT category>]", "FILTERBY=MODULE=name/ACLCAT=category? 0 3"},
		{"<parameter value ...>", "(parameter value)+ 2 many"},
		{"<ip | <ID id | SKIPME YES|NO ...>>", "ip/ID=id/SKIPME=YES=yes/NO=no+ 1 many"},
		{"[username] password", "username? password 1 2"},
	} {
		args := Parse(tt.usage)
		least, most := Counts(args)
		count := fmt.Sprint(most)
		if most == Unlimited {
			count = "many"
		}
		if got := fmt.Sprintf("%s %d %s", show(args), least, count); got != tt.want {
			t.Errorf("Parse(%q)\n got %s\nwant %s", tt.usage, got, tt.want)
		}
	}
}
