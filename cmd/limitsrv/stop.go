package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"limitsrv/commands"
)

// A stopCause is why the program is to end in good order, and how.
type stopCause struct {
	reason slog.Attr
	save   commands.Parting
	limits stopLimits
}

// stopLimits are the times at which the waits of a stop end. All of them count from
// its beginning.
type stopLimits struct {
	transfer time.Time // another node is to lead
	clients  time.Time // clients are to have their answers
	save     time.Time // a snapshot is to be complete
	end      time.Time // the process is to have ended
}

// never is how much longer a snapshot may take that was asked for.
const never = 10 * 365 * 24 * time.Hour

// closeTime is how long the files have at least to be closed, however long clients
// took. It is part of --drain where that is five times as long.
const closeTime = 2 * time.Second

func newStopLimits(now time.Time, drain time.Duration) stopLimits {
	clients := drain - min(drain/5, closeTime)
	end := max(drain, clients+closeTime)
	return stopLimits{
		transfer: now.Add(clients / 2), clients: now.Add(clients),
		save: now.Add(end - closeTime/2), end: now.Add(end),
	}
}

var (
	// errAgain is how a second signal ends the program.
	errAgain = errors.New("a second signal: ended at once, without answering what was under way")
	errLate  = errors.New("the stop took longer than --drain: ended without closing the files; the next start reads the log")
)

// supervise returns the error of serve. It returns earlier, and the process is to end
// with serve still at work, at a fatal error, at a second signal, and when a stop takes
// longer than it may. It waits for no file, log or lock, which may hang with a disk.
func (n *node) supervise(signals <-chan os.Signal, served <-chan error) error {
	var late <-chan time.Time // set once a stop has begun
	stop := func(reason slog.Attr, save commands.Parting) {
		limits := newStopLimits(time.Now(), n.drainFor())
		if save == commands.SaveAlways {
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
				return errAgain
			}
			stop(slog.String("signal", s.String()), commands.SaveIfQuick)
		case save := <-n.shutdown:
			if late == nil {
				stop(slog.String("command", "SHUTDOWN"), save)
			}
		}
	}
}

// finish answers the commands under way, and closes the files.
func (n *node) finish(cause stopCause, stopAdmin func()) error {
	transfer, cancel := context.WithDeadline(context.Background(), cause.limits.transfer)
	defer cancel()
	n.state.stepDown(transfer)
	clients, cancel := context.WithDeadline(context.Background(), cause.limits.clients)
	defer cancel()
	n.handler.Drain()
	if err := n.server.Shutdown(clients); err != nil {
		n.log.Warn("stopped before all was answered", "error", err)
	}
	stopAdmin()
	save, cancel := context.WithDeadline(context.Background(), cause.limits.save)
	defer cancel()
	err := n.state.close(save, cause.save)
	if err == nil {
		n.log.Info("stopped")
	}
	return err
}

// lastWords writes why the program ends, for at most a second: the log may be a file
// on a disk that hangs.
func lastWords(w io.Writer, err error) {
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
