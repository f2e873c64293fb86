// Package source reads the text of rule sets: YAML, with the line of every part.
//
// Parse returns a Document for each domain, with all words checked by themselves: known,
// of the right kind, within the bounds of bounds.go, each word once in its mapping. The
// relations between the parts, such as names that must be unique, are checked by package
// rules. The reader is go.yaml.in/yaml/v3, because it reads scalars as envoyproxy/ratelimit
// does: a value of 010 is the text 010, and requests_per_unit of 010 is 8. Files in plain
// YAML without mistakes are read by yamlfile.Stream instead, to the same documents.
//
// ParseCases reads test cases of rules in the same way.
//
// # Promises
//
//   - No text costs more than a fixed multiple of its size in time and memory: sizes,
//     nesting and the expansion of aliases are bounded before or while it is read.
//   - Every rule file that envoyproxy/ratelimit loads is read with the same meaning.
//     Exceptions are a file with a word twice in a mapping, and further documents, which it
//     ignores.
package source
