package lint_test

import (
	"log"
	"os"
	"testing"
)

// TestMain runs the tests in the root of the module, where their file names begin.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		log.Fatal(err)
	}
	os.Exit(m.Run())
}
