package lookup

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"
)

// Filter reads ?cluster=&runner=&node=&verdict=&kind=&state=&pool=&repository=&job=&run=&since=&until=&limit=.
// verdict is a label or several with commas between; kind is runner, pool or job; state is open or
// resolved, of what lasts; since and until are a
// duration back from now (90m, 7d) or a time (RFC 3339), and mean when the
// verdict was recorded; limit is 100 unless told. known are the labels that there are.
func Filter(v url.Values, now time.Time, known []rules.Label) (ledger.Query, error) {
	q := ledger.Query{Runner: v.Get("runner"), Node: v.Get("node"), Pool: ingest.PoolName(v.Get("pool")),
		Repository: v.Get("repository"), Job: v.Get("job"), Run: v.Get("run"), Limit: 100}
	q.Cluster = within(v.Get("cluster"))
	var err error
	if q.Labels, err = readLabels(v.Get("verdict"), known); err != nil {
		return ledger.Query{}, err
	}
	if q.Standing, err = readStanding(v); err != nil {
		return ledger.Query{}, err
	}
	for name, at := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if s := v.Get(name); s != "" {
			if *at, err = Since(s, now); err != nil {
				return ledger.Query{}, fmt.Errorf("%s=%w", name, err)
			}
		}
	}
	if name := q.Runner[strings.Index(q.Runner, "/")+1:]; name != "" && len(name) < ledger.ShortestPrefix {
		return ledger.Query{}, fmt.Errorf("runner=%q: want at least %d characters of a name",
			q.Runner, ledger.ShortestPrefix)
	}
	if s := v.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return ledger.Query{}, fmt.Errorf("limit=%q: want a number from 1 to %d", s, maxVerdicts)
		}
		q.Limit = min(n, maxVerdicts)
	}
	return q, nil
}

// readStanding reads what the verdicts are about.
func readStanding(v url.Values) (s ledger.Standing, err error) {
	switch word := v.Get("kind"); word {
	case "":
	case casefile.OfRunner.Word(), casefile.OfPool.Word(), casefile.OfJob.Word():
		s.Kind = new(casefile.Kind)
		_ = s.Kind.UnmarshalText([]byte(word)) // it never fails
	default:
		return s, fmt.Errorf("kind=%q: want runner, pool or job", word)
	}
	switch s.State = rules.State(v.Get("state")); s.State {
	case "", rules.Open, rules.Resolved:
		return s, nil
	}
	return s, fmt.Errorf("state=%q: want open or resolved", s.State)
}

// within is the cluster that is asked for; "" is all of them.
func within(cluster string) *string {
	if cluster == "" {
		return nil
	}
	return &cluster
}

// readLabels reads labels with commas between.
func readLabels(text string, known []rules.Label) (out []rules.Label, _ error) {
	for _, s := range strings.Split(text, ",") {
		name := strings.TrimSpace(s)
		if name == "" {
			continue
		}
		label, _, ok := LabelNamed(name, known)
		if !ok {
			return nil, fmt.Errorf("verdict=%q: want a label; coroner rules list shows them all", s)
		}
		if !slices.Contains(out, label) {
			out = append(out, label)
		}
	}
	return out, nil
}

// parameters are those of a list.
var parameters = []string{
	"cluster", "runner", "node", "verdict", "kind", "state", "pool", "repository", "job", "run",
	"since", "until", "limit",
}

// strangers is an error for a parameter that nobody reads: a misspelt filter
// must not give everything.
func strangers(v url.Values) error {
	for name := range v {
		if !slices.Contains(parameters, name) {
			return fmt.Errorf("%s: no such parameter; want %s", name, strings.Join(parameters, ", "))
		}
	}
	return nil
}

// days and weeks are longer units than Go's durations have.
var days = regexp.MustCompile(`^(\d{1,4})([dw])$`)

func duration(s string) (time.Duration, error) {
	m := days.FindStringSubmatch(s)
	if m == nil {
		return time.ParseDuration(s)
	}
	n, _ := strconv.Atoi(m[1]) // at most four digits
	if m[2] == "w" {
		n *= 7
	}
	return time.Duration(n) * 24 * time.Hour, nil
}

// Since reads a duration back from now (90m, 7d), or a time.
func Since(s string, now time.Time) (time.Time, error) {
	if d, err := duration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err == nil && at.Year() < 1970 {
		at = time.Unix(0, 0).UTC() // no verdict is older
	}
	if err != nil {
		return at, fmt.Errorf("%q: want a duration like 90m or 7d, or a time like 2026-01-02T15:04:05Z", s)
	}
	return at, nil
}
