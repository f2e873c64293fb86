// Package users owns the users file and password hashes: the file's format, its error
// messages, and password checks. It has no dependency on commands or connections.
//
// The file is YAML:
//
//	users:
//	  - name: shop
//	    hash: $argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$...
//	    groups: [decide]
//	    keys: ["api:*"]
//
// hashes may replace hash and lists several, so that a password can be changed while clients
// still send the previous password. enabled: false disables a user. groups are decide, peek,
// rules and admin; a user in admin is in the other groups too. keys are patterns of Redis' kind;
// they have no default, because a default that is not in the file would be a surprise.
//
// # Promises
//
//   - An error has the form FILE:LINE: problem and allowed values. It never contains text
//     of the file, because that may be a secret.
//   - A file costs at most a megabyte to read, and a password check at most 256 MB and a
//     few seconds, for any parameters in the file.
//   - Checking a wrong password costs the same as checking the right password.
package users
