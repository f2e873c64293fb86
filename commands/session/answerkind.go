package session

// An answering is the size of the answers of a session's last batch with commands that may answer
// at length.
type answering uint8

const (
	unknown answering = iota
	short
	long
)

// An answerKind tells when a command's answer may be long, and whether the command has effects.
type answerKind uint8

const (
	always  answerKind = iota // the answer is always short
	reading                   // the answer may be long; the command only reads, and can be executed again
	taking                    // the answer may be long; changes nothing if it would exceed engine.MaxAnswerBytes
	running                   // runs a script; its effects precede the answer
)

// A tally counts the commands of a batch by answerKind, except always.
type tally [running + 1]int32

// any reports whether a command of the batch may have a long answer.
func (t *tally) any() bool { return t[reading]|t[taking]|t[running] != 0 }
