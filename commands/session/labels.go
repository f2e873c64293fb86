package session

// clientInfo is the part of CLIENT LIST that the transport does not know. Guarded by
// Session.mu, because any session may read it.
type clientInfo struct {
	Labels
	// channels and patterns are the numbers of subscriptions.
	channels, patterns int
	monitor            bool
	tracking           Tracking
}

// Labels are the values that a client sets for CLIENT LIST.
type Labels struct {
	Name, LibName, LibVer string
	DB                    int // the database chosen by SELECT
}

// Tracking is the mode of CLIENT TRACKING of a session. Its zero value is off.
type Tracking struct {
	On              bool
	Broadcast       bool
	NoLoop          bool
	OptIn, OptOut   bool
	Redirect        int64 // id of the session that gets the messages; 0: the session itself
	Caching, Broken bool  // CLIENT CACHING applies to the next command; Redirect is gone
}
