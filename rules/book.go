package rules

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"

	"coroner/ingest"
	"coroner/rules/redact"

	"github.com/expr-lang/expr/types"
	"golang.org/x/tools/txtar"
)

// Rulebook is a compiled set of signals, facts, verdict rules and labels. It
// is immutable and safe for concurrent use.
type Rulebook struct {
	Signals  []*SignalDef
	Facts    []*Fact
	Rules    []*Rule // highest precedence first
	Labels   map[Label]*LabelDef
	Secrets  []*SecretDef
	Harmless []Harmless
	Hash     string // first 12 hex digits of the SHA-256 of everything read

	source []byte

	byName  map[string]*SignalDef
	exact   int     // how many signals are no symptoms; those come after them
	find    *finder // of what any entry can hold
	raw     *finder // of what a line in a log can hold
	env     types.Map
	empty   map[string]any // the environment of a case without evidence
	hyphens hyphenNames
	words   []*vocabulary  // of symptoms
	spoken  *finder        // of their fixed texts
	named   *regexp.Regexp // reasons that signals, facts and rules name
	redact  *redact.Redactor
}

// Fact is a named expression that rules use like a word.
type Fact struct {
	Name, Doc string
	value     *program
}

// LabelDef is what the rulebook says of a label.
type LabelDef struct {
	Label         Label
	Doc           string
	Domain, Retry string
	Advice        string
	Confused      []Confusion
	Needs         string          // what would decide it
	Sources       []ingest.Source // who would say it

	possible *program
	ruledOut []exclusion
}

type exclusion struct {
	when    *program
	because *template
}

// Load reads the *.yaml files of each file system and compiles them. Entries
// of a later file system replace those of the same name in an earlier one.
// The error joins every mistake found, each a *Error.
func Load(layers ...fs.FS) (*Rulebook, error) {
	return load(layers, false)
}

// LoadSignals is Load for a program that only scans: facts, labels and verdict
// rules are left out, and files without signals or secrets are not parsed. The hash is that of
// the whole.
func LoadSignals(layers ...fs.FS) (*Rulebook, error) { return load(layers, true) }

func load(layers []fs.FS, signalsOnly bool) (*Rulebook, error) {
	b := &builder{hash: sha256.New(), signalsOnly: signalsOnly}
	for _, layer := range layers {
		if err := b.read(layer); err != nil {
			return nil, err
		}
	}
	book := b.compile()
	book.source = txtar.Format(&b.files)
	if err := b.errs.join(); err != nil {
		return nil, err
	}
	return book, nil
}

// Signal returns the definition called name, or nil.
func (b *Rulebook) Signal(name string) *SignalDef { return b.byName[name] }

// Rule returns the verdict rule with that id, or nil.
func (b *Rulebook) Rule(id string) *Rule {
	for _, r := range b.Rules {
		if r.ID == id {
			return r
		}
	}
	return nil
}

func (b *builder) read(layer fs.FS) error {
	files, err := fs.Glob(layer, "*.yaml")
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errNoRules
	}
	sort.Strings(files)
	var s specs
	for _, name := range files {
		data, err := fs.ReadFile(layer, name)
		if err != nil {
			return err
		}
		if n := len(data); n > 0 && data[n-1] != '\n' {
			data = append(data, '\n') // as Source gives it: the hash must survive the way to an agent
		}
		b.hash.Write(data)
		b.files.Files = append(b.files.Files, txtar.File{Name: layerName(b.layers) + "/" + path.Base(name), Data: data})
		if b.signalsOnly &&
			!slices.ContainsFunc(scanned, func(section string) bool { return bytes.Contains(data, []byte(section)) }) {
			continue // no such section: who reads it for its verdicts says what is wrong with it
		}
		r := &reader{file: path.Base(name), lines: strings.Split(string(data), "\n"), errs: &b.errs}
		r.document(r.root(data), &s)
	}
	b.merge(s)
	b.layers++
	return nil
}

// scanned are the sections that a program that only scans needs.
var scanned = []string{"signals", "secrets", "words", "symptoms"}

func layerName(n int) string { return fmt.Sprintf("%03d", n) }

// Source is everything that the rulebook was read from, as one txtar archive:
// a folder for each layer.
func (b *Rulebook) Source() []byte { return b.source }

// Layers splits an archive that Source gave into the layers that Load takes.
func Layers(source []byte) ([]fs.FS, error) {
	files, err := txtar.FS(txtar.Parse(source))
	if err != nil {
		return nil, err
	}
	dirs, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, err
	}
	var layers []fs.FS
	for _, d := range dirs {
		layer, err := fs.Sub(files, d.Name())
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	return layers, nil
}

// merge lays one layer over what was read before it.
func (b *builder) merge(s specs) {
	b.specs.signals = overlay(&b.errs, b.specs.signals, s.signals, func(x signalSpec) scalar { return x.name })
	b.specs.facts = overlay(&b.errs, b.specs.facts, s.facts, func(x factSpec) scalar { return x.name })
	b.specs.verdicts = overlay(&b.errs, b.specs.verdicts, s.verdicts, func(x ruleSpec) scalar { return x.id })
	b.specs.labels = overlay(&b.errs, b.specs.labels, s.labels, func(x labelSpec) scalar { return x.name })
	b.specs.harmless = append(b.specs.harmless, s.harmless...)
	b.specs.words = overlay(&b.errs, b.specs.words, s.words, func(x wordsSpec) scalar { return x.name })
	b.specs.symptoms = overlay(&b.errs, b.specs.symptoms, s.symptoms, func(x symptomSpec) scalar { return x.name })
	b.specs.secrets = overlay(&b.errs, b.specs.secrets, s.secrets, func(x secretSpec) scalar { return x.name })
}

// overlay replaces entries of below that above names again and appends the
// others. A name that above gives twice is an error.
func overlay[T any](e *errs, below, above []T, name func(T) scalar) []T {
	at := map[string]int{}
	for i, x := range below {
		at[name(x).value] = i
	}
	seen := map[string]bool{}
	for _, x := range above {
		n := name(x)
		if n.value == "" {
			e.add(n.pos, "has no name")
			continue
		}
		if seen[n.value] {
			e.add(n.pos, "%q is defined twice", n.value)
		}
		seen[n.value] = true
		if i, ok := at[n.value]; ok {
			below[i] = x
			continue
		}
		below = append(below, x)
	}
	return below
}

func (b *builder) sum() string { return hex.EncodeToString(b.hash.Sum(nil))[:12] }
