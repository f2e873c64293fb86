package main

import (
	"context"
	"time"

	"limitsrv/commands/auth"
	"limitsrv/commands/auth/users"
)

// securityOptions are the options that authenticate clients.
type securityOptions struct {
	Password    string `group:"Access" secret:"" help:"Password of the default user. Prefer the environment, which other users can't list."`
	Users       string `group:"Access" placeholder:"FILE" help:"YAML file of users with their password hashes, groups (decide, peek, admin) and key patterns. Without --password clients must log in as one of them. Reloaded when it changes, by SIGHUP and by ACL LOAD."`
	Unprotected bool   `group:"Access" help:"Allow listening beyond loopback without a password, or for nodes without a cluster secret."`
}

// usersInterval is the time between two checks of the users file for changes.
const usersInterval = time.Second

// isProtected reports whether clients must log in.
func (o *options) isProtected() bool { return o.Password != "" || o.Users != "" }

// loadUsers reads the users file. It returns nil without --users.
func (o *options) loadUsers() (*users.Table, error) {
	if o.Users == "" {
		return nil, nil
	}
	if o.Password != "" {
		return users.Load(o.Users, auth.DefaultUser)
	}
	return users.Load(o.Users)
}

// followUsers reloads the users file whenever it differs from t, until stop is called.
func (n *node) followUsers(t *users.Table) (stop func()) {
	if t == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	go users.Watch(ctx, n.Users, t, usersInterval, func() { _ = n.handler.ReloadUsers() }) // ReloadUsers logs its error
	return cancel
}
