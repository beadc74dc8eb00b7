// Command image packs the two programs as OCI images, without a Docker daemon
// and without a registry: bin/coroner with the certificate authorities, and
// bin/coroner-agent with libsystemd and every library that it needs to read
// journals, as this machine's Debian packages have them. Beside each image it
// writes what is in it, as an SPDX document.
//
// Invariant: an image is a function of the files that went into it and of
// SOURCE_DATE_EPOCH: the same files give the same digest, whoever packs them,
// when and where. Every file of an image stands in its SPDX document with its
// hash and the module or package that it came from.
//
// Crash behaviour: an output is written under another name and renamed when it
// is whole; packed again, everything is as if nothing had happened.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"coroner/deploy/sbom"
)

func main() {
	bin := flag.String("bin", "bin", "folder with coroner and coroner-agent")
	out := flag.String("out", "dist", "folder for the images and their SPDX documents")
	prefix := flag.String("prefix", "localhost/", "put before the images' names")
	tag := flag.String("tag", "dev", "tag of the images")
	flag.Parse()
	created, err := sbom.Created(os.Getenv("SOURCE_DATE_EPOCH"))
	if err == nil {
		err = errors.Join(os.MkdirAll(*out, 0o755), packImages(*bin, *out, *prefix, *tag, created))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "image: %v\n", err)
		os.Exit(1)
	}
}

// packImages packs both programs and says what came out.
func packImages(bin, out, prefix, tag string, created time.Time) error {
	for _, p := range []struct {
		program string
		plan    func(program string) (*Image, error)
	}{{"coroner", serverImage}, {"coroner-agent", agentImage}} {
		img, err := p.plan(filepath.Join(bin, p.program))
		if err != nil {
			return fmt.Errorf("%s: %w", p.program, err)
		}
		img.Name, img.Tag, img.Created = prefix+p.program, tag, created
		path := filepath.Join(out, p.program)
		digest, size, err := img.Write(path + ".tar")
		if err == nil {
			err = img.describe(digest, path+".spdx.json")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.program, err)
		}
		fmt.Printf("%s:%s %s %.1f MiB %s.tar\n", img.Name, img.Tag, digest, float64(size)/(1<<20), path)
	}
	return nil
}
