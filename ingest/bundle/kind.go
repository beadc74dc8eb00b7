package bundle

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// kind is what a file is, by its first bytes: names lie (`.gz` that a browser unpacked,
// `.tar` that somebody compressed).
type kind struct {
	name   string
	unpack bool   // this package unpacks it
	advice string // what to do with one that it does not read
}

var (
	plain   = kind{name: "text"}
	gzipped = kind{name: "gzip", unpack: true}
	bzipped = kind{name: "bzip2", unpack: true}
	tarred  = kind{name: "tar", unpack: true}
	zipped  = kind{name: "zip", unpack: true}
	texts   = kind{name: "txtar", unpack: true}
	litter  = kind{name: "litter"} // what macOS puts beside every file
	journal = kind{
		name:   "journal",
		advice: "is a binary journal: run `journalctl --file %s -o export` and give its output",
	}
)

// magics are tried in order.
var magics = []struct {
	at    int
	bytes string
	kind  kind
}{
	{0, "\x1f\x8b\x08", gzipped},
	{0, "PK\x03\x04", zipped},
	{0, "PK\x05\x06", zipped}, // an empty one
	{257, "ustar", tarred},
	{0, "LPKSHHRH", journal},
	{0, "\x00\x05\x16\x07", litter},
	{0, "\x28\xb5\x2f\xfd", packedKind("zstd", "zstd -d")},
	{0, "\xfd7zXZ\x00", packedKind("xz", "xz -d")},
	{0, "\x04\x22\x4d\x18", packedKind("lz4", "lz4 -d")},
	{0, "\x1f\x9d", packedKind("compress", "uncompress")},
	{0, "7z\xbc\xaf\x27\x1c", packedKind("7z", "7z x")},
	{0, "Rar!\x1a\x07", packedKind("rar", "unrar x")},
}

func packedKind(name, command string) kind {
	return kind{
		name: name,
		advice: "is compressed with " + name + ", which coroner does not read: " +
			"run `" + command + " %s` and give the result",
	}
}

// kindOf judges a file by its start; name decides only about txtar, which is
// text itself.
func kindOf(name string, head []byte) kind {
	for _, m := range magics {
		if len(head) >= m.at && bytes.HasPrefix(head[m.at:], []byte(m.bytes)) {
			return m.kind
		}
	}
	if len(head) > 9 && string(head[:3]) == "BZh" && string(head[4:10]) == "1AY&SY" {
		return bzipped
	}
	if path.Ext(name) == ".txtar" {
		return texts
	}
	return plain
}

// packedName is the name of a file that is expected to be packed. What only its first bytes
// tell can be the output of a job.
var packedName = regexp.MustCompile(`(?i)\.(?:t?gz|gzip|bz2|tbz2?|tar|zip|txtar)$`)

// unpackedName is the name of what a compressed file holds.
func unpackedName(name string) string {
	for _, s := range []string{".gz", ".bz2"} {
		if base, ok := strings.CutSuffix(name, s); ok && base != "" {
			return base
		}
	}
	return name
}

// errBinary is a document that is no text.
var errBinary = errors.New("is binary, not text: give logs, journal exports or kubectl output")

// unread is an error that is already worded for a person.
type unread string

func (u unread) Error() string { return string(u) }

// adviceFor words an error for the person who pointed at the file.
func adviceFor(err error) string {
	var worded unread
	switch {
	case errors.As(err, &worded):
		return string(worded)
	case errors.Is(err, errBinary):
		return errBinary.Error()
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied: run as a user who may read it"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "is cut off: read as far as it goes; fetch it again for the rest"
	case errors.Is(err, zip.ErrFormat):
		return "is damaged or cut off, and nothing of a zip can be read then: fetch it again"
	case isDamaged(err):
		return fmt.Sprintf("is damaged (%v): read as far as it goes; fetch it again for the rest", err)
	}
	return "cannot be read: " + strings.ReplaceAll(err.Error(), "\n", "; ")
}

// isDamaged says whether err is a decompressor's or archive reader's complaint.
func isDamaged(err error) bool {
	var (
		corrupt flate.CorruptInputError
		bz      bzip2.StructuralError
	)
	for _, e := range []error{gzip.ErrHeader, gzip.ErrChecksum, tar.ErrHeader, zip.ErrChecksum} {
		if errors.Is(err, e) {
			return true
		}
	}
	return errors.As(err, &corrupt) || errors.As(err, &bz)
}
