// Package live keeps the rules and overrides of a node compiled: a Keeper follows the documents
// of the engine, and gives a State to decide by.
//
//	text -> Prepare -> stored.SetLoad -> engine.Do -> documents of the space engine.Rules
//	documents -> Keeper -> State: the compiled rules and overrides, for checks
//
// Each node compiles the same text from its own documents, in the background. A State names the
// version of its documents. The engine refuses decisions by another version, so a node that is
// slow to compile never decides by older rules after a load was answered.
//
// The counters of a State are of this node only. A limit keeps its counters through loads.
package live
