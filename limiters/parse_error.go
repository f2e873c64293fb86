package limiters

import (
	"bytes"
	"fmt"

	"limitsrv/commands/resp"
	"limitsrv/commands/word"
)

// Allowed values in error texts.
const (
	durations = "1us to 10 years in whole nanoseconds, such as 60 (seconds), 0.25, 500ms, 1m or 7d"
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

// BadWhole is badArgument for a whole number out of bounds.
func BadWhole(name string, least, most int64, given []byte) error {
	return badArgument(name, fmt.Sprintf("a whole number from %d to %d", least, most), given)
}

// badNumber is badArgument for a number that may have a fraction. Clients format a small
// float with an exponent; the error then shows the accepted form.
func badNumber(name, must string, given []byte) error {
	if e := bytes.IndexAny(given, "eE"); e > 0 && e+1 < len(given) && isDigit(given[e-1]) &&
		(isDigit(given[e+1]) || given[e+1] == '-' || given[e+1] == '+') {
		must = "written without an exponent, such as 0.00001 instead of 1e-05"
	}
	return badArgument(name, must, given)
}
