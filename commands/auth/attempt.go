package auth

// An attempt is a combination of address, name and password, for all waiters that sent it.
type attempt struct {
	host, name string
	password   []byte
	// clientKey digests host, name and password; credentialKey name and password; pair
	// host and name.
	clientKey, credentialKey, pair mac

	waiters    []*waiter
	duplicates []*attempt // attempts with the same name and password that share its check
	early      bool       // checked before its turn
	marked     bool       // it has marked its pair
	queued     bool       // it is in the line of its address
	err        error      // result of an early check, to be sent in its turn; nil: not checked yet
}

// A waiter is a pending login.
type waiter struct{ done func(*Account, error) }
