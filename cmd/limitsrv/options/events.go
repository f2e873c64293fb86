package options

import (
	"errors"
	"fmt"
	"log/slog"

	"limitsrv/server/events"
)

// checkEvents checks the options of events.
func (o *Options) checkEvents() (all []error) {
	switch {
	case (o.EventsURL == "") != (o.EventsSecretFile == ""):
		all = append(all, errors.New("--events-url and --events-secret-file go together"))
	case o.EventsURL != "" && o.EventsList:
		all = append(all, errors.New("--events-url and --events-list exclude each other"))
	case o.EventsList && o.LimitsOnly:
		all = append(all, errors.New("--events-list needs the commands of lists, which --limits-only rejects"))
	}
	if o.EventsURL != "" {
		if err := events.CheckURL(o.EventsURL); err != nil {
			all = append(all, fmt.Errorf("--events-url: %w", err))
		}
	}
	return all
}

// checkEventFile reads the secrets of events.
func checkEventFile(o *Options) error {
	if o.EventsSecretFile == "" {
		return nil
	}
	_, err := events.OpenSecrets(o.EventsSecretFile, slog.New(slog.DiscardHandler))
	return err
}
