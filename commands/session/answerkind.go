package session

// An answering is the size of the last answers of a session.
type answering uint8

const (
	unknown answering = iota
	short
	long
)

// An answerKind is the relation between the answer of a command and its effects.
type answerKind uint8

const (
	always  answerKind = iota // the answer is short
	reading                   // can be executed again
	taking                    // has effects, which follow its answer if that is short enough
	running                   // runs a script: effects precede the answer
)

// A tally counts the commands of a batch by their kinds, except for always.
type tally [running + 1]int32

// any reports whether there are some.
func (t *tally) any() bool { return t[reading]|t[taking]|t[running] != 0 }
