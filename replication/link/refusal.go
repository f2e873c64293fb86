package link

// A refusal is the error of a node that refuses a link.
type refusal struct {
	reason refusalReason
	text   string
}

func (r *refusal) Error() string { return r.text }

// Garbled returns the error of a node that sent invalid bytes.
func Garbled(text string) error { return &refusal{reasonGarbled, text} }

// A refusalReason groups refusals for the log.
type refusalReason uint8

const (
	reasonGarbled refusalReason = iota
	reasonTLS
	reasonVersion
	reasonNode
	reasonOtherCluster
	reasonBusy
	reasonSecret
	reasonNoSecret
	reasonNotYet
	reasonTampered
)
