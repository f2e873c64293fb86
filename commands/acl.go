package commands

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"limitsrv/commands/resp"
	"limitsrv/commands/users"
)

var (
	errInFile      = resp.NewError("ERR", "users are configured in the --users file: edit it, then use ACL LOAD")
	errNoUsersFile = resp.NewError("ERR", "the server was started without --users: the default user is the only one, and its password is an option")
)

var acl = Command{
	Name: "ACL", Summary: "Commands about users.",
	Complexity: "Depends on the subcommand", Since: "6.0.0", Group: "server",
	Sub: []Command{
		aclSub("CAT", "[category]", "Lists the categories of commands, or the commands of one category. decide, peek and admin are the groups of users.", 0, runACLCat),
		aclSub("DELUSER", "username [username ...]", "Rejected: users are configured in a file.", Admin|Secret, refuseUsers),
		aclSub("DRYRUN", "username command [arg ...]", "Checks whether a user may send a command line.", Admin|Secret, runACLDryRun),
		aclSub("GETUSER", "username", "Describes a user; nil if there is no such user.", Admin, runACLGetUser),
		aclSub("LIST", "", "Lists the users and their rules, without passwords.", Admin, runACLList),
		aclSub("LOAD", "", "Reloads the users file. An invalid file is an error and changes nothing.", Admin|NoMulti, runACLLoad),
		aclSub("SAVE", "", "Rejected: users are configured in a file.", Admin, refuseUsers),
		aclSub("SETUSER", "username [rule ...]", "Rejected: users are configured in a file.", Admin|Secret, refuseUsers),
		aclSub("USERS", "", "Lists the users.", Admin, func(s *Session, _ [][]byte) { s.w.BulkStrings(s.h.accounts.Load().names()) }),
		aclSub("WHOAMI", "", "Returns the user of the connection.", 0, func(s *Session, _ [][]byte) { s.w.BulkString(s.account.name) }),
	},
}

// aclSub makes a subcommand of ACL.
func aclSub(name, args, summary string, flags Flags, run func(*Session, [][]byte)) Command {
	return Command{
		Name: name, Args: args, Summary: summary, Complexity: "O(N), N being the commands", Since: "6.0.0", Group: "server",
		Flags: flags | NoScript | Loading | Stale, Run: run,
	}
}

// refuseUsers answers where the users are configured.
func refuseUsers(s *Session, _ [][]byte) {
	if s.h.config.Users == nil {
		s.w.Error(errNoUsersFile)
		return
	}
	s.w.Error(errInFile)
}

func runACLLoad(s *Session, _ [][]byte) {
	s.deferReply(func(done func(error)) error {
		s.h.logins.spawn(func() { done(resp.Expose(s.h.ReloadUsers())) })
		return nil
	}, (*resp.Writer).OK)
}

// flags returns the ACL flags of a user.
func (r *accounts) flags(name string, enabled bool) []string {
	switch {
	case !enabled:
		return []string{"off"}
	case r.passwordless(name) != nil:
		return []string{"on", "nopass"}
	}
	return []string{"on"}
}

// rules returns the permitted commands in Redis' form.
func (r *rights) rules() string {
	if r.groups == everyGroup {
		return "+@all"
	}
	text := "-@all +@" + everyone
	for i, name := range users.GroupNames {
		if r.groups&(1<<i) != 0 {
			text += " +@" + name
		}
	}
	return text
}

// patterns returns the key patterns in Redis' form.
func (r *rights) patterns() string {
	var all []string
	for _, pattern := range r.keys {
		all = append(all, "~"+string(pattern))
	}
	return strings.Join(all, " ")
}

func runACLList(s *Session, _ [][]byte) {
	r := s.h.accounts.Load()
	var all []string
	for _, name := range r.names() {
		given, enabled, _ := r.describe(name)
		all = append(all, fmt.Sprintf("user %s %s %s &* %s", name, strings.Join(r.flags(name, enabled), " "), given.patterns(), given.rules()))
	}
	s.w.BulkStrings(all)
}

func runACLGetUser(s *Session, args [][]byte) {
	r := s.h.accounts.Load()
	name := string(args[2])
	given, enabled, ok := r.describe(name)
	if !ok {
		s.w.Null()
		return
	}
	w := &s.w
	w.Map(6)
	w.BulkString("flags")
	flags := r.flags(name, enabled)
	w.Set(len(flags))
	for _, f := range flags {
		w.BulkString(f)
	}
	w.BulkString("passwords")
	w.Array(0)
	w.Pair("commands", given.rules())
	w.Pair("keys", given.patterns())
	w.Pair("channels", "&*")
	w.BulkString("selectors")
	w.Array(0)
}

// runACLDryRun answers with Redis' texts.
func runACLDryRun(s *Session, args [][]byte) {
	given, _, ok := s.h.accounts.Load().describe(string(args[2]))
	if !ok {
		s.w.Error(resp.NewError("ERR", "User '"+cString(args[2])+"' not found"))
		return
	}
	line := args[3:]
	c, err := s.h.registry.lookup(line, nil)
	switch {
	case c == nil:
		s.w.Error(resp.NewError("ERR", "Command '"+cString(line[0])+"' not found"))
		return
	case err != nil:
		s.w.Error(err)
		return
	}
	switch why, key := given.deny(c, line); why {
	case deniedCommand:
		s.w.BulkString("This user has no permissions to run the '" + c.name + "' command")
	case deniedKey:
		s.w.BulkString("This user has no permissions to access the '" + cString(key) + "' key")
	default:
		s.w.OK()
	}
}

func runACLCat(s *Session, args [][]byte) {
	members := map[string][]string{}
	for _, c := range s.h.registry.allSpecs() {
		for _, cat := range c.categories() {
			members[cat] = append(members[cat], c.name)
		}
	}
	if len(args) == 2 {
		s.w.BulkStrings(slices.Sorted(maps.Keys(members)))
		return
	}
	names := members[strings.ToLower(string(args[2]))]
	if names == nil {
		s.w.Error(resp.NewError("ERR", "Unknown category '"+cString(args[2])+"'"))
		return
	}
	s.w.BulkStrings(names)
}
