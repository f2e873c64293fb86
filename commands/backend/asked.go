package backend

// Asked are command lines that a node without keys has another node answer.
type Asked struct {
	Proto3 bool // the client speaks RESP3
	InExec bool // the lines are part of a transaction
	Lines  []Line
}

// A Line is a command line in a database.
type Line struct {
	DB   uint8
	Args [][]byte
}
