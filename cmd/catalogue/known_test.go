package catalogue_test

import (
	"os"
	"strings"
	"testing"

	"coroner/cmd/catalogue"
	"coroner/fixtures/shipped"
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
			known, all, err := catalogue.Share(f, b, true, func(_, _, text string) { unknown = append(unknown, text) })
			if err != nil || all < least {
				t.Fatalf("read %d templates: %v", all, err)
			}
			if known*100 < all*95 {
				t.Errorf("%d of %d are known; make them a signal, or harmless and say why:", known, all)
				for _, text := range unknown {
					t.Log(text)
				}
			}
		})
	}
}

// A text that no program prints is not known, whatever stands in its place holders.
func TestUnknownStaysUnknown(t *testing.T) {
	b := shipped.Rulebook(t)
	for _, text := range []string{"the moon of %q is full", "the moon of %+v is full {phase}"} {
		known, all, err := catalogue.Share(rows("log\terror\t"+text), b, true, func(_, _, _ string) {})
		if err != nil || known != 0 || all != 1 {
			t.Errorf("%q: %d of %d known", text, known, all)
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
	} {
		if known, _, _ := catalogue.Share(rows("log\terror\t"+text), b, true, func(_, _, _ string) {}); known != 1 {
			t.Errorf("%q is not known", text)
		}
	}
	if known, _, _ := catalogue.Share(rows("exit-code\terror\tEXEC (EXIT_EXEC)"), b, true,
		func(_, _, _ string) {}); known != 1 {
		t.Error("the code with which PID 1 says that it could not run a program is not known")
	}
}

func rows(row string) *strings.Reader { return strings.NewReader("1\tx.go\t" + row + "\n") }
