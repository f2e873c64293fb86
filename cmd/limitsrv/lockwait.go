package main

import (
	"errors"
	"fmt"
	"time"

	"limitsrv/commands"
	"limitsrv/persist"
)

// lockEvery is how often a start looks whether the data directory is free.
const lockEvery = 50 * time.Millisecond

// errAsked is how a stop ends the wait for the data directory.
var errAsked = errors.New("asked to end")

// awaitState opens the state. While another process has the data directory it waits for
// that to end, up to --lock-wait: one that was killed gives its memory back first, which
// may take seconds, and a supervisor starts the next one at once.
func (n *node) awaitState() (config commands.Config, err error) {
	config, err = n.openState()
	var held *persist.InUseError
	if !errors.As(err, &held) || n.LockWait == 0 {
		return config, err
	}
	began, late := time.Now(), time.After(n.LockWait)
	n.log.Warn("the data directory is held by another process: waiting for it to end", "data", n.Data, "pid", held.Pid, "lock_wait", n.LockWait)
	ticker := time.NewTicker(lockEvery)
	defer ticker.Stop()
	for errors.As(err, &held) {
		select {
		case <-n.stop:
			return config, errAsked
		case <-late:
			return config, fmt.Errorf("%w (waited for it for %v: --lock-wait)", err, n.LockWait)
		case <-ticker.C:
		}
		if !held.Held() {
			config, err = n.openState()
		}
	}
	if err == nil {
		n.log.Info("the data directory is free", "waited", time.Since(began).Round(time.Millisecond))
	}
	return config, err
}
