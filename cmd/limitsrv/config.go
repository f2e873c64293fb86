package main

import (
	"errors"
	"fmt"
	"strings"
)

const configUsage = `usage: limitsrv config check [FILE] [options]   reads FILE, the environment and the options as the
                                             server would, and the files that they name
       limitsrv config show [FILE] [options]    prints every option with its value and source

FILE defaults to LIMITSRV_CONFIG, if set. Exits with 0 if the configuration is valid, and with 2 if not.
`

// runConfig is the tool config. The arguments after FILE are the command line of a
// server.
func runConfig(c call) int {
	if c.asksHelp() {
		fmt.Fprint(c.stdout, configUsage)
		return exitOK
	}
	if len(c.args) == 0 || c.args[0] != "check" && c.args[0] != "show" {
		fmt.Fprint(c.stderr, configUsage)
		return exitUsage
	}
	command, args := c.args[0], c.args[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		args = append([]string{"--config", args[0]}, args[1:]...)
	}
	c.args = args
	o, err := c.parseOptions()
	if errors.Is(err, errDone) {
		return exitOK
	}
	if o != nil && command == "check" {
		err = errors.Join(err, o.CheckFiles(err))
	}
	if err != nil {
		fmt.Fprintln(c.stderr, err)
		return exitUsage
	}
	for _, w := range o.Warnings() {
		fmt.Fprintln(c.stderr, w)
	}
	if command == "show" {
		o.Show(c.stdout)
		return exitOK
	}
	name := o.Config
	if name == "" {
		name = "the command line and the environment"
	}
	fmt.Fprintf(c.stdout, "%s: ok\n", name)
	return exitOK
}
