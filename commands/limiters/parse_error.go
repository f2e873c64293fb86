package limiters

import (
	"fmt"

	"limitsrv/commands/resp"
	"limitsrv/commands/word"
)

// Allowed values in error texts.
const (
	durations = "1us to 10 years, such as 60 (seconds), 0.25, 500ms, 1m or 7d"
	rates     = "tokens per second, such as 10 or 0.5, or a whole count/duration, such as 100/60, 100/minute or 5000/d, " +
		"from 1 in 10 years to 1000000000 per second"
)

// badArgument is an error with the argument's name, its allowed values and the value
// given.
func badArgument(name, must string, given []byte) *resp.Error {
	return resp.NewError("ERR", name+" must be "+must+", got "+word.Excerpt(given))
}

// badSize is badArgument for an empty or too long argument.
func badSize(name string, most int, given []byte) error {
	return badArgument(name, fmt.Sprintf("1 to %d bytes long", most), given)
}

// NoValue is the error for an option at the end of a line, where a value had to follow.
func NoValue(option []byte) error {
	return resp.NewError("ERR", "no value follows "+word.Excerpt(option))
}

// BadWhole is badArgument for a whole number out of bounds.
func BadWhole(name string, least, most int64, given []byte) error {
	return badArgument(name, fmt.Sprintf("a whole number from %d to %d", least, most), given)
}
