//go:build !linux && !darwin

package main

// raiseFileLimit does nothing: the limit of open files is set by the parent process.
func raiseFileLimit(int) error { return nil }

// hideNewFiles does nothing: the rights of new files are those of their directory.
func hideNewFiles() {}
