package collect

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// NotCollected is the file of a bundle that says what is not in it.
const NotCollected = "NOT-COLLECTED.txt"

// Folder is a bundle as a folder.
type Folder string

// NewFolder makes the folder; one that is there must be empty.
func NewFolder(dir string) (Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	in, err := os.ReadDir(dir)
	if err == nil && len(in) > 0 {
		err = errors.New(dir + ": there is something in it; name a new folder with -o")
	}
	return Folder(dir), err
}

// Put writes a file. Only its owner may read it: objects and logs hold names and secrets.
func (f Folder) Put(name string, data []byte) error {
	path := filepath.Join(string(f), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// Close has nothing to do.
func (f Folder) Close() error { return nil }

// Archive is a bundle as a .tar.gz, in which everything lies in one folder.
type Archive struct {
	file *os.File
	zip  *gzip.Writer
	tar  *tar.Writer
	root string
	now  time.Time
}

// NewArchive makes the file; one that is there is not overwritten.
func NewArchive(path string, now time.Time) (*Archive, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	zip := gzip.NewWriter(file)
	root := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".tar")
	return &Archive{file, zip, tar.NewWriter(zip), strings.TrimSuffix(root, ".tgz"), now}, nil
}

// Put adds a file.
func (a *Archive) Put(name string, data []byte) error {
	h := &tar.Header{Name: a.root + "/" + name, Mode: 0o600, Size: int64(len(data)), ModTime: a.now}
	if err := a.tar.WriteHeader(h); err != nil {
		return err
	}
	_, err := a.tar.Write(data)
	return err
}

// Close ends the file.
func (a *Archive) Close() error { return errors.Join(a.tar.Close(), a.zip.Close(), a.file.Close()) }
