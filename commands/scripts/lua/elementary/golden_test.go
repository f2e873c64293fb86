package elementary

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"testing"
)

const goldenFile = "testdata/golden.txt"

// TestGolden compares some ten thousand results with a file that holds on all processors.
func TestGolden(t *testing.T) {
	if *rewrite {
		writeGolden(t)
	}
	file, err := os.Open(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	words := bufio.NewScanner(file)
	words.Split(bufio.ScanWords)
	n, wrong := 0, 0
	for i := range functions {
		f := &functions[i]
		if !words.Scan() || words.Text() != f.name+":" {
			t.Fatalf("%s has %q at result %d, want %s:", goldenFile, words.Text(), n, f.name)
		}
		f.each(perFunction, func(x, y float64) {
			words.Scan()
			if got := goldenText(f.call(x, y)); got != words.Text() {
				if wrong++; wrong <= 20 {
					t.Errorf("%s(%x, %x) = %s, want %s", f.name, x, y, got, words.Text())
				}
			}
			n++
		})
	}
	if n < 10_000 || words.Scan() {
		t.Errorf("%d results, and then %q; want at least 10000, and the end", n, words.Text())
	}
	if wrong > 0 {
		t.Errorf("%d of %d results differ", wrong, n)
	}
}

// perFunction is the number of random arguments of a function in the golden file.
const perFunction = 500

func writeGolden(t *testing.T) {
	var b bytes.Buffer
	for i := range functions {
		f, n := &functions[i], 0
		fmt.Fprintf(&b, "%s:", f.name)
		f.each(perFunction, func(x, y float64) {
			if n++; n%7 == 0 {
				fmt.Fprintln(&b)
			} else {
				fmt.Fprint(&b, " ")
			}
			fmt.Fprint(&b, goldenText(f.call(x, y)))
		})
		fmt.Fprintln(&b)
	}
	if err := os.WriteFile(goldenFile, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// goldenText returns the bits of x. The sign of a NaN differs between processors.
func goldenText(x float64) string {
	if x != x {
		return "nan"
	}
	return fmt.Sprintf("%016x", math.Float64bits(x))
}
