package session

// clientInfo is the part of CLIENT LIST that the transport does not know. Guarded by
// Session.mu, because any session may read it.
type clientInfo struct {
	Labels
	// number of subscribed channels and patterns, and whether MONITOR is on.
	channels, patterns int
	monitor            bool
	tracking           Tracking
}

// Labels are the values that a client sets for CLIENT LIST.
type Labels struct {
	Name, LibName, LibVer string
	DB                    int // number of SELECT
}

// Tracking is how a session tracks keys, see CLIENT TRACKING. Its zero value is off.
type Tracking struct {
	On              bool
	Broadcast       bool
	NoLoop          bool
	OptIn, OptOut   bool
	Redirect        int64 // id of the session that gets the messages; 0: the session itself
	Caching, Broken bool  // CLIENT CACHING applies to the next command; Redirect is gone
}
