package classify_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"coroner/fixtures"
	"coroner/rules"
)

// answer is an incident of docs/situations.md and what the page says of it.
var answer = regexp.MustCompile("`([A-Za-z~-]+)`: ([A-Za-z-]+) \\((\\w+)\\)(?: by ([A-Za-z:-]+))?")

// docs/situations.md says what coroner answers to its incidents, and how many of its
// rows are right.
func TestSituations(t *testing.T) {
	page, err := os.ReadFile("../docs/situations.md")
	if err != nil {
		t.Fatal(err)
	}
	b, known := loadBook(t), map[string]fixtures.Incident{}
	for _, in := range incidents(t) {
		known[in.Name] = in
	}
	rows, count := 0, map[string]int{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		if len(cells) < 5 || !strings.HasPrefix(line, fmt.Sprintf("| %d ", rows+1)) {
			continue
		}
		rows++
		count[cells[3]]++
		told := answer.FindAllStringSubmatch(cells[2], -1)
		if len(told) != strings.Count(cells[2], "`: ") || len(told) == 0 {
			t.Errorf("row %d: %q is not understood", rows, cells[2])
		}
		for _, a := range told {
			checkAnswer(t, b, known, rows, cells[3], a)
		}
	}
	if rows != 23 {
		t.Errorf("%d rows, want 23", rows)
	}
	sum := fmt.Sprintf("%d are right, %d partly, %d not yet", count["right"], count["partly"], count["not yet"])
	if !strings.Contains(string(page), sum) || count["right"]+count["partly"]+count["not yet"] != rows {
		t.Errorf("the page does not say %q", sum)
	}
}

func checkAnswer(t *testing.T, b *rules.Rulebook, known map[string]fixtures.Incident, row int, how string, a []string) {
	t.Helper()
	in, ok := known[a[1]]
	if !ok {
		t.Errorf("row %d: there is no incident %s", row, a[1])
		return
	}
	v := judge(b, entries(in), in)
	by := v.Initiator
	if by == "unknown" || by == "none" {
		by = ""
	}
	if string(v.Label) != a[2] || string(v.Confidence) != a[3] || by != a[4] {
		t.Errorf("row %d: %s is %s (%s) by %q, and the page says %v", row, a[1], v.Label, v.Confidence, by, a[2:])
	}
	if how != "right" && v.Confidence == rules.Confirmed {
		t.Errorf("row %d is %s, and %s is confirmed", row, how, a[1])
	}
}
