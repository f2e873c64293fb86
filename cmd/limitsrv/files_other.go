//go:build !linux && !darwin

package main

// raiseFileLimit does nothing: the limit of open files is set by the parent process.
func raiseFileLimit(int) error { return nil }

// hideNewFiles does nothing: new files have the rights of their directory.
func hideNewFiles() {}
