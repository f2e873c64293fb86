package lint_test

import (
	"flag"
	"log"
	"os"
	"testing"
)

// TestMain runs the tests in the root of the module, where their file names begin. Without a test
// log the go command does not cache their results: it would look for the files elsewhere, and
// would not see the files that programs read.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.testlogfile", ""); err != nil {
		log.Fatal(err)
	}
	if err := os.Chdir("../.."); err != nil {
		log.Fatal(err)
	}
	os.Exit(m.Run())
}
