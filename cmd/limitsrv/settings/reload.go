package settings

import (
	"fmt"
	"slices"
	"strings"

	"limitsrv/cmd/limitsrv/options"
	"limitsrv/commands/session"
)

// Reload applies the current content of the configuration file, for options that can
// change at run time. A file with an error changes nothing. The result is logged.
//
// Concurrency: not safe for concurrent use.
func (s *Settings) Reload() {
	if s.config.Config == "" {
		s.log.Info("no --config to reload")
		return
	}
	c, err := s.config.Reparse()
	if err == nil {
		err = s.adopt(c)
	}
	if err != nil {
		s.log.Error("reload failed: options unchanged", "file", s.config.Config, "error", err)
	}
}

// adopt changes all options that differ, or no option if any change is rejected. It logs
// the changed options, and the options that need a restart.
func (s *Settings) adopt(c *options.Configuration) error {
	var (
		now              = s.List()
		changed, restart []string
		changes          []func()
	)
	for _, wanted := range c.List() {
		i := slices.IndexFunc(now, func(o session.Option) bool { return o.Name == wanted.Name })
		switch {
		case now[i].Value == wanted.Value:
		case now[i].Set == nil:
			restart = append(restart, wanted.Name)
		default:
			change, err := now[i].Set(wanted.Value)
			if err != nil {
				return c.WithSource(fmt.Errorf("--%s: %w", wanted.Name, err))
			}
			changes = append(changes, change)
			changed = append(changed, wanted.Name+"="+wanted.Value)
		}
	}
	before := s.config.Secrets()
	for name, value := range c.Secrets() {
		if before[name] != value {
			restart = append(restart, name)
		}
	}
	for _, change := range changes {
		change()
	}
	for _, w := range c.Warnings() {
		s.log.Warn(w)
	}
	s.log.Info("options reloaded", "file", c.Config, "changed", strings.Join(changed, " "), "need_restart",
		strings.Join(restart, " "))
	return nil
}
