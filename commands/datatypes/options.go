package datatypes

import (
	"math"

	"limitsrv/engine"
	"limitsrv/engine/values/numbers"
)

// An expiryForm is a command's form of an expiry.
type expiryForm uint8

const (
	noExpiry expiryForm = iota
	afterSeconds
	afterMillis
	atSeconds
	atMillis
)

func (f expiryForm) absolute() bool { return f == atSeconds || f == atMillis }

// options are the options of SET and GETEX.
type options struct {
	notThere, there    bool // NX, XX
	get, keep, persist bool
	expiry             expiryForm
	time               []byte // argument of expiry
}

// An optionSet is the set of options that a command has.
type optionSet uint8

const (
	forSet optionSet = iota
	forGetEx
)

// expiryWords are the options with a time, by form.
var expiryWords = [...]string{afterSeconds: "EX", afterMillis: "PX", atSeconds: "EXAT", atMillis: "PXAT"}

// parseOptions parses the options of a command. wrong is set if an option is unknown, lacks
// its argument or excludes another option.
func parseOptions(args [][]byte, of optionSet) (o options, wrong bool) {
	for i := 0; i < len(args); i++ {
		switch word := args[i]; {
		case of == forSet && isWord(word, "NX") && !o.there:
			o.notThere = true
		case of == forSet && isWord(word, "XX") && !o.notThere:
			o.there = true
		case of == forSet && isWord(word, "GET"):
			o.get = true
		case of == forSet && isWord(word, "KEEPTTL") && o.expiry == noExpiry:
			o.keep = true
		case of == forGetEx && isWord(word, "PERSIST") && o.expiry == noExpiry:
			o.persist = true
		default:
			form := expiryFormOf(word)
			if form == noExpiry || o.keep || o.persist || o.expiry != noExpiry && o.expiry != form || i+1 == len(args) {
				return o, true
			}
			i++
			o.expiry, o.time = form, args[i]
		}
	}
	return o, false
}

// expiryFormOf returns the form of an option, or noExpiry.
func expiryFormOf(word []byte) expiryForm {
	for form := afterSeconds; form <= atMillis; form++ {
		if isWord(word, expiryWords[form]) {
			return form
		}
	}
	return noExpiry
}

// when returns the expiry in milliseconds since the Unix epoch, 0 without an option for it, or
// the error for the named command.
func (o *options) when(now engine.Instant, name string) (at int64, wrong string) {
	if o.expiry == noExpiry {
		return 0, ""
	}
	at, ok := numbers.ParseInt(o.time)
	if !ok {
		return 0, errNotInt
	}
	seconds := o.expiry == afterSeconds || o.expiry == atSeconds
	if at <= 0 || seconds && at > math.MaxInt64/1000 {
		return 0, errExpire(name)
	}
	if seconds {
		at *= 1000
	}
	if !o.expiry.absolute() {
		if at > math.MaxInt64-now.Millis() {
			return 0, errExpire(name)
		}
		at += now.Millis()
	}
	return at, ""
}

// isWord reports whether an argument is a word in capitals, in any case. As in Redis it ends
// at a zero byte.
func isWord(arg []byte, word string) bool {
	if len(arg) > len(word) && arg[len(word)] == 0 {
		arg = arg[:len(word)]
	}
	if len(arg) != len(word) {
		return false
	}
	for i, c := range arg {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != word[i] {
			return false
		}
	}
	return true
}
