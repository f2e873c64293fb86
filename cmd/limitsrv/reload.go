package main

import (
	"fmt"
	"slices"
	"strings"

	"limitsrv/commands"
)

// reload makes the file of options hold as it is now, as far as options can change while
// the server runs, and reads the users, the certificates and the cluster secrets again. A
// file that can't be read changes nothing, and that is logged. For one caller at a time.
func (n *node) reload() {
	if n.users != nil {
		_ = n.handler.ReloadUsers() // which logs its error
	}
	for _, source := range n.sources() {
		_ = source.Reload() // likewise
	}
	if n.clusterSecrets != nil {
		_ = n.clusterSecrets.Reload() // likewise
	}
	if n.Config == "" {
		n.log.Info("there is no --config to read again")
		return
	}
	c, err := n.again()
	if err == nil {
		err = n.adopt(c)
	}
	if err != nil {
		n.log.Error("the options are not changed", "file", n.Config, "error", err)
	}
}

// adopt changes the options that differ, or none. The log tells which, and which
// only a restart can change.
func (n *node) adopt(c *configuration) error {
	var (
		now              = n.settings.list()
		changed, restart []string
		changes          []func()
	)
	for _, wanted := range c.list() {
		i := slices.IndexFunc(now, func(o commands.Option) bool { return o.Name == wanted.Name })
		switch {
		case now[i].Value == wanted.Value:
		case now[i].Set == nil:
			restart = append(restart, wanted.Name)
		default:
			change, err := now[i].Set(wanted.Value)
			if err != nil {
				return c.located(fmt.Errorf("--%s: %w", wanted.Name, err))
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
	n.log.Info("options read again", "file", c.Config, "changed", strings.Join(changed, " "), "need_restart", strings.Join(restart, " "))
	return nil
}
