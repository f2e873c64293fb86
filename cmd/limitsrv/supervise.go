package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"limitsrv/commands/backend"
	"log/slog"
	"os"
	"sync"
	"time"
)

var (
	// errSecondSignal and errLate are the errors of a stop that was cut short.
	errSecondSignal = errors.New("a second signal: ended at once, without answering the commands in progress")
	errLate         = errors.New("the stop took longer than --drain: ended without closing the files; the next start " +
		"reads the log")
)

// supervise returns the error of serve. On a fatal error, a second signal, or a stop
// beyond its deadline it returns earlier, while serve still runs, and the process must
// end then. It never waits for a file, the log or a lock, because these may hang with a
// disk.
func (n *node) supervise(signals <-chan os.Signal, served <-chan error) error {
	var late <-chan time.Time // set once a stop has begun
	stop := func(reason slog.Attr, save backend.Parting) {
		limits := newStopLimits(time.Now(), n.drainFor())
		if save == backend.SaveAlways {
			limits.save, limits.end = limits.save.Add(never), limits.end.Add(never)
		}
		late = time.After(time.Until(limits.end))
		n.stop <- stopCause{reason, save, limits}
	}
	for {
		select {
		case err := <-served:
			return err
		case err := <-n.fatal:
			return err
		case <-late:
			return errLate
		case s := <-signals:
			if late != nil {
				return errSecondSignal
			}
			stop(slog.String("signal", s.String()), backend.SaveIfQuick)
		case save := <-n.shutdown:
			if late == nil {
				stop(slog.String("command", "SHUTDOWN"), save)
			}
		}
	}
}

// finish answers the commands and requests in progress and closes the files.
func (n *node) finish(cause stopCause, stopAdmin func(), stopRLS func(context.Context), stopEvents func()) error {
	transfer, cancel := context.WithDeadline(context.Background(), cause.limits.transfer)
	defer cancel()
	n.state.StepDown(transfer)
	clients, cancel := context.WithDeadline(context.Background(), cause.limits.clients)
	defer cancel()
	n.handler.Drain()
	var stopping sync.WaitGroup
	stopping.Go(func() { stopRLS(clients) })
	if err := n.server.Shutdown(clients); err != nil {
		n.log.Warn("stopped before every command was answered", "error", err)
	}
	stopping.Wait()
	stopEvents()
	stopAdmin()
	save, cancel := context.WithDeadline(context.Background(), cause.limits.save)
	defer cancel()
	err := n.state.Close(save, cause.save)
	if err == nil {
		n.log.Info("stopped")
	}
	return err
}

// writeFinalError writes err to w. It waits for at most a second, because w may be a
// file on a disk that hangs.
func writeFinalError(w io.Writer, err error) {
	written := make(chan struct{})
	go func() {
		fmt.Fprintf(w, "limitsrv: %v\n", err)
		close(written)
	}()
	select {
	case <-written:
	case <-time.After(time.Second):
	}
}
