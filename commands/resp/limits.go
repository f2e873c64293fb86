package resp

// Limits bound the commands of a connection. A command that exceeds a limit is a protocol
// error.
type Limits struct {
	Args        int // arguments of a command, its name included
	ArgBytes    int // bytes of an argument
	QueryBytes  int // bytes of a command on the wire
	InlineBytes int // bytes of an inline command or of a length, without the line end
}

// DefaultLimits leave room for RL.ALL of 64 limits (321 arguments) and for a DEL of some
// thousand keys. InlineBytes is Redis' own.
var DefaultLimits = Limits{
	Args:        16 << 10,
	ArgBytes:    64 << 10,
	QueryBytes:  1 << 20,
	InlineBytes: 64 << 10,
}

// Limits before authentication, as in Redis (redis/redis#9588).
const (
	maxUnauthArgs     = 10
	maxUnauthArgBytes = 16 << 10
)
