// Package spec has the form of a family of calls.
package spec
