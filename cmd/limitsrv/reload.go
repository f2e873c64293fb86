package main

import (
	"fmt"
	"slices"
	"strings"

	"limitsrv/commands/session"
)

// reload applies the current content of the configuration file, for options that can
// change at run time, and reloads the users, certificates and cluster secrets. A file
// with an error changes nothing, and the error is logged.
//
// Concurrency: one caller at a time.
func (n *node) reload() {
	if n.users != nil {
		_ = n.handler.ReloadUsers() // it logs its error
	}
	for _, source := range n.sources() {
		_ = source.Reload() // likewise
	}
	if n.clusterSecrets != nil {
		_ = n.clusterSecrets.Reload() // likewise
	}
	if n.Config == "" {
		n.log.Info("no --config to reload")
		return
	}
	c, err := n.reparse()
	if err == nil {
		err = n.adopt(c)
	}
	if err != nil {
		n.log.Error("reload failed: options unchanged", "file", n.Config, "error", err)
	}
}

// adopt changes all options that differ, or none if one is rejected. It logs the
// changed options and those that need a restart.
func (n *node) adopt(c *configuration) error {
	var (
		now              = n.settings.list()
		changed, restart []string
		changes          []func()
	)
	for _, wanted := range c.list() {
		i := slices.IndexFunc(now, func(o session.Option) bool { return o.Name == wanted.Name })
		switch {
		case now[i].Value == wanted.Value:
		case now[i].Set == nil:
			restart = append(restart, wanted.Name)
		default:
			change, err := now[i].Set(wanted.Value)
			if err != nil {
				return c.withSource(fmt.Errorf("--%s: %w", wanted.Name, err))
			}
			changes = append(changes, change)
			changed = append(changed, wanted.Name+"="+wanted.Value)
		}
	}
	before := n.secrets()
	for name, value := range c.secrets() {
		if before[name] != value {
			restart = append(restart, name)
		}
	}
	for _, change := range changes {
		change()
	}
	for _, w := range c.warnings() {
		n.log.Warn(w)
	}
	n.log.Info("options reloaded", "file", c.Config, "changed", strings.Join(changed, " "), "need_restart", strings.Join(restart, " "))
	return nil
}
