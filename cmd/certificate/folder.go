package certificate

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Folder keeps a pair as the files ca.crt, tls.key and tls.crt.
type Folder string

// Load implements Store.
func (f Folder) Load(context.Context) (p Pair, err error) {
	for name, into := range f.files(&p) {
		data, bad := os.ReadFile(name)
		if bad != nil && !errors.Is(bad, fs.ErrNotExist) {
			err = errors.Join(err, bad)
		}
		*into = data
	}
	return p, err
}

// Save implements Store. The key is for its owner only.
func (f Folder) Save(_ context.Context, p Pair) error {
	if err := os.MkdirAll(string(f), 0o755); err != nil {
		return err
	}
	for _, name := range []string{"tls.key", "ca.crt", "tls.crt"} {
		path, mode := filepath.Join(string(f), name), fs.FileMode(0o644)
		if name == "tls.key" {
			mode = 0o600
		}
		if err := os.WriteFile(path+".new", *f.files(&p)[path], mode); err != nil {
			return err
		}
		if err := os.Rename(path+".new", path); err != nil {
			return err
		}
	}
	return nil
}

func (f Folder) files(p *Pair) map[string]*[]byte {
	in := func(name string) string { return filepath.Join(string(f), name) }
	return map[string]*[]byte{in("ca.crt"): &p.CA, in("tls.crt"): &p.Cert, in("tls.key"): &p.Key}
}
