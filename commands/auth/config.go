package auth

import (
	"log/slog"
	"time"

	"limitsrv/commands/auth/users"
)

// Config holds the users and the dependencies of Logins.
type Config struct {
	Password string // of the default user; empty: it needs no password if there is no users file
	// Users, unless nil, are the users of a file, and Load reads the file again; both are
	// set or neither. The default user is not among them if there is a Password.
	Users *users.Table
	Load  func() (*users.Table, error)
	Log   *slog.Logger                // nil: slog.Default()
	Spawn func(func())                // nil: the go statement
	After func(time.Duration, func()) // nil: time.AfterFunc
}
