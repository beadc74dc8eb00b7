package choice

import (
	"strings"
	"testing"
	"time"

	"coroner/classify/lookup"
)

func threeRunners() (all []lookup.Runner) {
	for i, name := range []string{"amber-1", "amber-2", "amber-\x1b[31m3"} {
		all = append(all, lookup.Runner{
			Subject: lookup.Subject{Namespace: "ci", Runner: name, Node: "build-7"}, State: "alive",
			Heard: time.Date(2026, 3, 1, 10, i, 0, 0, time.UTC),
		})
	}
	return all
}

// The answer chooses one, all or none; what is no answer is asked again.
func TestAnswers(t *testing.T) {
	for answer, want := range map[string]string{
		"\n": "amber-1", "2\n": "amber-2", "a\n": "amber-1 amber-2 amber-\x1b[31m3", "q\n": "", "": "",
		"7\nsecond\n2\n": "amber-2", "2": "amber-2",
	} {
		var asked strings.Builder
		picked, err := Ask(strings.NewReader(answer), &asked, threeRunners())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range picked {
			got = append(got, r.Runner)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q chose %q, want %q", answer, got, want)
		}
		if strings.Contains(asked.String(), "\x1b") {
			t.Errorf("a runner's name writes to the terminal: %q", asked.String())
		}
		if again := strings.Contains(asked.String(), "Want a number from 1 to 3"); again != (len(answer) > 3) {
			t.Errorf("%q: asked again: %v", answer, again)
		}
	}
}

// Who died or was heard of last comes first.
func TestLatestComesFirst(t *testing.T) {
	if all := LatestFirst(threeRunners()); all[0].Runner != "amber-\x1b[31m3" || all[2].Runner != "amber-1" {
		t.Errorf("%q %q %q", all[0].Runner, all[1].Runner, all[2].Runner)
	}
}
