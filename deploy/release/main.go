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
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"coroner/deploy/chart"
	"coroner/deploy/licence"
	"coroner/deploy/sbom"
)

func main() {
	out := flag.String("out", "dist", "folder for the release")
	owner := flag.String("owner", "", "whose the project is on GitHub, where -url and -homepage are not given")
	url := flag.String("url", "", "where the archives will be")
	home := flag.String("homepage", "", "the project's page")
	program := flag.String("licences", "", "only write the licences of this program to the folder, for a Dockerfile")
	check := flag.Bool("check", false, "only look whether it is said where the release will be found")
	flag.Parse()
	run := func() error {
		at, err := addressesOf(*owner, *url, *home)
		if err != nil || *check {
			return err
		}
		return makeRelease(*out, at)
	}
	if *program != "" {
		run = func() error { return licences(*out, *program) }
	}
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// addresses are where a release will be found: its archives and the project's page.
type addresses struct{ url, home string }

// ownerForm is a name on GitHub. OWNER is what pages say in the place of one.
var ownerForm = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})$`)

// addressesOf works them out. The sources do not know whose the project is: whoever makes
// a release says it, else krew would be sent to a page that is not there.
func addressesOf(owner, url, home string) (addresses, error) {
	page := "https://github.com/" + owner + "/coroner"
	at := addresses{
		url:  cmp.Or(url, page+"/releases/download/v"+chart.Version),
		home: cmp.Or(home, page),
	}
	named := ownerForm.MatchString(owner) && owner != "OWNER"
	if !named && (url == "" || home == "") || strings.Contains(at.url+at.home, "/OWNER/") {
		return addresses{}, fmt.Errorf("no owner %q: say whose the project is on GitHub, make release OWNER=NAME, "+
			"or where it is found, RELEASE_URL= and RELEASE_HOME=", owner)
	}
	return at, nil
}

// makeRelease makes the archives, the manifest and the checksums.
func makeRelease(out string, at addresses) error {
	created, err := sbom.Created(os.Getenv("SOURCE_DATE_EPOCH"))
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
	manifest := krewManifest(made, at)
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
