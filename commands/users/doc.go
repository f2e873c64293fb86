// Package users owns the file of users and the hashes of their passwords: what it may
// say, how a mistake in it is told, and whether a password is right. It knows no
// command and no connection.
//
// The file is YAML:
//
//	users:
//	  - name: shop
//	    hash: $argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$...
//	    groups: [decide]
//	    keys: ["api:*"]
//
// hashes may stand for hash and lists several, so that a password can be changed
// while clients still send the one before. enabled: false shuts a user out. groups are decide, peek and
// admin; who is in admin is in the others too. keys are patterns of Redis' kind; there
// is no default for them, as one that nobody wrote would surprise somebody.
//
// # Promises
//
//   - A mistake is told as FILE:LINE: what is wrong and what is allowed, and never with
//     anything that the file says: it may be a secret.
//   - A file costs at most a megabyte to read, and a password of it at most 256 MB and
//     some seconds to check, whatever the file says.
//   - A password that is wrong costs the same as the right one.
package users
