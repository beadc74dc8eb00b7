package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"coroner/classify"
	"coroner/classify/postmortem"
	"coroner/cmd/console"
	"coroner/cmd/daemon"
	"coroner/cmd/parallel"
	"coroner/ingest"
	"coroner/ingest/bundle"
	"coroner/rules"
	"coroner/rules/book"
)

// inputFlags are how every command that reads logs is told what to read.
type inputFlags struct {
	Rules    string   `help:"${input_rules}" placeholder:"DIR"`
	Timezone string   `help:"${input_timezone}" placeholder:"ZONE"`
	Paths    []string `arg:"" optional:"" name:"path" help:"${input_path}"`

	piped beginning // of standard input, for reopen
}

// beginning keeps what is written to it, as far as there is room.
type beginning struct{ data []byte }

// maxPiped is how much of standard input is kept to be read once more, in bytes.
const maxPiped = 16 << 20

// Write never fails.
func (b *beginning) Write(data []byte) (int, error) {
	b.data = append(b.data, data[:min(len(data), maxPiped-len(b.data))]...)
	return len(data), nil
}

// builtIn is the rulebook without any other, compiled when it is first asked for.
var builtIn = sync.OnceValues(func() (*rules.Rulebook, error) { return rules.Load(book.Files) })

// loadBook loads the built-in rulebook and what --rules lays over it.
func loadBook(dir string) (*rules.Rulebook, error) {
	load := builtIn
	if dir != "" {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			const what = "not a readable folder; give the folder that holds the *.yaml files"
			return nil, usage("%w", daemon.WrongValue("rules", dir, what))
		}
		own := os.DirFS(dir)
		if names, err := fs.Glob(own, "*.yaml"); err == nil && len(names) == 0 {
			return nil, usage("%w", daemon.WrongValue("rules", dir, "no *.yaml file is in that folder"))
		}
		load = func() (*rules.Rulebook, error) { return rules.Load(book.Files, own) }
	}
	b, err := load()
	if err != nil {
		return nil, badBook(err)
	}
	return b, nil
}

func badBook(err error) error {
	return exitError{exitUsage, fmt.Errorf("the rulebook has mistakes:\n%w", err)}
}

// openInput finds the documents; the caller closes the bundle.
func (f *inputFlags) openInput(p *program, book *rules.Rulebook) (*bundle.Bundle, error) {
	if len(f.Paths) == 0 {
		return nil, usage("expected \"<path> ...\": files, folders, archives, or - for standard input\n"+
			"hint: %s --help", p.command)
	}
	o := bundle.Options{Now: p.now(), Next: book.Next}
	if p.in != nil {
		o.Stdin = io.TeeReader(p.in, &f.piped)
	}
	return f.openWith(o)
}

// reopenInput finds the documents once more, for who wants every line of them. Of standard
// input the beginning is there again; what comes from other pipes is gone.
func (f *inputFlags) reopenInput(p *program) (*bundle.Bundle, error) {
	return f.openWith(bundle.Options{Now: p.now(), Stdin: bytes.NewReader(f.piped.data)})
}

func (f *inputFlags) openWith(o bundle.Options) (*bundle.Bundle, error) {
	if f.Timezone != "" {
		zone, err := time.LoadLocation(f.Timezone)
		if err != nil {
			return nil, usage("--timezone %s: unknown zone; use a name like Europe/Berlin or UTC", f.Timezone)
		}
		o.Zone = zone
	}
	b, err := bundle.Open(f.Paths, o)
	if err != nil {
		return nil, usage("%w", err)
	}
	return b, nil
}

// reading is one run over the input: the rulebook, the documents, and a line of
// progress on a terminal.
type reading struct {
	book   *rules.Rulebook
	bundle *bundle.Bundle
	show   func(bundle.Progress)
	clear  func() // removes the line of progress
	short  atomic.Int64
}

// parts hands the entries of every file to take, on all processors.
func (r *reading) parts(take func(i int, entries iter.Seq[ingest.Entry])) {
	r.bundle.Parts(runtime.GOMAXPROCS(0), r.show, take)
}

// record is what is kept of the whole input.
func (r *reading) record() *classify.Record {
	var mu sync.Mutex
	var parts []*classify.Part
	r.parts(func(_ int, entries iter.Seq[ingest.Entry]) {
		part := classify.Take(parallel.Ahead(entries), r.book)
		r.short.Add(int64(part.Short))
		mu.Lock()
		defer mu.Unlock()
		parts = append(parts, part)
	})
	return classify.Join(parts)
}

// start loads and opens everything that a command reads.
func (f *inputFlags) start(p *program) (*reading, error) {
	usual := debug.SetGCPercent(-1) // loading leaves less behind than looking for it costs
	book, err := loadBook(f.Rules)
	debug.SetGCPercent(usual)
	if err != nil {
		return nil, err
	}
	in, err := f.openInput(p, book)
	if err != nil {
		return nil, err
	}
	show, clear := p.progress()
	return &reading{book: book, bundle: in, show: show, clear: clear}, nil
}

// report prints what could not be read, one line each, and says whether
// anything was.
func (r *reading) report(p *program) error {
	for _, problem := range r.bundle.Problems() {
		fmt.Fprintf(p.err, "coroner: %s\n", postmortem.Clean(problem.String()))
	}
	if n := r.short.Load(); n > 0 {
		fmt.Fprintf(p.err, "coroner: of %d lines not all was matched: they hold too much that looks like signals\n", n)
	}
	if !r.bundle.Readable() {
		return unreadable("nothing could be read")
	}
	return nil
}

// progress shows how far the reading is, on a terminal.
func (p *program) progress() (func(bundle.Progress), func()) {
	if !p.tty(p.err) {
		return nil, func() {}
	}
	return console.Progress(p.err, p.now)
}
