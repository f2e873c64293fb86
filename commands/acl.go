package commands

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"limitsrv/commands/auth"
	"limitsrv/commands/auth/users"
	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/commands/word"
)

var errInFile = resp.NewError("ERR", "users are configured in the --users file: edit it, then use ACL LOAD")

var acl = spec.Command{
	Name: "ACL", Summary: "Commands about users.",
	Complexity: "See its subcommands", Since: "6.0.0", Group: "server",
	Body: &spec.Container{Sub: []spec.Command{
		long(aclSub("CAT", "[category]", "Lists the categories of commands, or the commands of one category. The groups of "+
			"users are categories.", 0, runACLCat)),
		aclSub("DELUSER", "username [username ...]", "Rejected: users are configured in a file.", spec.Admin|spec.Secret,
			refuseUsers),
		aclDryRun(),
		aclSub("GETUSER", "username", "Describes a user; nil if there is no such user.", spec.Admin, runACLGetUser),
		long(aclSub("LIST", "", "Lists the users and their rules, without passwords.", spec.Admin, runACLList)),
		aclSub("LOAD", "", "Reloads the users file. An invalid file is an error and changes nothing.",
			spec.Admin|spec.NoMulti, runACLLoad),
		aclSub("SAVE", "", "Rejected: users are configured in a file.", spec.Admin, refuseUsers),
		aclSub("SETUSER", "username [rule ...]", "Rejected: users are configured in a file.", spec.Admin|spec.Secret,
			refuseUsers),
		aclSub("USERS", "", "Lists the users.", spec.Admin, runACLUsers),
		aclSub("WHOAMI", "", "Returns the user of the connection.", 0,
			func(s *session.Session, w *resp.Writer, _ [][]byte) { w.BulkString(s.Account().Name()) }),
	}},
}

// aclSub makes a subcommand of ACL.
func aclSub(name, args, summary string, flags spec.Flags, run session.Run) spec.Command {
	return spec.Command{
		Name: name, Args: args, Summary: summary, Complexity: "O(N), N being the commands", Since: "6.0.0", Group: "server",
		Flags: flags | spec.NoScript | spec.Loading | spec.Stale, Body: run,
	}
}

// aclDryRun makes ACL DRYRUN, which must know the script of the line.
func aclDryRun() spec.Command {
	c := aclSub("DRYRUN", "username command [arg ...]", "Checks whether a user may send a command line.",
		spec.Admin|spec.Secret, runACLDryRun)
	c.Fresh = func(args [][]byte) bool { return len(args) > 3 && namesScript(args[3]) }
	return c
}

// refuseUsers answers where the users are configured.
func refuseUsers(s *session.Session, w *resp.Writer, _ [][]byte) {
	if !s.Handler().Logins().HasFile() {
		w.Error(session.ErrNoUsersFile)
		return
	}
	w.Error(errInFile)
}

func runACLLoad(s *session.Session, _ *resp.Writer, _ [][]byte) {
	s.Defer(func(done func(error)) (func(), error) {
		s.Handler().Config().Spawn(func() { done(resp.Expose(s.Handler().ReloadUsers())) })
		return nil, nil
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
	if r.Groups() == users.Every {
		return "+@all"
	}
	text := "-@all +@" + session.Everyone
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

// aclChannels returns the channel patterns in Redis' form.
func aclChannels(r *auth.Rights) string {
	var all []string
	for _, pattern := range r.Channels() {
		all = append(all, "&"+string(pattern))
	}
	return strings.Join(all, " ")
}

func runACLUsers(s *session.Session, w *resp.Writer, _ [][]byte) {
	var names []string
	for _, u := range s.Handler().Logins().List() {
		names = append(names, u.Name)
	}
	w.BulkStrings(names)
}

func runACLList(s *session.Session, w *resp.Writer, _ [][]byte) {
	var all []string
	for _, u := range s.Handler().Logins().List() {
		all = append(all, fmt.Sprintf("user %s %s %s %s %s", u.Name, strings.Join(aclFlags(u), " "), aclPatterns(u.Rights),
			cmp.Or(aclChannels(u.Rights), "resetchannels"), aclRules(u.Rights)))
	}
	w.BulkStrings(all)
}

func runACLGetUser(s *session.Session, w *resp.Writer, args [][]byte) {
	u, ok := s.Handler().Logins().Describe(string(args[2]))
	if !ok {
		w.Null()
		return
	}
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
	w.Pair("channels", aclChannels(u.Rights))
	w.BulkString("selectors")
	w.Array(0)
}

// runACLDryRun answers with Redis' texts.
func runACLDryRun(s *session.Session, w *resp.Writer, args [][]byte) {
	u, ok := s.Handler().Logins().Describe(string(args[2]))
	if !ok {
		w.Error(resp.NewError("ERR", "User '"+word.CString(args[2])+"' not found"))
		return
	}
	line := args[3:]
	c, err := s.Handler().Registry().Lookup(line, nil)
	switch {
	case c == nil:
		w.Error(resp.NewError("ERR", "Command '"+word.CString(line[0])+"' not found"))
		return
	case err != nil:
		w.Error(err)
		return
	}
	switch why, key := c.Deny(u.Rights, line); why {
	case session.DeniedCommand:
		w.BulkString("This user has no permissions to run the '" + c.FullName + "' command")
	case session.DeniedKey:
		w.BulkString("This user has no permissions to access the '" + word.CString(key) + "' key")
	case session.DeniedChannel:
		w.BulkString("This user has no permissions to access the '" + word.CString(key) + "' channel")
	default:
		if err := c.DenyScript(u.Rights, line); err != nil {
			w.BulkString(err.Error())
			return
		}
		w.OK()
	}
}

func runACLCat(s *session.Session, w *resp.Writer, args [][]byte) {
	members := map[string][]string{}
	for _, c := range s.Handler().Registry().Specs() {
		for _, cat := range c.Categories() {
			members[cat] = append(members[cat], c.FullName)
		}
	}
	if len(args) == 2 {
		w.BulkStrings(slices.Sorted(maps.Keys(members)))
		return
	}
	names := members[strings.ToLower(string(args[2]))]
	if names == nil {
		w.Error(resp.NewError("ERR", "Unknown category '"+word.CString(args[2])+"'"))
		return
	}
	w.BulkStrings(names)
}
