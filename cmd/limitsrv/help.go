package main

import (
	"fmt"

	"github.com/alecthomas/kong"

	"limitsrv/commands"
)

// description is what --help starts with.
const description = `A rate limiter server that speaks the Redis protocol.

Try it, and ask for a permit of a bucket of 10 that refills at 5 a second:

  limitsrv &
  redis-cli RL.TOKEN user:42 10 5

Serve a network, with 1 GB for keys:

  LIMITSRV_PASSWORD=secret limitsrv --listen 0.0.0.0:6379 --max-memory 1gb`

// printHelp adds the commands that decide to what kong says about the options.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	options.NoAppDescFormat = true
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	fmt.Fprint(ctx.Stdout, "\nCommands of the limiter; limitsrv --help-commands tells what they and all others do:\n\n")
	for _, c := range commands.Table() {
		if c.Group == limiterGroup {
			fmt.Fprintf(ctx.Stdout, "  %s\n", c.Usage())
		}
	}
	return nil
}

// limiterGroup is the group of the commands that decide.
const limiterGroup = "limiter"
