package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"limitsrv/certs"
)

const configUsage = `usage: limitsrv config check [FILE] [options]   reads FILE, the environment and the options as the
                                             server would, and the files that they name
       limitsrv config show [FILE] [options]    prints every option with its value and source

FILE defaults to LIMITSRV_CONFIG, if set. Exits with 0 if the configuration is valid, and with 2 if not.
`

// runConfig is the tool config. The arguments after FILE are the command line of a
// server.
func runConfig(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	if asksHelp(args) {
		fmt.Fprint(stdout, configUsage)
		return exitOK
	}
	if len(args) == 0 || args[0] != "check" && args[0] != "show" {
		fmt.Fprint(stderr, configUsage)
		return exitUsage
	}
	command, args := args[0], args[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		args = append([]string{"--config", args[0]}, args[1:]...)
	}
	c, err := parseOptions(args, stdout, stderr)
	if errors.Is(err, errDone) {
		return exitOK
	}
	if c != nil && command == "check" {
		err = errors.Join(err, c.checkFiles(err))
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitUsage
	}
	for _, w := range c.warnings() {
		fmt.Fprintln(stderr, w)
	}
	if command == "show" {
		c.show(stdout)
		return exitOK
	}
	name := c.Config
	if name == "" {
		name = "the command line and the environment"
	}
	fmt.Fprintf(stdout, "%s: ok\n", name)
	return exitOK
}

// fileChecks read the files that options name, as the server will.
var fileChecks = []func(*options) error{
	checkLinkFiles, checkSecretFile, checkClientFiles, checkUsersFile,
}

// checkFiles returns the errors of fileChecks, except those about options that are
// already reported in wrong.
func (c *configuration) checkFiles(wrong error) error {
	isWrong := func(f *kong.Flag) bool {
		return c.entries[f.Name].wrong || c.mentions(wrong, func(other *kong.Flag) bool { return f == other })
	}
	var all []error
	for _, check := range fileChecks {
		if err := check(c.options); !c.mentions(err, isWrong) {
			all = append(all, c.withSource(err))
		}
	}
	return errors.Join(all...)
}

// checkLinkFiles reads the certificates of nodes.
func checkLinkFiles(o *options) error {
	files := o.linkFiles()
	if files == nil {
		return nil
	}
	if _, err := certs.Open("links", *files, slog.New(slog.DiscardHandler)); err != nil {
		return fmt.Errorf("--raft-tls-cert, --raft-tls-key and --raft-tls-ca: %w", err)
	}
	return nil
}

// checkSecretFile reads the secrets of a cluster. Its error names the option.
func checkSecretFile(o *options) error {
	if o.ClusterSecretFile == "" {
		return nil
	}
	_, err := o.openSecrets(slog.New(slog.DiscardHandler))
	return err
}

// checkClientFiles reads the certificates for clients.
func checkClientFiles(o *options) error {
	if _, err := o.openTLS(slog.New(slog.DiscardHandler)); err != nil {
		return fmt.Errorf("--tls-cert, --tls-key and --tls-client-ca: %w", err)
	}
	return nil
}

// checkUsersFile reads the users.
func checkUsersFile(o *options) error {
	if _, err := o.loadUsers(); err != nil {
		return fmt.Errorf("--users: %w", err)
	}
	return nil
}

// show prints the name, value and source of every option.
func (c *configuration) show(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range c.flags {
		value := fmt.Sprint(f.Target.Interface())
		if f.IsSlice() {
			value = valueText(f)
		}
		if isSecret(f) && value != "" {
			value = "(secret)"
		}
		if value == "" {
			value = `""`
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.Name, value, c.origin(f))
	}
	table.Flush()
}
