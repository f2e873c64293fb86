package commands

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"limitsrv/commands/auth"
	"limitsrv/commands/auth/users"
	"limitsrv/commands/resp"
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
		aclSub("USERS", "", "Lists the users.", Admin, runACLUsers),
		aclSub("WHOAMI", "", "Returns the user of the connection.", 0, func(s *Session, _ [][]byte) { s.w.BulkString(s.account.Name()) }),
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
	if !s.h.logins.HasFile() {
		s.w.Error(errNoUsersFile)
		return
	}
	s.w.Error(errInFile)
}

func runACLLoad(s *Session, _ [][]byte) {
	s.deferReply(func(done func(error)) error {
		s.h.config.spawn(func() { done(resp.Expose(s.h.ReloadUsers())) })
		return nil
	}, (*resp.Writer).OK)
}

// aclFlags returns the ACL flags of a user.
func aclFlags(u auth.Listing) []string {
	switch {
	case !u.Enabled:
		return []string{"off"}
	case u.Passwordless:
		return []string{"on", "nopass"}
	}
	return []string{"on"}
}

// aclRules returns the permitted commands in Redis' form.
func aclRules(r *auth.Rights) string {
	if r.Groups() == auth.EveryGroup {
		return "+@all"
	}
	text := "-@all +@" + everyone
	for i, name := range users.GroupNames {
		if r.In(1 << i) {
			text += " +@" + name
		}
	}
	return text
}

// aclPatterns returns the key patterns in Redis' form.
func aclPatterns(r *auth.Rights) string {
	var all []string
	for _, pattern := range r.Keys() {
		all = append(all, "~"+string(pattern))
	}
	return strings.Join(all, " ")
}

func runACLUsers(s *Session, _ [][]byte) {
	var names []string
	for _, u := range s.h.logins.List() {
		names = append(names, u.Name)
	}
	s.w.BulkStrings(names)
}

func runACLList(s *Session, _ [][]byte) {
	var all []string
	for _, u := range s.h.logins.List() {
		all = append(all, fmt.Sprintf("user %s %s %s &* %s", u.Name, strings.Join(aclFlags(u), " "), aclPatterns(u.Rights), aclRules(u.Rights)))
	}
	s.w.BulkStrings(all)
}

func runACLGetUser(s *Session, args [][]byte) {
	u, ok := s.h.logins.Describe(string(args[2]))
	if !ok {
		s.w.Null()
		return
	}
	w := &s.w
	w.Map(6)
	w.BulkString("flags")
	flags := aclFlags(u)
	w.Set(len(flags))
	for _, f := range flags {
		w.BulkString(f)
	}
	w.BulkString("passwords")
	w.Array(0)
	w.Pair("commands", aclRules(u.Rights))
	w.Pair("keys", aclPatterns(u.Rights))
	w.Pair("channels", "&*")
	w.BulkString("selectors")
	w.Array(0)
}

// runACLDryRun answers with Redis' texts.
func runACLDryRun(s *Session, args [][]byte) {
	u, ok := s.h.logins.Describe(string(args[2]))
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
	switch why, key := c.deny(u.Rights, line); why {
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
