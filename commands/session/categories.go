package session

import "limitsrv/commands/auth/users"

// Everyone is the category of the commands that any user may send.
const Everyone = "everyone"

// Categories returns the ACL categories of a command, derived from its flags and group.
// Some of them are groups of users.
func (c *Command) Categories() (all []string) {
	limits := c.Flags&Plain == 0
	for _, has := range []struct {
		name string
		ok   bool
	}{
		{"write", c.Flags&Write != 0 && c.Flags&Rules == 0},
		{"read", c.Flags&ReadOnly != 0 && c.Flags&Rules == 0 && c.Group != "scripting"},
		{Everyone, c.needsNoGroup()},
		{"admin", c.Flags&(Admin|Forgets) != 0 || c.Flags&Runs != 0 && c.Uses == nil},
		{"peek", limits && c.Flags&(ReadOnly|AllKeys) != 0 && c.Flags&(Admin|Forgets|Reaches|Runs|Rules) == 0},
		{"decide", limits && c.Flags&Write != 0 && c.Flags&(Forgets|Rules) == 0},
		{"rules", c.Flags&Rules != 0 || c.Group == "rules" && c.Flags&ReadOnly != 0},
		{"dangerous", c.dangerous()},
		{"fast", c.Flags&Fast != 0},
		{"slow", c.Flags&Fast == 0},
		{"blocking", c.Flags&Blocking != 0},
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
	"generic": true, "connection": true, "transactions": true, "server": true, "cluster": true, "scripting": true, "pubsub": true, "sorted-set": true, "rules": true,
}

// needsNoGroup reports whether any user may send a command. That holds for commands that
// neither read nor write keys nor administer, such as INFO, ROLE and CLUSTER SLOTS: client
// libraries send them on their own, and some do not continue after an error.
func (c *Command) needsNoGroup() bool {
	return c.Flags&(Write|ReadOnly|Admin|Forgets|Reaches|Runs|AllKeys|Plain) == 0
}

// dangerous reports whether a command administers, or deletes keys without naming them.
func (c *Command) dangerous() bool {
	return c.Flags&Admin != 0 || c.Flags&Forgets != 0 && c.Flags&AllKeys != 0
}

// needs returns the groups of which a user must have one to send a command; 0: none is
// required.
func (c *Command) needs() (groups users.Groups) {
	switch {
	case c.needsNoGroup():
		return 0
	case c.Uses != nil:
		return users.GroupOf("scripting") | users.Admin
	case c.Flags&Rules != 0:
		return users.GroupOf("rules") | users.Admin
	case c.Flags&Reaches != 0:
		return users.GroupOf("pubsub") | users.Admin
	case c.dangerous() || c.Flags&Runs != 0:
		return users.Admin
	}
	for _, name := range c.Categories() {
		groups |= users.GroupOf(name)
	}
	return groups | users.Admin
}
