// Package spec has the form of a command, [Command], and of the calls by which commands and scripts
// change the state, [Family]. The families of commands, such as datatypes and limiters, are tables
// of Commands. Clients and scripts find a command in the same record.
//
// A Command has one Body. The bodies that need a connection are types of package session, which
// imports this package. So the packages that Engine.Apply reaches know no connection.
package spec
