package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Image is what an archive is made of.
type Image struct {
	Name, Tag, Arch string
	User            string
	Entry, Cmd      []string
	Layers          [][]File
	Created         time.Time
}

// The media types of the OCI image format.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type object = map[string]any

// archive is an OCI image layout in the making.
type archive struct{ blobs []File }

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func blob(digest string) string { return "blobs/sha256/" + strings.TrimPrefix(digest, "sha256:") }

// add stores a blob.
func (a *archive) add(mediaType string, data []byte) descriptor {
	d := descriptor{MediaType: mediaType, Digest: digestOf(data), Size: len(data)}
	a.blobs = append(a.blobs, File{Path: blob(d.Digest), Mode: 0o644, Data: data})
	return d
}

func (a *archive) addJSON(mediaType string, v any) descriptor { return a.add(mediaType, encode(v)) }

// encode is JSON with its keys sorted.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil { // only texts, numbers and lists are given
		panic(err)
	}
	return data
}

// Write writes the image as an archive that docker load, podman load and
// containerd's import take, and returns the manifest's digest and the size.
func (i *Image) Write(file string) (digest string, size int, err error) {
	a := &archive{}
	var layers []descriptor
	var diffs, paths []string
	for _, files := range i.Layers {
		plain, err := layer(files, i.Created)
		if err != nil {
			return "", 0, err
		}
		d := a.add(typeLayer, packed(plain))
		layers, diffs, paths = append(layers, d), append(diffs, digestOf(plain)), append(paths, blob(d.Digest))
	}
	config := a.addJSON(typeConfig, i.config(diffs))
	manifest := a.addJSON(typeManifest, object{"schemaVersion": 2, "mediaType": typeManifest, "config": config, "layers": layers})
	data, err := tarred(append(a.blobs, i.index(manifest, config, paths)...), i.Created)
	if err != nil {
		return "", 0, err
	}
	return manifest.Digest, len(data), replace(file, data)
}

// config says how the image is run.
func (i *Image) config(diffs []string) object {
	run := object{"User": i.User, "Entrypoint": i.Entry, "Env": []string{"PATH=/usr/bin"}, "WorkingDir": "/"}
	if len(i.Cmd) > 0 {
		run["Cmd"] = i.Cmd
	}
	return object{"architecture": i.Arch, "os": "linux", "created": i.Created.Format(time.RFC3339), "config": run,
		"rootfs": object{"type": "layers", "diff_ids": diffs}}
}

// index is the way in: OCI's, and the list that older Dockers read.
func (i *Image) index(manifest, config descriptor, layers []string) []File {
	manifest.Annotations = map[string]string{"io.containerd.image.name": i.Name + ":" + i.Tag, "org.opencontainers.image.ref.name": i.Tag}
	index := object{"schemaVersion": 2, "mediaType": typeIndex, "manifests": []any{manifest}}
	docker := []object{{"Config": blob(config.Digest), "RepoTags": []string{i.Name + ":" + i.Tag}, "Layers": layers}}
	return []File{{Path: "index.json", Mode: 0o644, Data: encode(index)}, {Path: "manifest.json", Mode: 0o644, Data: encode(docker)},
		{Path: "oci-layout", Mode: 0o644, Data: []byte(`{"imageLayoutVersion":"1.0.0"}`)}}
}

// layer is files and their folders as a tar.
func layer(files []File, at time.Time) ([]byte, error) {
	dirs := map[string]bool{}
	all := slices.Clone(files)
	for _, f := range files {
		for dir := path.Dir(f.Path); dir != "/" && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
			all = append(all, File{Path: dir + "/", Mode: 0o755})
		}
	}
	return tarred(all, at)
}

// tarred is a tar of files, sorted, of root, of one time.
func tarred(files []File, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range files {
		h := &tar.Header{Name: strings.TrimPrefix(f.Path, "/"), Mode: f.Mode, Size: int64(len(f.Data)), ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
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

// packed is data through gzip, which bears no name and no time.
func packed(data []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // a level that there is
	_, _ = w.Write(data)                                    // into memory
	_ = w.Close()
	return out.Bytes()
}

// replace writes a file in one step.
func replace(file string, data []byte) error {
	err := os.WriteFile(file+".tmp", data, 0o644)
	if err == nil {
		err = os.Rename(file+".tmp", file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file+".tmp"))
	}
	return nil
}
