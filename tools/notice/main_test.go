package main

import (
	"os"
	"strings"
	"testing"
)

func TestNotice(t *testing.T) {
	want, err := notice()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("../../NOTICE"); err != nil || string(got) != want {
		t.Errorf("NOTICE has not the licenses of the libraries in the binary (%v): go run ./tools/notice >NOTICE", err)
	}
	for _, library := range []string{"the standard library of Go\n", "github.com/hashicorp/raft v", "uplot\n",
		"google.golang.org/grpc v"} {
		if !strings.Contains(want, "\n"+library) {
			t.Errorf("the licenses lack %q", library)
		}
	}
}

// TestShipped requires the release archives and the image to have the license and the notice.
func TestShipped(t *testing.T) {
	for _, name := range []string{"../../.ci/release", "../../Dockerfile"} {
		if text, err := os.ReadFile(name); err != nil || !strings.Contains(string(text), " LICENSE NOTICE ") {
			t.Errorf("%s does not copy LICENSE and NOTICE (%v)", name, err)
		}
	}
}

// TestLicenses requires all licenses to be of kinds that a server under the Apache License 2.0
// may contain.
func TestLicenses(t *testing.T) {
	found, err := libraries()
	if err != nil {
		t.Fatal(err)
	}
	kinds := []string{
		"Apache License", "Redistribution and use in source and binary forms", "Permission is hereby granted, free of charge",
		"Mozilla Public License",
	}
	for _, l := range found {
		texts, err := licensesOf(l.Dir)
		if err != nil {
			t.Errorf("%s: %v", l.Path, err)
		}
		text := strings.Join(strings.Fields(strings.Join(texts, " ")), " ")
		known := false
		for _, kind := range kinds {
			known = known || strings.Contains(text, kind)
		}
		if !known {
			t.Errorf("%s has an unknown license: %.200s", l.Path, text)
		}
	}
}
