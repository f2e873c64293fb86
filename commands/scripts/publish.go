package scripts

import (
	"fmt"

	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// maxPublished bounds the messages of a run with their channels, in bytes.
const maxPublished = 16 << 20

// publish is PUBLISH. Each node sends the message to its own subscribers when it applies the
// run. The answer is always 0: the number of subscribers differs between nodes and at a
// replay, and a script could depend on it.
func publish(m *machine, out []byte) []byte {
	channel, message := m.words[1], m.words[2]
	size := len(channel) + len(message)
	if len(channel) > engine.MaxChannelBytes {
		return answer.AppendError(out,
			fmt.Sprintf("ERR a channel has a name of at most %d bytes, got %d", engine.MaxChannelBytes, len(channel)))
	}
	if m.published+size > maxPublished {
		return answer.AppendError(out, fmt.Sprintf("ERR a script publishes at most %d bytes", maxPublished))
	}
	m.published += size
	m.tx.Publish(channel, message)
	return answer.AppendInt(out, 0)
}
