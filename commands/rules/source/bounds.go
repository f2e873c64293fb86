package source

// Bounds of a rule set.
const (
	// MaxBytes bounds the text of all files.
	MaxBytes = 16 << 20
	// MaxParts bounds the line ends and the bytes , : [ { - ? in the text of all files. The
	// YAML reader needs up to 250 bytes of memory for each of them.
	MaxParts   = 2_500_000
	MaxDomains = 1000
	// MaxRules bounds the nodes of trees and the rules of all domains.
	MaxRules = 100_000
	// MaxDepth bounds the levels of a tree.
	MaxDepth = 16
	// MaxLimits bounds the limits of a rule, of each of its tiers, or of a node.
	MaxLimits = 16
	// MaxWildcards bounds the values with * below a node, and MaxValues the values of an
	// attribute in match.
	MaxWildcards = 256
	MaxValues    = 256
	// MaxAttributes bounds the attributes in match, in per and in http.
	MaxAttributes = 32
	// MaxTiers bounds the tiers of a rule.
	MaxTiers = 256
	// MaxListed bounds the entries of all lists.
	MaxListed = 100_000
	// MaxNameBytes bounds names and keys, MaxValueBytes values.
	MaxNameBytes  = 256
	MaxValueBytes = 1024
	// MaxWords bounds the words of a mapping.
	MaxWords = 1000
	// MaxNesting bounds the nesting of the YAML, MaxMetadata the parts of a metadata.
	MaxNesting  = 64
	MaxMetadata = 1000
	// MaxExpansion bounds the parts that the text stands for with its aliases expanded, as a
	// multiple of those that it has.
	MaxExpansion = 10
	// MaxMistakes bounds the reported mistakes of a text.
	MaxMistakes = 20
	// MaxCases bounds the requests of a file of test cases.
	MaxCases = 1_000_000
	// MaxPenaltyAfter bounds the strikes that close a penalty box.
	MaxPenaltyAfter = 1_000_000
)
