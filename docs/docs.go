// Package docs holds the documents that the server shows.
package docs

import _ "embed"

// Troubleshooting is the text of troubleshooting.md.
//
//go:embed troubleshooting.md
var Troubleshooting []byte
