// Package pattern matches the patterns of Lua 5.1. Its work is counted in steps, which
// bound it: some patterns need time that grows with a power of the subject's length.
package pattern
