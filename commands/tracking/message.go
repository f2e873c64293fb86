package tracking

import "limitsrv/commands/resp"

// Channel is the channel that RESP2 clients receive redirected messages on, as in Redis.
const Channel = "__redis__:invalidate"

// invalidate returns the message that keys have changed.
func invalidate(keys []string) resp.Message {
	return message(func(w *resp.Writer) { w.BulkStrings(keys) })
}

// invalidateAll returns the message that all keys may have changed.
func invalidateAll() resp.Message { return message((*resp.Writer).Null) }

// message returns an invalidation message; last writes its last word.
func message(last func(*resp.Writer)) resp.Message {
	var two resp.Writer
	two.Array(3)
	two.BulkString("message")
	two.BulkString(Channel)
	last(&two)
	three := resp.Writer{Proto3: true}
	three.Push(2)
	three.BulkString("invalidate")
	last(&three)
	return resp.Message{Two: two.Buf, Three: three.Buf}
}

// RedirectBroken returns the message that the client of a redirection, id, is gone. It has no form
// in RESP2.
func RedirectBroken(id int64) resp.Message {
	w := resp.Writer{Proto3: true}
	w.Push(2)
	w.BulkString("tracking-redir-broken")
	w.Int(id)
	return resp.Message{Three: w.Buf}
}
