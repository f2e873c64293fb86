package session

import (
	"fmt"
	"strings"

	"limitsrv/commands/resp"
	"limitsrv/commands/word"
)

// unknownCommand is Redis' text, with at most 128 bytes of the arguments, and advice or,
// without any, the nearest of names.
func unknownCommand(args [][]byte, advice string, names []string) *resp.Error {
	var shown strings.Builder
	for _, a := range args[1:] {
		if shown.Len() >= 128 {
			break
		}
		fmt.Fprintf(&shown, "'%.*s' ", 128-shown.Len(), word.CString(a))
	}
	if advice == "" {
		advice = word.DidYouMean(args[0], names...)
	}
	return resp.NewError("ERR",
		fmt.Sprintf("unknown command '%.128s', with args beginning with: %s", word.CString(args[0]), shown.String())+advice)
}

// BadSubcommand returns Redis' error for a subcommand with too many words.
func BadSubcommand(args [][]byte) error {
	return resp.NewError("ERR", fmt.Sprintf("unknown subcommand or wrong number of arguments for '%.128s'. Try %s HELP.",
		word.CString(args[1]), strings.ToUpper(word.CString(args[0]))))
}

// unknownSub is Redis' text for an unknown subcommand, and the nearest of names.
func unknownSub(name []byte, container string, names []string) *resp.Error {
	return resp.NewError("ERR", fmt.Sprintf("unknown subcommand '%.128s'. Try %s HELP.", word.CString(name), container)+
		word.DidYouMean(name, names...))
}
