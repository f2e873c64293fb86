// Package stored has the rules and overrides that are part of an engine's state: their documents,
// and the calls that change and show them. Apply runs the calls, so they depend on the state
// alone.
//
// A text is compiled before its call is proposed, so a text with mistakes never gets into a log.
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
package stored
