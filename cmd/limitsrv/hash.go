package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"limitsrv/commands/auth/users"
)

// hashOptions are the options of the tool hash-password, which has no options.
type hashOptions struct{}

const hashDescription = `Reads a password from standard input, without echo on a terminal, and prints its
argon2id hash for the file of --users.`

func runHash(c call) int {
	if code, ok := c.parse("hash-password", hashDescription, &hashOptions{}); !ok {
		return code
	}
	password, err := readPassword(c.stdin, c.stderr)
	if err == nil {
		var text string
		if text, err = users.Hash(password); err == nil {
			fmt.Fprintln(c.stdout, text)
			return exitOK
		}
	}
	fmt.Fprintf(c.stderr, "limitsrv hash-password: %v\n", err)
	return exitFailure
}

// readPassword reads a password: from a terminal twice and without echo, otherwise the
// first line of stdin.
func readPassword(stdin io.Reader, prompt io.Writer) ([]byte, error) {
	file, ok := stdin.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		line, err := bufio.NewReader(io.LimitReader(stdin, users.MaxPasswordBytes+2)).ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("read the password: %w", err)
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
	}
	var typed [2][]byte
	for i, ask := range []string{"Password: ", "Again: "} {
		fmt.Fprint(prompt, ask)
		var err error
		typed[i], err = term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(prompt)
		if err != nil {
			return nil, fmt.Errorf("read the password: %w", err)
		}
	}
	if !bytes.Equal(typed[0], typed[1]) {
		return nil, errors.New("the passwords differ")
	}
	return typed[0], nil
}
