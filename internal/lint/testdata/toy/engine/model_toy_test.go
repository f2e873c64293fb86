package engine_test

// toyLog is TOY: the log under another name.
type toyLog struct{ logModel }
