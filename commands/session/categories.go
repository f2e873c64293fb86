package session

import (
	"limitsrv/commands/auth/users"
	"limitsrv/commands/spec"
)

// Everyone is the category of the commands that any user may send.
const Everyone = "everyone"

// Categories returns the ACL categories of a command, derived from its flags and group.
// Some of them are groups of users.
func (c *Spec) Categories() (all []string) {
	limits := c.Flags&spec.Plain == 0
	for _, has := range []struct {
		name string
		ok   bool
	}{
		{"write", c.Flags&spec.Write != 0 && c.Flags&spec.Rules == 0},
		{"read", c.Flags&spec.ReadOnly != 0 && c.Flags&spec.Rules == 0 && c.Group != "scripting"},
		{Everyone, c.needsNoGroup()},
		{"admin", c.Flags&(spec.Admin|spec.Forgets) != 0 || c.Flags&spec.Runs != 0 && c.Uses == nil},
		{"peek", limits && c.Flags&(spec.ReadOnly|spec.AllKeys) != 0 &&
			c.Flags&(spec.Admin|spec.Forgets|spec.Reaches|spec.Runs|spec.Rules) == 0},
		{"decide", limits && c.Flags&spec.Write != 0 && c.Flags&(spec.Forgets|spec.Rules) == 0},
		{"rules", c.Flags&spec.Rules != 0 || c.Group == "rules" && c.Flags&spec.ReadOnly != 0},
		{"dangerous", c.dangerous()},
		{"fast", c.Flags&spec.Fast != 0},
		{"slow", c.Flags&spec.Fast == 0},
		{"blocking", c.Flags&spec.Blocking != 0},
		{"keyspace", c.Group == "generic"},
		{"pubsub", c.Group == "pubsub"},
		{"connection", c.Group == "connection"},
		{"transaction", c.Group == "transactions"},
		{"sortedset", c.Group == "sorted-set"},
		{"scripting", c.Group == "scripting"},
		{c.Group, c.Group != "" && !otherwiseNamed[c.Group]},
	} {
		if has.ok {
			all = append(all, has.name)
		}
	}
	return all
}

// otherwiseNamed are the groups of commands that are not categories of the same name.
var otherwiseNamed = map[string]bool{
	"generic": true, "connection": true, "transactions": true, "server": true, "cluster": true, "scripting": true,
	"pubsub": true, "sorted-set": true, "rules": true,
}

// needsNoGroup reports whether any user may send a command. That holds for commands that
// neither read nor write keys nor administer, such as INFO, ROLE and CLUSTER SLOTS: client
// libraries send them on their own, and some do not continue after an error.
func (c *Spec) needsNoGroup() bool {
	return c.Flags&(spec.Write|spec.ReadOnly|spec.Admin|spec.Forgets|spec.Reaches|spec.Runs|spec.AllKeys|spec.Plain) == 0
}

// dangerous reports whether a command administers, or deletes keys without naming them.
func (c *Spec) dangerous() bool {
	return c.Flags&spec.Admin != 0 || c.Flags&spec.Forgets != 0 && c.Flags&spec.AllKeys != 0
}

// needsOf returns the groups that permit a command: a user must have at least one of them. 0: a
// user needs no group.
func (c *Spec) needsOf() (groups users.Groups) {
	switch {
	case c.needsNoGroup():
		return 0
	case c.Uses != nil:
		return users.GroupOf("scripting") | users.Admin
	case c.Flags&spec.Rules != 0:
		return users.GroupOf("rules") | users.Admin
	case c.Flags&spec.Reaches != 0:
		return users.GroupOf("pubsub") | users.Admin
	case c.dangerous() || c.Flags&spec.Runs != 0:
		return users.Admin
	}
	for _, name := range c.Categories() {
		groups |= users.GroupOf(name)
	}
	return groups | users.Admin
}
