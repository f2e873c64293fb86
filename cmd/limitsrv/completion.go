package main

import (
	"fmt"
	"slices"
	"strings"

	"limitsrv/cmd/limitsrv/completion"
	"limitsrv/cmd/limitsrv/options"
)

// completionOptions are the options of the tool completion.
type completionOptions struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

const completionDescription = `Prints the script with which a shell completes the options and tools of limitsrv.

  bash:  limitsrv completion bash > /etc/bash_completion.d/limitsrv
  zsh:   limitsrv completion zsh > "${fpath[1]}/_limitsrv"
  fish:  limitsrv completion fish > ~/.config/fish/completions/limitsrv.fish`

func runCompletion(c call) int {
	var o completionOptions
	if code, ok := c.parse("completion", completionDescription, &o); !ok {
		return code
	}
	words, err := completionWords(c.tools)
	if err == nil {
		err = completion.Write(c.stdout, o.Shell, words)
	}
	if err != nil {
		fmt.Fprintf(c.stderr, "limitsrv completion: %v\n", err)
		return exitFailure
	}
	return exitOK
}

// completionWords returns the options and tools.
func completionWords(tools []tool) (words completion.Words, err error) {
	flags, err := options.Flags()
	if err != nil {
		return words, err
	}
	for _, f := range flags {
		words.Options = append(words.Options, completion.Word{
			Name: f.Name, Help: firstSentence(f.Help), Flag: f.IsBool(), Values: options.Choices(f),
			Files: slices.Contains([]string{"FILE", "DIR", "PATH"}, f.PlaceHolder),
		})
	}
	for _, t := range tools {
		w := completion.Word{Name: t.name, Help: t.help, Files: true}
		if first, _, _ := strings.Cut(t.args, " "); strings.Contains(first, "|") {
			w.Values = strings.Split(first, "|")
		}
		words.Tools = append(words.Tools, w)
	}
	return words, nil
}

// firstSentence returns text up to its first full stop.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(text, ". ")
	return strings.TrimSuffix(text, ".")
}
