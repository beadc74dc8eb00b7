package lookup

import (
	"context"
	"errors"
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

// LabelPage is what the rulebook in force says of a label.
type LabelPage struct {
	Label    rules.Label      `json:"label"`
	Meaning  string           `json:"meaning"`
	Death    bool             `json:"death"` // false: it ends without harm, or it lasts
	Domain   string           `json:"domain"`
	Retry    string           `json:"retry"`
	Advice   string           `json:"advice"`
	Confused []LabelConfusion `json:"confused_with"`
	Rules    []LabelRule      `json:"rules"` // in the order in which they are tried
}

// LabelConfusion is a label that is mistaken for this one.
type LabelConfusion struct {
	Label rules.Label `json:"label"`
	Apart string      `json:"apart"` // how the two are told apart
}

// LabelRule is a rule that gives the label.
type LabelRule struct {
	ID     string           `json:"id"`
	Doc    string           `json:"doc"`
	AtMost rules.Confidence `json:"at_most"` // the most that it can claim
}

// LabelPage says what the rulebook in force has on a label, in whatever case.
func (a *API) LabelPage(label string) (page LabelPage, ok bool) {
	if a.Book == nil {
		return page, false
	}
	book := a.Book()
	l, _, _ := LabelNamed(label, book.LabelOrder())
	d := book.Labels[l]
	if d == nil {
		return page, false
	}
	page = LabelPage{Label: l, Meaning: d.Doc, Death: d.Death, Domain: d.Domain, Retry: d.Retry, Advice: d.Advice,
		Confused: []LabelConfusion{}, Rules: []LabelRule{}}
	for _, c := range d.Confused {
		page.Confused = append(page.Confused, LabelConfusion{c.Label, c.Apart})
	}
	for _, r := range book.Rules {
		if r.Label == l {
			page.Rules = append(page.Rules, LabelRule{r.ID, r.Doc, r.Confidence})
		}
	}
	return page, true
}

func (a *API) label(w http.ResponseWriter, r *http.Request) {
	page, ok := a.LabelPage(r.PathValue("label"))
	if !ok {
		fail(w, http.StatusNotFound, errors.New("the rulebook has no such label; /api/v1/labels lists all"))
		return
	}
	answer(w, http.StatusOK, page)
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
