package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image is what an archive is made of.
type Image struct {
	Name, Tag, Arch string
	User            string
	Entry, Cmd      []string
	Layers          [][]File
	Created         time.Time
	Licences        map[string]string // of the Go modules, by path
}

// Write writes the image as an archive that docker load, podman load, skopeo and
// containerd's import take, and returns the manifest's digest and the size.
func (i *Image) Write(file string) (digest string, size int, err error) {
	img, err := i.buildImage()
	if err != nil {
		return "", 0, err
	}
	dir, err := os.MkdirTemp("", "coroner-image")
	if err != nil {
		return "", 0, err
	}
	defer os.RemoveAll(dir)
	out, err := layout.Write(dir, empty.Index)
	if err != nil {
		return "", 0, err
	}
	named := map[string]string{
		"io.containerd.image.name":          i.Name + ":" + i.Tag,
		"org.opencontainers.image.ref.name": i.Tag,
	}
	if err := out.AppendImage(img, layout.WithAnnotations(named)); err != nil {
		return "", 0, err
	}
	files, err := filesIn(os.DirFS(dir))
	if err != nil {
		return "", 0, err
	}
	older, err := i.dockerManifest(img)
	if err != nil {
		return "", 0, err
	}
	data, err := tarOf(append(files, older), i.Created)
	if err != nil {
		return "", 0, err
	}
	hash, err := img.Digest()
	return hash.String(), len(data), errors.Join(err, replaceFile(file, data))
}

// buildImage puts the layers together and says how the image is run.
func (i *Image) buildImage() (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.ConfigFile(
		img,
		&v1.ConfigFile{Architecture: i.Arch, OS: "linux", Created: v1.Time{Time: i.Created},
			RootFS: v1.RootFS{Type: "layers"},
			Config: v1.Config{
				User:       i.User,
				Entrypoint: i.Entry,
				Cmd:        i.Cmd,
				Env:        []string{"PATH=/usr/bin"},
				WorkingDir: "/",
			}},
	)
	if err != nil {
		return nil, err
	}
	for _, files := range i.Layers {
		plain, err := layerTar(files, i.Created)
		if err != nil {
			return nil, err
		}
		open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(plain)), nil }
		packed, err := tarball.LayerFromOpener(
			open,
			tarball.WithCompressionLevel(gzip.BestCompression),
			tarball.WithMediaType(types.OCILayer),
		)
		if err != nil {
			return nil, err
		}
		history := v1.History{Created: v1.Time{Time: i.Created}}
		if img, err = mutate.Append(img, mutate.Addendum{Layer: packed, History: history}); err != nil {
			return nil, err
		}
	}
	return img, nil
}

// dockerManifest is the list that older Dockers read in place of the layout.
func (i *Image) dockerManifest(img v1.Image) (File, error) {
	m, err := img.Manifest()
	if err != nil {
		return File{}, err
	}
	entry := tarball.Descriptor{Config: blobPath(m.Config.Digest), RepoTags: []string{i.Name + ":" + i.Tag}}
	for _, l := range m.Layers {
		entry.Layers = append(entry.Layers, blobPath(l.Digest))
	}
	data, err := json.Marshal([]tarball.Descriptor{entry})
	return File{Path: "manifest.json", Mode: 0o644, Data: data}, err
}

// blobPath is where a layout keeps what has that hash.
func blobPath(h v1.Hash) string { return path.Join("blobs", h.Algorithm, h.Hex) }

// filesIn are the files of a folder.
func filesIn(dir fs.FS) (out []File, err error) {
	err = fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(dir, name)
		out = append(out, File{Path: name, Mode: 0o644, Data: data})
		return err
	})
	return out, err
}

// layerTar is files and their folders as a tar.
func layerTar(files []File, at time.Time) ([]byte, error) {
	dirs := map[string]bool{}
	all := slices.Clone(files)
	for _, f := range files {
		for dir := path.Dir(f.Path); dir != "/" && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
			all = append(all, File{Path: dir + "/", Mode: 0o755})
		}
	}
	return tarOf(all, at)
}

// tarOf is a tar of files, sorted, of root, of one time.
func tarOf(files []File, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range files {
		h := &tar.Header{Name: strings.TrimPrefix(f.Path, "/"), Mode: f.Mode, Size: int64(len(f.Data)), ModTime: at,
			Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if strings.HasSuffix(f.Path, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, err
		}
	}
	err := w.Close() // it writes the end
	return out.Bytes(), err
}

// replaceFile writes a file in one step.
func replaceFile(file string, data []byte) error {
	err := os.WriteFile(file+".tmp", data, 0o644)
	if err == nil {
		err = os.Rename(file+".tmp", file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file+".tmp"))
	}
	return nil
}
