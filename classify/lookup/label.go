package lookup

import (
	"slices"
	"strings"

	"coroner/rules"
)

// LabelNamed is the label with a name, in whatever case. Where none has it, near is one
// that is written much like it, or "".
func LabelNamed(name string) (label, near rules.Label, ok bool) {
	for _, l := range rules.Labels {
		if strings.EqualFold(string(l), name) {
			return l, "", true
		}
	}
	near = slices.MinFunc(rules.Labels, func(a, b rules.Label) int {
		return distance(name, string(a)) - distance(name, string(b))
	})
	if distance(name, string(near)) > 1+len(name)/3 {
		near = ""
	}
	return "", near, false
}

// distance is how many letters have to be changed, added or left out to make
// one word of the other, in whatever case.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal, row[j+1] = row[j+1], min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
