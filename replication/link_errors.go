package replication

import (
	"errors"

	"limitsrv/persist"
)

var (
	// errNotTaken says that a batch was certainly not carried out, and may be tried
	// elsewhere.
	errNotAccepted = errors.New("the leader has not taken the request")
	// errUncertain says that a batch may or may not have been carried out.
	errUncertain = persist.ErrUncertain
)

// A codedError is an error of another node that clients may know.
type codedError struct{ code, text string }

func (e *codedError) Error() string { return e.text }

// Code is the code word that the text follows in an answer to a client.
func (e *codedError) Code() string { return e.code }

// errorParts are the code, empty if there is none, and the text that an error goes to
// another node as.
func errorParts(err error) (code, text string) {
	var coded interface {
		error
		Code() string
	}
	if errors.As(err, &coded) {
		return coded.Code(), coded.Error()
	}
	return "", err.Error()
}

// errorOf is the error of another node by its parts.
func errorOf(code, text string) error {
	switch code {
	case "":
		return errors.New(text)
	case errUncertainCode:
		return errUncertain
	}
	return &codedError{code, text}
}

// errUncertainCode is the code of errUncertain.
const errUncertainCode = "UNCERTAIN"
