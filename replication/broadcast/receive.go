package broadcast

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"

	"limitsrv/replication/link"
)

// A frame has the length of the channel in channelHead bytes, the channel, and the message.
const channelHead = 2

// bufferBytes is the size of the read buffer of a link.
const bufferBytes = 64 << 10

// frameSize returns the size in bytes of the frame of a message, including the length of the frame.
func frameSize(channel, message []byte) int {
	return link.FrameHead + channelHead + len(channel) + len(message)
}

// appendFrame appends the frame of a message, including its length, to to.
func appendFrame(to, channel, message []byte) []byte {
	to = binary.BigEndian.AppendUint32(to, uint32(frameSize(channel, message)-link.FrameHead))
	to = binary.BigEndian.AppendUint16(to, uint16(len(channel)))
	to = append(to, channel...)
	return append(to, message...)
}

// Receive calls deliver with each message of a link, in order, until the link breaks or a frame is
// invalid. It returns the reason. deliver must not keep the bytes.
func Receive(conn net.Conn, deliver func(channel, message []byte)) error {
	frames := link.NewFrameReader(bufio.NewReaderSize(conn, bufferBytes), maxQueued)
	for {
		frame, err := frames.Next()
		if err != nil {
			return err
		}
		end := channelHead
		if len(frame) >= channelHead {
			end += int(binary.BigEndian.Uint16(frame))
		}
		if end > len(frame) {
			return link.Garbled(fmt.Sprintf("a message of %d bytes with a channel of %d", len(frame), end-channelHead))
		}
		deliver(frame[channelHead:end], frame[end:])
	}
}
