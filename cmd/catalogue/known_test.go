package catalogue_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coroner/cmd/catalogue"
	"coroner/fixtures/shipped"
	"coroner/rules/book"
)

// What the kubelet, containerd, CRI-O and actions-runner-controller print about the life of a
// pod or a container as an error or a warning is known: a signal, or harmless and said why.
// The lists hold their templates as they are in the program's source.
func TestAlertsAboutPodsAreKnown(t *testing.T) {
	b := shipped.Rulebook(t)
	for program, least := range map[string]int{"kubelet": 400, "containerd": 400, "cri-o": 200, "arc": 200} {
		t.Run(program, func(t *testing.T) {
			f, err := os.Open("../../rules/testdata/catalogue-" + program + ".tsv")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			var unknown []string
			n, err := catalogue.Take(f, b, nil, true, func(row string) { unknown = append(unknown, row) })
			if err != nil || n.Known+n.Undecided < least {
				t.Fatalf("read %+v: %v", n, err)
			}
			if n.Percent() < 95 {
				t.Errorf("%.1f %% are known; make them a signal, or harmless and say why:", n.Percent())
				for _, text := range unknown {
					t.Log(text)
				}
			}
		})
	}
}

// floor is the share, in percent, of what is no plumbing that the rulebook knows of each list. It
// may rise; it must not fall.
const floor = 95

// Of the errors, warnings and reasons of each program that speak of an end, or of what leads to
// one, nearly all that is no plumbing is known. The lists hold the templates as they are in the
// programs' sources, of some programs a part.
func TestLifeAndDeathIsKnown(t *testing.T) {
	b, plumbing := shipped.Rulebook(t), builtInPlumbing(t)
	lists, err := filepath.Glob("../../rules/testdata/catalogue/*.tsv")
	if err != nil || len(lists) < 25 {
		t.Fatalf("%d lists: %v", len(lists), err)
	}
	for _, list := range lists {
		t.Run(filepath.Base(list), func(t *testing.T) {
			f, err := os.Open(list)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			var undecided []string
			n, err := catalogue.Take(f, b, plumbing.Of(list), true, func(row string) {
				undecided = append(undecided, row)
			})
			if err != nil || n.Known < 3 {
				t.Fatalf("read %+v: %v", n, err)
			}
			if n.Percent() < floor {
				t.Errorf("%.1f %% are known; decide of each what it is, and say why:\n%s",
					n.Percent(), strings.Join(undecided, "\n"))
			}
			if n.Plumbing > 2*n.Known {
				t.Errorf("%d of %d are said to be plumbing; that is too easy", n.Plumbing, n.Plumbing+n.Known)
			}
		})
	}
}

// Plumbing is of a program that has a list here, by its name.
func TestPlumbingHasLists(t *testing.T) {
	for name := range builtInPlumbing(t) {
		lists, err := filepath.Glob("../../rules/testdata/catalogue*/" + name + ".*")
		more, err2 := filepath.Glob("../../rules/testdata/catalogue-" + name + ".tsv")
		if err != nil || err2 != nil || len(lists)+len(more) == 0 {
			t.Errorf("no list of %s: %v", name, errors.Join(err, err2))
		}
	}
}

func builtInPlumbing(t *testing.T) catalogue.Plumbing {
	t.Helper()
	plumbing, err := catalogue.ReadPlumbing(book.Plumbing)
	if err != nil || len(plumbing) < 25 {
		t.Fatalf("plumbing of %d programs: %v", len(plumbing), err)
	}
	return plumbing
}

// A text that no program prints is not known, whatever stands in its place holders.
func TestUnknownStaysUnknown(t *testing.T) {
	b := shipped.Rulebook(t)
	for _, text := range []string{"the moon of %q is full", "the moon of %+v is full {phase}"} {
		n, err := catalogue.Take(rows("log\terror\t"+text), b, nil, true, func(string) {})
		if err != nil || n != (catalogue.Count{Undecided: 1}) {
			t.Errorf("%q: %+v", text, n)
		}
	}
}

// A line is known by the id that stands in it, and by its message without its keys.
func TestShareFillsTemplatesIn(t *testing.T) {
	b := shipped.Rulebook(t)
	for _, text := range []string{
		"StartContainer for %q failed {error}",
		"RunPodSandbox for %+v failed, error {error}",
		"Pod admission denied {pod,reason}",
		"Failed with result '%s'.",
		"Process %s (%s) of user %s dumped core.",
		"Caught <%s>, dumped core as pid %{PID_FMT}.",
	} {
		if n, _ := catalogue.Take(rows("log\terror\t"+text), b, nil, true, func(string) {}); n.Known != 1 {
			t.Errorf("%q is not known", text)
		}
	}
	if n, _ := catalogue.Take(rows("exit-code\terror\tEXEC (EXIT_EXEC)"), b, nil, true, func(string) {}); n.Known != 1 {
		t.Error("the code with which PID 1 says that it could not run a program is not known")
	}
}

func rows(row string) *strings.Reader { return strings.NewReader("1\tx.go\t" + row + "\n") }
