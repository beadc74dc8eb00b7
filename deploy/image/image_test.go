package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

var epochTime = time.Unix(0, 0).UTC()

// programs is the folder of the built programs.
func programs(t *testing.T, what string) string {
	t.Helper()
	bin := os.Getenv("CORONER_BIN")
	if bin == "" {
		t.Skipf("not shown: %s (make images shows it)", what)
	}
	return bin
}

// packOnce packs both images, once for all tests.
var packOnce = sync.OnceValues(func() (out string, err error) {
	out, err = os.MkdirTemp("", "coroner-images")
	return out, errors.Join(err, packImages(os.Getenv("CORONER_BIN"), out, "localhost/", "test", epochTime))
})

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("CORONER_BIN") != "" {
		out, _ := packOnce() // each test saw the error
		_ = os.RemoveAll(out)
	}
	os.Exit(code)
}

// packs returns where the packed images are.
func packs(t *testing.T, what string) string {
	t.Helper()
	programs(t, what)
	out, err := packOnce()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// read is the files of an archive, by name.
func read(t *testing.T, file string) map[string][]byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files := map[string][]byte{}
	each(t, f, func(h *tar.Header, data []byte) { files[h.Name] = data })
	return files
}

func each(t *testing.T, from io.Reader, visit func(*tar.Header, []byte)) {
	t.Helper()
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		visit(h, data)
	}
}

// unpack makes the root file system of an image, as a runtime does.
func unpack(t *testing.T, file, root string) {
	t.Helper()
	files := read(t, file)
	var manifests []struct{ Layers []string }
	if err := json.Unmarshal(files["manifest.json"], &manifests); err != nil || len(manifests) != 1 {
		t.Fatalf("manifest.json: %v %s", err, files["manifest.json"])
	}
	for _, name := range manifests[0].Layers {
		z, err := gzip.NewReader(bytes.NewReader(files[name]))
		if err != nil {
			t.Fatal(err)
		}
		each(t, z, func(h *tar.Header, data []byte) {
			path := filepath.Join(root, h.Name)
			if h.Typeflag == tar.TypeDir {
				err = os.MkdirAll(path, 0o755)
			} else {
				err = os.WriteFile(path, data, os.FileMode(h.Mode))
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// An image is a function of its files: neither their order nor the time of the
// packing changes a byte of it, and a changed file changes its digest.
func TestSameFilesSameImage(t *testing.T) {
	files := []File{
		{Path: "/a/b", Mode: 0o644, Data: []byte("b")},
		{Path: "/a/c", Mode: 0o755, Data: []byte("c")},
		{Path: "/d", Mode: 0o644},
	}
	write := func(files []File) (string, []byte) {
		path := filepath.Join(t.TempDir(), "x.tar")
		img := &Image{
			Name:    "x",
			Tag:     "1",
			Arch:    "amd64",
			Entry:   []string{"/a/c"},
			Layers:  [][]File{files},
			Created: epochTime,
		}
		digest, size, err := img.Write(path)
		data, _ := os.ReadFile(path)
		if err != nil || len(data) != size {
			t.Fatal(err, size, len(data))
		}
		return digest, data
	}
	digest, data := write(files)
	reversed := slices.Clone(files)
	slices.Reverse(reversed)
	if again, same := write(reversed); again != digest || !bytes.Equal(data, same) {
		t.Errorf("the order of the files changed the image: %s, %s", digest, again)
	}
	files[1].Mode = 0o644
	if other, _ := write(files); other == digest {
		t.Error("another mode, the same digest")
	}
}

// Packed twice, the real images are the same, byte for byte.
func TestRealImagesAreReproducible(t *testing.T) {
	one, two := packs(t, "that the images are reproducible"), t.TempDir()
	if err := packImages(programs(t, "it"), two, "localhost/", "test", epochTime); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"coroner.tar", "coroner-agent.tar", "coroner.spdx.json", "coroner-agent.spdx.json"} {
		a, err := os.ReadFile(filepath.Join(one, name))
		b, err2 := os.ReadFile(filepath.Join(two, name))
		if err := errors.Join(err, err2); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs (%v)", name, err)
		}
	}
}

// Whoever follows the layout from its index finds every blob under its hash,
// and the name that a cluster asks for.
func TestLayoutIsWhole(t *testing.T) {
	files := read(t, filepath.Join(packs(t, "that the images are whole"), "coroner-agent.tar"))
	var index v1.IndexManifest
	var manifest v1.Manifest
	decode(t, files["index.json"], &index)
	m := index.Manifests[0]
	if m.Annotations["io.containerd.image.name"] != "localhost/coroner-agent:test" {
		t.Errorf("named %v", m.Annotations)
	}
	decode(t, files[blobPath(m.Digest)], &manifest)
	for _, d := range append(manifest.Layers, manifest.Config, m) {
		if data := files[blobPath(d.Digest)]; digestOf(data) != d.Digest.String() || len(data) != int(d.Size) {
			t.Errorf("%s of %s: %d bytes with %s", d.Digest, d.MediaType, len(data), digestOf(data))
		}
	}
	var config struct {
		Rootfs struct {
			DiffIDs []string `json:"diff_ids"`
		}
		Config struct{ User string }
	}
	decode(t, files[blobPath(manifest.Config.Digest)], &config)
	for i, l := range manifest.Layers {
		z, err := gzip.NewReader(bytes.NewReader(files[blobPath(l.Digest)]))
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := io.ReadAll(z); err != nil || digestOf(plain) != config.Rootfs.DiffIDs[i] {
			t.Errorf("layer %d: %v, %s is not %s", i, err, digestOf(plain), config.Rootfs.DiffIDs[i])
		}
	}
}

func digestOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%v: %.200s", err, data)
	}
}

// The server's image holds its program, the authorities, and who may run: there
// is nothing to be misused in it.
func TestServerImageHoldsNothingElse(t *testing.T) {
	root := t.TempDir()
	unpack(t, filepath.Join(packs(t, "what is in the server's image"), "coroner.tar"), root)
	var got []string
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			got = append(got, strings.TrimPrefix(path, root))
		}
		return err
	})
	const doc = "/usr/share/doc/coroner/"
	want := []string{
		"/etc/group",
		"/etc/passwd",
		bundle,
		"/usr/bin/coroner",
		doc + "LICENSE",
		doc + "LICENSING.md",
		doc + "THIRD-PARTY.txt",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: %v, want %v", err, got, want)
	}
}
