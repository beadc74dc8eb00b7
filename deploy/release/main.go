// Command release makes what a release consists of beside the chart and the
// images: an archive of each program for each platform, with its licences and an
// SPDX document of what is in it, the manifest for krew, and the checksums of all
// files of the release.
//
// Invariant: an archive is a function of the sources, the Go release and
// SOURCE_DATE_EPOCH; what cannot be built on this machine is said, and why.
//
// Crash behaviour: a release is made anew; checksums are written last, so a
// folder without them is no release.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"coroner/deploy/chart"
	"coroner/deploy/licence"
)

func main() {
	out := flag.String("out", "dist", "folder for the release")
	url := flag.String(
		"url",
		"https://github.com/OWNER/coroner/releases/download/v"+chart.Version,
		"where the archives will be",
	)
	home := flag.String("homepage", "https://github.com/OWNER/coroner", "the project's page")
	program := flag.String("licences", "", "only write the licences of this program to the folder, for a Dockerfile")
	flag.Parse()
	run := func() error { return makeRelease(*out, *url, *home) }
	if *program != "" {
		run = func() error { return licences(*out, *program) }
	}
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// makeRelease makes the archives, the manifest and the checksums.
func makeRelease(out, url, home string) error {
	created, err := epochTime()
	if err != nil {
		return err
	}
	var made []archive
	for _, t := range targets {
		if why := t.whyMissing(); why != "" {
			fmt.Printf("not made: %s for %s/%s: %s\n", t.program, t.os, t.arch, why)
			continue
		}
		a, err := t.packProgram(out, created)
		if err != nil {
			return fmt.Errorf("%s for %s/%s: %w", t.program, t.os, t.arch, err)
		}
		fmt.Printf("%s %.1f MiB\n", filepath.Join(out, a.name), float64(a.size)/(1<<20))
		made = append(made, a)
	}
	manifest := krewManifest(made, url, home)
	return errors.Join(os.WriteFile(filepath.Join(out, "coroner.krew.yaml"), manifest, 0o644), checksums(out))
}

// licences writes what goes along with a program that is built for this machine.
func licences(out, program string) error {
	files, _, err := licence.Files(
		program,
		runtime.GOOS,
		runtime.GOARCH,
		map[string]string{"coroner": "0", "coroner-agent": "1"}[program],
	)
	if err == nil {
		err = os.MkdirAll(out, 0o755)
	}
	for name, text := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(out, name), text, 0o644)
		}
	}
	return err
}

// epochTime is the time that the files of an archive bear.
func epochTime() (time.Time, error) {
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH %s: want seconds", seconds)
	}
	return time.Unix(n, 0).UTC(), nil
}
