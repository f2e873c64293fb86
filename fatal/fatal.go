// Package fatal ends the process where going on would be wrong. It imports nothing
// but the standard library.
package fatal

import (
	"fmt"
	"runtime/debug"
)

// OnPanic, deferred around a call, has a panic of that call end the process, with its
// stack on standard error and exit status 2, whatever would recover it further out. It is for
// code that holds locks or changes state: after a panic there a supervisor is to start
// the server again from its disk.
//
// Cost: that of a deferred call, some 2 ns. Locks that the call has let go of in
// deferred functions are free until the process has ended, as with any panic.
func OnPanic() {
	p := recover()
	if p == nil {
		return
	}
	text := fmt.Sprintf("%v\n\n%s", p, debug.Stack())
	go panic(text) // nothing recovers it there
	select {}
}
