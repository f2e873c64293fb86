package engine_test

// toyModel is TOY: the log under another name.
type toyModel struct{ logModel }
