package engine

// toy is the sliding log under another name.
type toy struct{ slidingLog }
