package main

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"limitsrv/internal/testing/browser"
)

var pagePicture = flag.String("page-picture", "",
	"a file, such as ../../docs/page.png, into which TestPagePicture writes a picture of the page")

const (
	// pictured is the duration of the load before the picture: the period that the page shows.
	pictured = 5 * time.Minute
	// maxPictureBytes bounds the size for a README.
	maxPictureBytes = 200_000
)

// TestPagePicture takes the README's picture at the path of -page-picture, after five
// minutes of a reproducible load in real time.
func TestPagePicture(t *testing.T) {
	if *pagePicture == "" {
		return
	}
	a := startAdminServer(t, nil, "--max-memory", "64mb")
	w, err := wireWithin(a.address, 2*pictured)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for range 40 { // idle connections
		wired(t, a.address)
	}
	random := rand.New(rand.NewPCG(1, 1))
	day := normalLoad{random, rand.NewZipf(random, 1.3, 20, 4000)}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for begin, at := time.Now(), time.Duration(0); ; at += pictureStep {
			select {
			case <-over:
				return
			case <-time.After(time.Until(begin.Add(at))):
			}
			if _, err := w.all(day.commands(at)...); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	defer func() {
		close(over)
		<-ended
	}()
	time.Sleep(pictured)
	tab := browser.Open(t)
	tab.Screen(1280, 1000, "light")
	tab.Visit(a.url)
	tab.Click("#window label:last-child")
	tab.UntilText("#denied", "ip:203.0.113.7")
	tab.Fill("#lookup-key", "user:0"+kb.Enter)
	tab.UntilText("#found-use", "remaining")
	tab.Until("(document.activeElement.blur(), true)")
	tab.Shot(*pagePicture)
	pack(t, *pagePicture)
	file, err := os.Stat(*pagePicture)
	if err != nil {
		t.Fatal(err)
	}
	if file.Size() > maxPictureBytes {
		t.Errorf("the picture has %d bytes, want at most %d", file.Size(), maxPictureBytes)
	}
}

// A normalLoad generates the requests of a service's users, and of a user that exceeds its
// limit.
type normalLoad struct {
	*rand.Rand
	users *rand.Zipf
}

// pictureStep is the interval between two batches of commands.
const pictureStep = 100 * time.Millisecond

// commands returns the commands of the step that begins at at.
func (d normalLoad) commands(at time.Duration) (all []string) {
	minutes := at.Minutes()
	for range int(120 + 25*math.Sin(minutes*2) + 12*d.Float64()) {
		user := d.users.Uint64()
		switch d.IntN(5) {
		case 0:
			all = append(all, fmt.Sprintf("RL.LOG login:%d 60 1m", user))
		case 1:
			all = append(all, fmt.Sprintf("RL.FIXED tenant:%d:exports 100000 month", user%60))
		default:
			all = append(all, fmt.Sprintf("RL.TOKEN user:%d 60 10", user))
		}
	}
	for range int(90 * math.Exp(-math.Pow(minutes-3.2, 2)/.05)) {
		all = append(all, "RL.TOKEN ip:203.0.113.7 20 5")
	}
	return all
}

// pack recompresses a PNG with its most frequent colors.
func pack(t *testing.T, name string) {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&packed, inFewColors(picture)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// inFewColors returns a picture in its 256 most frequent colors. Other colors, which are on the edges
// of letters and lines, become the nearest of these.
func inFewColors(picture image.Image) *image.Paletted {
	counts, bounds := map[color.Color]int{}, picture.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[picture.At(x, y)]++
		}
	}
	palette := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return counts[b] - counts[a] })
	few := image.NewPaletted(bounds, palette[:min(len(palette), 256)])
	draw.Draw(few, bounds, picture, bounds.Min, draw.Src)
	return few
}
