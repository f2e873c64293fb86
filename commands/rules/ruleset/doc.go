// Package ruleset keeps the rules and overrides that are part of an engine's state: the
// calls that change them, and their compiled form, by which a node decides.
//
//	text -> Prepare -> SetLoad -> engine.Do -> documents of the space engine.Rules
//	documents -> Keeper -> State: the compiled rules and overrides, for checks
//
// The text is compiled before its call is proposed, so a text with mistakes never gets into a
// log. Each node compiles the same text from its own documents, in the background. A decision
// names the version of the documents by which it was made, and the engine refuses those of
// another version: none is made by older rules after a load was answered.
//
// # Documents
//
//	set                 the Header of the rules in use
//	text/VERSION/PART   their text, in parts
//	past/VERSION        the Headers of the last MaxPast versions before; the texts of some of
//	                    them are kept, up to MaxPastBytes
//	forgotten           the first bytes of the SHA-256 of the texts of MaxForgotten versions before
//	                    these, so that a node with an old file does not load it again
//	override/DOMAIN/ID  an override; DOMAIN and ID are hashes
//
// A reader outside of the engine may see the documents in the middle of a call. So texts are
// set before the Header that names them.
//
// The version of the rules counts the loads that changed them. The version of the documents
// counts overrides too.
package ruleset
