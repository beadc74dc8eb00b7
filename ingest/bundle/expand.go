package bundle

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"coroner/ingest/wrapping"

	"golang.org/x/tools/txtar"
)

// maxTxtar is the largest txtar archive: it is parsed in memory.
const maxTxtar = 64 << 20

// expander unpacks inputs down to documents and hands each to visit, in order.
type expander struct {
	bundle  *Bundle
	quick   bool // visit looks at the start of documents only
	visit   func(rawDocument) error
	count   func(n int) // bytes of inputs that were read
	members *atomic.Int64
}

// errStopped ends everything; visit returns it.
var errStopped = errors.New("stopped")

// source is one file or member, packed or not.
type source struct {
	name   string
	path   string // to name in advice
	mtime  time.Time
	size   int64
	r      *bufio.Reader
	at     io.ReaderAt // where it can be read at any place; nil for a stream
	meter  *meter
	depth  int  // archives around it
	layers int  // compressions around it
	packed bool // the name is still that of the compressed file
	stream bool // it has no name that could say what it is
	hidden bool // something around it is packed, and its name does not say so
}

// openInput opens one input and visits what is in it. The error is errStopped or nil.
func (x *expander) openInput(in *input) error {
	s := source{name: in.name, path: in.path, mtime: in.mtime, size: in.size, meter: x.bundle.opts.newMeter(in.size),
		stream: in.stream != nil || in.spool != nil}
	switch {
	case in.stream != nil:
		s.r = in.stream
		if !x.quick {
			s.r = bufio.NewReaderSize(counted{Reader: in.stream, count: x.count}, headSize)
		}
	case in.memory != nil:
		s.openAs(in.memory, x.count)
	case in.spool != nil:
		s.openAs(in.spool, x.count)
	default:
		file, err := os.Open(in.path)
		if err != nil {
			x.bundle.failOn(in.name, err)
			return nil
		}
		defer file.Close()
		s.openAs(file, x.count)
	}
	return x.settleError(s.name, x.expandSource(s))
}

// openAs makes f the content of s.
func (s *source) openAs(f io.ReaderAt, count func(int)) {
	s.at = counted{ReaderAt: f, count: count}
	s.r = bufio.NewReaderSize(io.NewSectionReader(s.at, 0, s.size), headSize)
}

// settleError turns an error of one document or archive into a problem; errStopped
// and an archive that grows too large end more than that.
func (x *expander) settleError(name string, err error) error {
	switch {
	case err == nil || errors.Is(err, errStopped):
		return err
	case errors.Is(err, errBomb):
		name, _, _ = strings.Cut(name, "!")
	}
	x.bundle.failOn(name, err)
	return nil
}

// expandSource visits s, or what it holds.
func (x *expander) expandSource(s source) error {
	head, err := s.r.Peek(headSize)
	if err != nil && err != io.EOF && len(head) == 0 {
		return err
	}
	k := kindOf(s.plainName(), head)
	if k.unpack && !packedName.MatchString(s.name) {
		if !s.stream {
			return unread(fmt.Sprintf(hiddenAdvice, k.name))
		}
		s.hidden = true
	}
	switch {
	case k == litter:
		return nil
	case k.advice != "":
		return unread(fmt.Sprintf(k.advice, s.path))
	case k == plain:
		return x.visitLeaf(s, head)
	case k == gzipped || k == bzipped:
		return x.visitUnpacked(s, k)
	case s.depth >= maxNested:
		return unread("is an archive inside an archive inside an archive: unpack it yourself and give the files")
	case k == tarred:
		return x.visitTar(s)
	case k == zipped:
		return x.visitZip(s)
	}
	return x.visitTxtar(s)
}

// hiddenAdvice is for what is packed behind the name of something else: whoever prints into
// that file, a job for one, chose what is in it and what it is called there.
const hiddenAdvice = "is a %s archive that is not called one: skipped, for a job can print that; " +
	"if you packed it yourself, give it an archive's name, or unpack it"

// plainName is the name without what its compression added.
func (s source) plainName() string {
	if s.packed {
		return unpackedName(s.name)
	}
	return s.name
}

// visitLeaf visits s itself.
func (x *expander) visitLeaf(s source, head []byte) error {
	if x.members.Add(1) > maxMembers {
		x.bundle.addProblem(
			s.name,
			"is one file too many: only %d were read; give the ones around the death",
			maxMembers,
		)
		return errStopped
	}
	d := rawDocument{name: s.plainName(), mtime: s.mtime, head: head, r: s.r, hidden: s.hidden}
	w := wrappingOf(d)
	d.pasted, d.shown = w.Pasted(), w.Latest()
	if d.head = w.Text(head); !w.None() && !x.quick {
		d.r = bufio.NewReaderSize(w.Reader(s.r), headSize)
	}
	if s.at != nil && s.size > headSize && x.quick {
		tail := make([]byte, headSize)
		n, _ := s.at.ReadAt(tail, max(headSize, s.size-headSize))
		_, d.tail, _ = bytes.Cut(w.Text(tail[:n]), []byte("\n"))
	}
	return x.visit(d)
}

// wrappingOf finds what lies around the lines of a document since people handed
// it on. What coroner kept itself nobody wrapped. A container prints what it likes,
// so its log is wrapped only where all lines are the kubelet's without it.
func wrappingOf(d rawDocument) (w wrapping.Wrapping) {
	if isRecorded(d.name) {
		return w
	}
	w = wrapping.Of(d.head)
	if !w.None() && streamName.MatchString(hintName(d.name)) {
		for line := range bytes.Lines(w.Text(d.head)) {
			line = bytes.TrimSpace(line)
			if len(line) > 0 && !kubeletLine.Match(line) && !bytes.HasPrefix(line, fence) {
				return wrapping.Wrapping{}
			}
		}
	}
	return w
}

// kubeletLine is how every line of a container's log begins.
var kubeletLine = regexp.MustCompile(`^(?:\d{4}-\d\d-\d\dT\S+ std(?:out|err) |\{"log":)`)

var fence = []byte("```")

// visitUnpacked visits what a compressed file holds.
func (x *expander) visitUnpacked(s source, k kind) error {
	if s.layers > maxNested {
		return unread("is compressed too often: unpack it yourself")
	}
	var r io.Reader
	switch k {
	case bzipped:
		r = bzip2.NewReader(s.r)
	default:
		zr, err := gzip.NewReader(s.r)
		if err != nil {
			return err
		}
		r = zr
	}
	s.layers++
	s.packed, s.at, s.size = true, nil, 0
	s.r = bufio.NewReaderSize(s.meter.wrapReader(r), headSize)
	return x.expandSource(s)
}

// memberOf is a file of the archive s.
func (s source) memberOf(name string, mtime time.Time, r io.Reader) source {
	s.name += "!" + printable(path.Clean("/" + name)[1:])
	s.path, s.mtime = s.name, mtimeOf(mtime, s.mtime)
	s.packed, s.stream, s.at, s.size = false, false, nil, 0
	s.r = bufio.NewReaderSize(r, headSize)
	s.depth++
	return s
}

// visitMember visits a member. The error is what ends the whole archive.
func (x *expander) visitMember(m source) error {
	err := x.expandSource(m)
	if errors.Is(err, errBomb) {
		return err
	}
	return x.settleError(m.name, err)
}

func (x *expander) visitTar(s source) error {
	var r io.Reader = s.r
	if s.at != nil {
		r = io.NewSectionReader(s.at, 0, s.size) // a tar file's members can be skipped
	}
	tr, files := tar.NewReader(r), 0
	for {
		h, err := tr.Next()
		switch {
		case err == io.EOF:
			return holdsFiles(files)
		case err != nil:
			return err
		case h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeGNUSparse:
			x.noteSpecial(s, h)
			continue
		}
		files++
		if err := x.visitMember(s.memberOf(h.Name, h.ModTime, s.meterSparse(h, tr))); err != nil {
			return err
		}
	}
}

// meterSparse meters a member whose holes take no room in the archive.
func (s source) meterSparse(h *tar.Header, r io.Reader) io.Reader {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return s.meter.wrapReader(r)
		}
	}
	if h.Typeflag == tar.TypeGNUSparse {
		return s.meter.wrapReader(r)
	}
	return r
}

// noteSpecial says that a member is no file. Links are left out quietly: what they
// name is most often in the archive, too.
func (x *expander) noteSpecial(s source, h *tar.Header) {
	switch h.Typeflag {
	case tar.TypeFifo, tar.TypeChar, tar.TypeBlock:
		x.bundle.addProblem(
			s.name+"!"+printable(h.Name),
			"is a %s, not a file: skipped",
			specialKind(h.FileInfo().Mode()),
		)
	}
}

func holdsFiles(n int) error {
	if n > 0 {
		return nil
	}
	return unread("holds no files; if it holds links, pack it again with `tar -h`")
}

// visitZip needs to read at any place, so a zip in a stream is copied first.
func (x *expander) visitZip(s source) error {
	if s.at == nil {
		file, size, err := spoolCopy(s.r, x.bundle.opts.MaxUnpacked)
		if err != nil {
			return err
		}
		defer file.Close()
		s.at, s.size = file, size
	}
	zr, err := zip.NewReader(s.at, s.size)
	if err != nil {
		return err
	}
	files := 0
	for _, f := range zr.File {
		if !f.Mode().IsRegular() {
			continue
		}
		files++
		if err := x.visitZipped(s, f); err != nil {
			return err
		}
	}
	return holdsFiles(files)
}

func (x *expander) visitZipped(s source, f *zip.File) error {
	name := s.name + "!" + printable(f.Name)
	if f.Flags&1 != 0 {
		x.bundle.addProblem(name, "is encrypted: unpack it with its password and give the file")
		return nil
	}
	r, err := f.Open()
	if err != nil {
		return x.settleError(name, err)
	}
	defer r.Close()
	return x.visitMember(s.memberOf(f.Name, f.Modified, s.meter.wrapReader(r)))
}

// visitTxtar visits the files of a text archive. Its comment and the files want*,
// which hold what a test expects, are no inputs.
func (x *expander) visitTxtar(s source) error {
	data, err := io.ReadAll(io.LimitReader(s.r, maxTxtar+1))
	if err != nil {
		return err
	}
	if len(data) > maxTxtar {
		return unread(fmt.Sprintf("is a txtar archive of more than %d MB: unpack it and give the files", maxTxtar>>20))
	}
	files := 0
	for _, f := range txtar.Parse(data).Files {
		if strings.HasPrefix(path.Base(f.Name), "want") {
			continue
		}
		files++
		if err := x.visitMember(s.memberOf(f.Name, s.mtime, bytes.NewReader(f.Data))); err != nil {
			return err
		}
	}
	return holdsFiles(files)
}
