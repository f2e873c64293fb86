// Package auth owns the users of a server: their accounts and rights, the verification of
// passwords, and its limits. The users file and its hashes are in users, below it. It
// knows no command and no session; a session keeps an Account.
//
// It imports engine, for the token buckets of addresses, users, glob and resp.
//
// # Logins
//
// A login may require a slow password hash and therefore calls back; Logins documents its
// limits. An Account is a user with the current rights from the users file. A reload
// changes the rights of accounts in place, so that a session notices it without a lock:
// reading the rights costs an atomic load.
package auth
