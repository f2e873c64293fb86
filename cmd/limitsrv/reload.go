package main

import (
	"context"
	"time"

	"limitsrv/commands/auth/users"
)

// reload reloads the configuration file, the users, the rules, certificates and cluster secrets.
//
// Concurrency: not safe for concurrent use.
func (n *node) reload() {
	if n.users != nil {
		_ = n.handler.ReloadUsers() // it logs its error
	}
	for _, source := range n.sources() {
		_ = source.Reload() // likewise
	}
	if n.state.Secrets != nil {
		_ = n.state.Secrets.Reload() // likewise
	}
	if n.Rules != "" {
		n.ruleFiles.check(context.Background())
	}
	n.settings.Reload()
}

// usersInterval is the time between two checks of the users file for changes.
const usersInterval = time.Second

// followUsers reloads the users file whenever it differs from t, until stop is called.
func (n *node) followUsers(t *users.Table) (stop func()) {
	if t == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	go users.Watch(ctx, n.Users, t, usersInterval, func() { _ = n.handler.ReloadUsers() }) // ReloadUsers logs its error
	return cancel
}
