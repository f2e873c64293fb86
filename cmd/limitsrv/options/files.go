package options

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/alecthomas/kong"

	"limitsrv/commands/auth"
	"limitsrv/commands/auth/users"
	"limitsrv/internal/certs"
)

// LoadUsers reads the users file. It returns nil without --users.
func (o *Options) LoadUsers() (*users.Table, error) {
	if o.Users == "" {
		return nil, nil
	}
	if o.Password != "" {
		return users.Load(o.Users, auth.DefaultUser)
	}
	return users.Load(o.Users)
}

// OpenTLS reads the certificates for clients. It returns nil if no certificates are
// configured.
func (o *Options) OpenTLS(log *slog.Logger) (*certs.Source, error) {
	if o.TLSCert == "" {
		return nil, nil
	}
	return certs.Open("clients", certs.Files{Cert: o.TLSCert, Key: o.TLSKey, CA: o.TLSClientCA}, log)
}

// fileChecks read the files that options name, as the server will.
var fileChecks = []func(*Options) error{
	checkLinkFiles, checkSecretFile, checkClientFiles, checkUsersFile, checkRuleFiles, checkEventFile,
}

// CheckFiles returns the errors of fileChecks, except those about options that are
// already reported in wrong.
func (c *Configuration) CheckFiles(wrong error) error {
	isWrong := func(f *kong.Flag) bool {
		return c.entries[f.Name].wrong || c.mentions(wrong, func(other *kong.Flag) bool { return f == other })
	}
	var all []error
	for _, check := range fileChecks {
		if err := check(c.Options); !c.mentions(err, isWrong) {
			all = append(all, c.WithSource(err))
		}
	}
	return errors.Join(all...)
}

// checkLinkFiles reads the certificates of nodes.
func checkLinkFiles(o *Options) error {
	files := o.LinkFiles()
	if files == nil {
		return nil
	}
	if _, err := certs.Open("links", *files, slog.New(slog.DiscardHandler)); err != nil {
		return fmt.Errorf("--raft-tls-cert, --raft-tls-key and --raft-tls-ca: %w", err)
	}
	return nil
}

// checkSecretFile reads the secrets of a cluster. Its error names the option.
func checkSecretFile(o *Options) error {
	if o.ClusterSecretFile == "" {
		return nil
	}
	_, err := o.OpenSecrets(slog.New(slog.DiscardHandler))
	return err
}

// checkClientFiles reads the certificates for clients.
func checkClientFiles(o *Options) error {
	if _, err := o.OpenTLS(slog.New(slog.DiscardHandler)); err != nil {
		return fmt.Errorf("--tls-cert, --tls-key and --tls-client-ca: %w", err)
	}
	return nil
}

// checkUsersFile reads the users.
func checkUsersFile(o *Options) error {
	if _, err := o.LoadUsers(); err != nil {
		return fmt.Errorf("--users: %w", err)
	}
	return nil
}
