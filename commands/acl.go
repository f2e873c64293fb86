package commands

import (
	"maps"
	"slices"
	"strings"
)

var errNoUsers = &Error{"ERR", "there is one user, default, whose password is an option of the server"}

var acl = Command{
	Name: "ACL", Summary: "Container for commands about users, of whom there is one.",
	Complexity: "Depends on the subcommand", Since: "6.0.0", Group: "server",
	Sub: []Command{
		aclSub("CAT", "[category]", "Lists the categories of commands, or the commands of one.", runACLCat),
		aclSub("DELUSER", "username [username ...]", "Refused: there is one user.", refuse(errNoUsers)),
		aclSub("GETUSER", "username", "Describes a user, or answers nil.", runACLGetUser),
		aclSub("LIST", "", "Lists the users with their rules.", func(s *Session, _ [][]byte) {
			rules := slices.Concat([]string{"user", defaultUser, "on"}, s.h.passwordRules(), []string{"~*", "&*", "+@all"})
			s.w.bulks([]string{strings.Join(rules, " ")})
		}),
		aclSub("SETUSER", "username [rule ...]", "Refused: there is one user.", refuse(errNoUsers)),
		aclSub("USERS", "", "Lists the users.", func(s *Session, _ [][]byte) { s.w.bulks([]string{defaultUser}) }),
		aclSub("WHOAMI", "", "Answers the user of the connection.", func(s *Session, _ [][]byte) { s.w.BulkString(defaultUser) }),
	},
}

// aclSub is a line of ACL's subcommands.
func aclSub(name, args, summary string, run func(*Session, [][]byte)) Command {
	c := Command{
		Name: name, Args: args, Summary: summary, Complexity: "O(N), N being the commands", Since: "6.0.0", Group: "server",
		Flags: Admin | NoScript | Loading | Stale, Run: run,
	}
	if name == "WHOAMI" || name == "CAT" {
		c.Flags &^= Admin
	}
	return c
}

// passwordRules say what lets the user in, without giving it away.
func (h *Handler) passwordRules() []string {
	if h.config.Password == "" {
		return []string{"nopass"}
	}
	return nil
}

func runACLGetUser(s *Session, args [][]byte) {
	if string(args[2]) != defaultUser {
		s.w.Null()
		return
	}
	w := &s.w
	w.Map(6)
	w.BulkString("flags")
	flags := append([]string{"on"}, s.h.passwordRules()...)
	w.Set(len(flags))
	for _, f := range flags {
		w.BulkString(f)
	}
	w.BulkString("passwords")
	w.Array(0)
	w.pair("commands", "+@all")
	w.pair("keys", "~*")
	w.pair("channels", "&*")
	w.BulkString("selectors")
	w.Array(0)
}

func runACLCat(s *Session, args [][]byte) {
	members := map[string][]string{}
	for _, c := range s.h.registry.everything() {
		for _, cat := range c.categories() {
			members[cat] = append(members[cat], c.name)
		}
	}
	if len(args) == 2 {
		s.w.bulks(slices.Sorted(maps.Keys(members)))
		return
	}
	names := members[strings.ToLower(string(args[2]))]
	if names == nil {
		s.w.Error(&Error{"ERR", "Unknown category '" + cString(args[2]) + "'"})
		return
	}
	s.w.bulks(names)
}
