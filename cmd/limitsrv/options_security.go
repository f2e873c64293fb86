package main

import (
	"context"
	"time"

	"limitsrv/commands/users"
)

// securityOptions say who may do what.
type securityOptions struct {
	Password    string `group:"Who may connect" secret:"" help:"What clients must log in with; better set in the environment, which other users can't list."`
	Users       string `group:"Who may connect" placeholder:"FILE" help:"Users, their hashes, groups (decide, peek, admin) and key patterns, as YAML. Without --password clients must then log in as one of them. Read again when it changes, by SIGHUP and by ACL LOAD."`
	Unprotected bool   `group:"Who may connect" help:"Listen beyond loopback although there is no password, or for nodes no cluster secret."`
}

// usersInterval is how often the file of users is looked at.
const usersInterval = time.Second

// defaultUser is the user that --password is of.
const defaultUser = "default"

// isProtected says whether clients have to log in.
func (o *options) isProtected() bool { return o.Password != "" || o.Users != "" }

// loadUsers reads the file of users; nil: there is none.
func (o *options) loadUsers() (*users.Table, error) {
	if o.Users == "" {
		return nil, nil
	}
	if o.Password != "" {
		return users.Load(o.Users, defaultUser)
	}
	return users.Load(o.Users)
}

// followUsers has the file of users read again when it changes from what it said as
// t was read, until stop is called.
func (n *node) followUsers(t *users.Table) (stop func()) {
	if t == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	go users.Watch(ctx, n.Users, t, usersInterval, func() { _ = n.handler.ReloadUsers() }) // which logs its error
	return cancel
}
