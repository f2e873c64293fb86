package main

import (
	"bytes"
	"flag"
	"fmt"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"limitsrv/browser"
)

var pagePicture = flag.String("page-picture", "", "a file, such as ../../docs/page.png, into which TestPagePicture writes a picture of the page")

const (
	// pictured is how long there is load before the picture, as much as the page shows.
	pictured = 5 * time.Minute
	// maxPictureBytes is what a README can carry.
	maxPictureBytes = 200_000
)

// TestPagePicture takes the README's picture, where -page-picture says so: of five
// minutes of load, which takes as long. Its load is the same each time.
func TestPagePicture(t *testing.T) {
	if *pagePicture == "" {
		return
	}
	a := serveAdministered(t, nil, "--max-memory", "64mb")
	w, err := wireWithin(a.address, 2*pictured)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for range 40 { // connections that only listen
		wired(t, a.address)
	}
	random := rand.New(rand.NewPCG(1, 1))
	users := rand.NewZipf(random, 1.3, 20, 4000)
	const step = 100 * time.Millisecond
	begin := time.Now()
	for at := time.Duration(0); at < pictured; at += step {
		minutes := at.Minutes()
		requests := 120 + 25*math.Sin(minutes*2) + 12*random.Float64()
		var commands []string
		for range int(requests) {
			user := users.Uint64()
			switch random.IntN(4) {
			case 0:
				commands = append(commands, fmt.Sprintf("RL.LOG login:%d 5 1m", user%900))
			case 1:
				commands = append(commands, fmt.Sprintf("RL.FIXED tenant:%d:exports 100000 month", user%60))
			default:
				commands = append(commands, fmt.Sprintf("RL.TOKEN user:%d 60 30", user))
			}
		}
		wave := 90 * math.Exp(-math.Pow(minutes-3.2, 2)/.05)
		for range int(wave) {
			commands = append(commands, "RL.TOKEN ip:203.0.113.7 20 5")
		}
		if _, err := w.all(commands...); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(begin.Add(at + step)))
	}
	tab := browser.Open(t)
	tab.Screen(1280, 1000, "light")
	tab.Visit(a.url)
	tab.Click("#window label:last-child")
	tab.UntilText("#denied", "ip:203.0.113.7")
	if _, err := w.all("RL.TOKEN ip:203.0.113.7 20 0.02 9"); err != nil {
		t.Fatal(err)
	}
	tab.Click("#denied tbody button")
	tab.UntilText("#found-use", "left")
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

// pack makes a PNG as small as it gets.
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
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&packed, picture); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
