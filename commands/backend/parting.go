package backend

// A Parting tells a server that shuts down whether to take a snapshot first.
type Parting uint8

const (
	SaveIfQuick Parting = iota // if the snapshot takes about a second at most
	SaveNever
	SaveAlways
)

// String returns yes, no or quick.
func (p Parting) String() string { return partings[p] }

var partings = [...]string{SaveIfQuick: "quick", SaveNever: "no", SaveAlways: "yes"}
