package main

import (
	"errors"
	"fmt"
	"time"

	"limitsrv/cmd/limitsrv/state"
	"limitsrv/persist"
)

// lockPollInterval is the time between two attempts to lock the data directory.
const lockPollInterval = 50 * time.Millisecond

// errStopRequested is the error of awaitState if a stop ended the wait.
var errStopRequested = errors.New("stop requested")

// awaitState opens the state. While another process holds the data directory it
// retries, for up to --lock-wait: a killed process frees its memory first, which may
// take seconds, and a supervisor starts its successor at once.
func (n *node) awaitState() (opened state.Opened, err error) {
	config := state.Config{Options: n.Options, Version: version, Log: n.log, Fatal: n.fail,
		Settling: n.ruleFiles.areAwaited}
	opened, err = state.Open(config)
	var held *persist.InUseError
	if !errors.As(err, &held) || n.LockWait == 0 {
		return opened, err
	}
	began, late := time.Now(), time.After(n.LockWait)
	n.log.Warn("the data directory is held by another process: waiting", "data", n.Data, "pid", held.Pid, "lock_wait",
		n.LockWait)
	ticker := time.NewTicker(lockPollInterval)
	defer ticker.Stop()
	for errors.As(err, &held) {
		select {
		case <-n.stop:
			return opened, errStopRequested
		case <-late:
			return opened, fmt.Errorf("%w (waited %v: --lock-wait)", err, n.LockWait)
		case <-ticker.C:
		}
		if !held.Held() {
			opened, err = state.Open(config)
		}
	}
	if err == nil {
		n.log.Info("data directory locked", "waited", time.Since(began).Round(time.Millisecond))
	}
	return opened, err
}

// fail ends the process after an error of the state.
func (n *node) fail(err error) {
	n.log.Error("the node failed: shutting down", "error", err)
	n.fatal <- err
}
