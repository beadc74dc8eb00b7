package lookup

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"coroner/rules"
)

// Labels are the labels that a verdict here can have: those of the rulebook in force in
// their order, then those that only earlier verdicts have.
func (a *API) Labels(ctx context.Context) ([]rules.Label, error) {
	all := slices.Clone(rules.Labels)
	if a.Book != nil {
		all = a.Book().LabelOrder()
	}
	judged, err := a.Source.Labels(ctx)
	for _, l := range judged {
		if !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	return all, err
}

// NoDeaths are the labels that the rulebook in force takes for no deaths.
func (a *API) NoDeaths() []rules.Label {
	if a.Book != nil {
		return a.Book().NoDeaths()
	}
	return slices.DeleteFunc(slices.Clone(rules.Labels), rules.Label.Death)
}

// labelList is what the API gives for the labels.
type labelList struct {
	Labels []rules.Label `json:"labels"`
}

func (a *API) labels(w http.ResponseWriter, r *http.Request) {
	all, err := a.Labels(r.Context())
	if err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	answer(w, http.StatusOK, labelList{all})
}

// LabelNamed is the label of some with a name, in whatever case. Where none has it, near
// is one that is written much like it, or "".
func LabelNamed(name string, known []rules.Label) (label, near rules.Label, ok bool) {
	for _, l := range known {
		if strings.EqualFold(string(l), name) {
			return l, "", true
		}
	}
	near = slices.MinFunc(known, func(a, b rules.Label) int {
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
