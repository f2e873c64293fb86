// Package syntax parses Lua 5.1. The tree has all variables resolved: locals have slots,
// and upvalues have indices. Constants are folded as Lua's compiler does. Limits and texts
// of errors are as in Lua 5.1.
package syntax
