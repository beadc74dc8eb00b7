package loki

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"coroner/ingest"

	gocmp "github.com/google/go-cmp/cmp"
)

var t0 = time.Date(2026, 5, 4, 10, 0, 0, 123456789, time.UTC)

// at is the time so many nanoseconds after t0: Loki's times are that fine.
func at(n int) time.Time { return t0.Add(time.Duration(n)) }

const query = `{container="runner"} |= "amber"`

// fakeLoki answers query_range as Loki does: the first lines of the range in
// the order of time, grouped by stream. Lines of one time come in any order.
type fakeLoki struct {
	t      testing.TB
	lines  []Line
	pages  atomic.Int64                               // a request whose connection broke comes again
	answer func(page int, w http.ResponseWriter) bool // false: it wrote the answer of that page
}

func (f *fakeLoki) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page := int(f.pages.Add(1))
	if f.answer != nil && !f.answer(page, w) {
		return
	}
	q := r.URL.Query()
	start, err1 := strconv.ParseInt(q.Get("start"), 10, 64)
	end, err2 := strconv.ParseInt(q.Get("end"), 10, 64)
	limit, err3 := strconv.Atoi(q.Get("limit"))
	if err := errors.Join(err1, err2, err3); err != nil || r.URL.Path != "/loki/api/v1/query_range" ||
		q.Get("query") != query ||
		q.Get("direction") != "forward" {
		f.t.Errorf("%s: %v", r.URL, err)
	}
	if r.Header.Get("X-Scope-OrgID") != "tenant" {
		f.t.Errorf("%v", r.Header)
	}
	found := slices.DeleteFunc(
		slices.Clone(f.lines),
		func(l Line) bool { return l.At.UnixNano() < start || l.At.UnixNano() >= end },
	)
	rand.New(rand.NewPCG(1, uint64(page))).
		Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	slices.SortStableFunc(found, func(a, b Line) int { return a.At.Compare(b.At) })
	type stream struct {
		Stream map[string]string `json:"stream"`
		Values [][2]string       `json:"values"`
	}
	byLabels := map[string]*stream{}
	result := []*stream{}
	for _, l := range found[:min(limit, len(found))] {
		key := fmt.Sprint(l.Labels)
		if byLabels[key] == nil {
			byLabels[key] = &stream{Stream: l.Labels}
			result = append(result, byLabels[key])
		}
		byLabels[key].Values = append(byLabels[key].Values, [2]string{strconv.FormatInt(l.At.UnixNano(), 10), l.Text})
	}
	slices.Reverse(result) // the order of the streams means nothing
	_ = json.NewEncoder(w).
		Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": "streams", "result": result,
			"stats": map[string]any{}}})
}

func (f *fakeLoki) client(page int) *Client {
	server := httptest.NewServer(f)
	f.t.Cleanup(server.Close)
	return &Client{
		URL:    server.URL + "/",
		Header: http.Header{"X-Scope-Orgid": {"tenant"}},
		HTTP:   server.Client(),
		Page:   page,
	}
}

// all collects what a query yields, and the error at its end.
func all(t testing.TB, c *Client, from, to time.Time) (out []Line, err error) {
	t.Helper()
	for l, e := range c.Lines(t.Context(), query, from, to) {
		if err != nil {
			t.Fatalf("after an error comes %+v, %v", l, e)
		}
		if err = e; err == nil {
			out = append(out, l)
		}
	}
	return out, err
}

// sorted brings lines into one order: those of one time have none of their own.
func sorted(lines []Line) []Line {
	out := slices.Clone(lines)
	slices.SortFunc(out, func(a, b Line) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.lineKey(), b.lineKey()))
	})
	return out
}

func labels(pod string) map[string]string {
	return map[string]string{"pod": pod, "container": "runner"}
}

// However many pages it takes, each line of the range comes once and in the
// order of time: also where a page ends amid lines of one time, and where lines
// differ in nothing but their stream or their time.
func TestEveryLineOnce(t *testing.T) {
	var lines []Line
	for i := range 40 {
		lines = append(lines, Line{at(i / 4), labels("a"), fmt.Sprint("line ", i)}) // four of each time
	}
	for i := range 10 {
		lines = append(
			lines,
			Line{at(i), labels("a"), "the same"},
			Line{at(i), labels("b"), "the same"},
		) // and two more
	}
	lines = append(lines, Line{at(100), labels("b"), "late"})
	for page := 7; page <= 70; page++ {
		f := &fakeLoki{t: t, lines: lines}
		got, err := all(t, f.client(page), at(0), at(101))
		if err != nil {
			t.Errorf("pages of %d: %v", page, err)
		}
		if !slices.IsSortedFunc(got, func(a, b Line) int { return a.At.Compare(b.At) }) {
			t.Errorf("pages of %d: not in the order of time", page)
		}
		if diff := gocmp.Diff(sorted(lines), sorted(got)); diff != "" {
			t.Errorf("pages of %d: %s", page, diff)
		}
		if most := 2 * len(lines) / (page - 6); int(f.pages.Load()) > most+1 {
			t.Errorf("pages of %d: %d requests", page, f.pages.Load())
		}
	}
}

// The range has its first moment and not its last, so that two ranges side by
// side have each line once.
func TestTheRange(t *testing.T) {
	lines := []Line{
		{at(0), labels("a"), "0"},
		{at(1), labels("a"), "1"},
		{at(2), labels("a"), "2"},
		{at(3), labels("a"), "3"},
	}
	for _, tt := range []struct{ from, to, first, last, pages int }{
		{0, 4, 0, 4, 1}, {1, 3, 1, 3, 1}, {3, 9, 3, 4, 1}, {4, 9, 0, 0, 1}, {2, 2, 0, 0, 0}, {3, 1, 0, 0, 0},
	} {
		f := &fakeLoki{t: t, lines: lines}
		got, err := all(t, f.client(0), at(tt.from), at(tt.to))
		var want []Line
		want = append(want, lines[tt.first:tt.last]...)
		if diff := gocmp.Diff(want, got); diff != "" || err != nil || int(f.pages.Load()) != tt.pages {
			t.Errorf("%d to %d: %d requests, %v %s", tt.from, tt.to, f.pages.Load(), err, diff)
		}
	}
}

// More lines of one time than a page holds cannot be read wholly; then the
// answer is an error and never a part that looks whole.
func TestMoreOfOneTimeThanAPage(t *testing.T) {
	const page = 5
	for n := 1; n <= 12; n++ {
		for before := range 3 {
			var lines []Line
			for i := range before {
				lines = append(lines, Line{at(i), labels("a"), "before"})
			}
			for i := range n {
				lines = append(lines, Line{at(10), labels("a"), fmt.Sprint(i)})
			}
			lines = append(lines, Line{at(11), labels("a"), "behind"})
			got, err := all(t, (&fakeLoki{t: t, lines: lines}).client(page), at(0), at(20))
			switch {
			case err == nil && !gocmp.Equal(sorted(lines), sorted(got)):
				t.Errorf("%d lines of one time, %d before them: %d lines and no error", n, before, len(got))
			case n < page && err != nil:
				t.Errorf("%d lines of one time, %d before them: %v", n, before, err)
			case n > page &&
				(err == nil || !strings.Contains(err.Error(), "5 lines have the time 2026-05-04T10:00:00.123456799Z") ||
					!strings.Contains(err.Error(), query)):
				t.Errorf("%d lines of one time, %d before them: %v", n, before, err)
			case len(got) > len(lines) || slices.ContainsFunc(got, func(l Line) bool { return l.Text == "behind" }) &&
				err != nil:
				t.Errorf("%d lines of one time, %d before them: too much came: %+v", n, before, got)
			}
		}
	}
}

// A caller that has enough ends the query.
func TestStopsWhenTheCallerHasEnough(t *testing.T) {
	f := &fakeLoki{t: t, lines: []Line{{at(0), labels("a"), "0"}, {at(1), labels("a"), "1"}, {at(2), labels("a"), "2"}}}
	for l, err := range f.client(1).Lines(t.Context(), query, at(0), at(9)) {
		if err != nil || l.Text != "0" {
			t.Errorf("%+v %v", l, err)
		}
		break
	}
	if f.pages.Load() != 1 {
		t.Errorf("%d requests", f.pages.Load())
	}
}

// What goes wrong is one clear line; what came before it stays.
func TestWhatIsWrongIsSaid(t *testing.T) {
	answer := func(code int, body string) func(int, http.ResponseWriter) bool {
		return func(page int, w http.ResponseWriter) bool {
			if page < 2 {
				return true
			}
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
			return false
		}
	}
	values := func(v string) string {
		return `{"data":{"resultType":"streams","result":[{"stream":{},"values":[` + v + `]}]}}`
	}
	for _, tt := range []struct {
		what   string
		answer func(int, http.ResponseWriter) bool
		says   string
	}{
		{"a mistake in the query", answer(400, "parse error at line 1, col 2:\nsyntax error\n"),
			"asking Loki: 400 Bad Request to " + query + ": parse error at line 1, col 2: syntax error"},
		{"too many lines asked for", answer(400, "max entries limit per query exceeded"), "max entries limit"},
		{"no access", answer(401, ""), "401 Unauthorized"},
		{"a long page", answer(502, strings.Repeat("<p>\n", 5000)), "502 Bad Gateway"},
		{"not found", answer(404, "404 page not found"), "404 Not Found"},
		{"a page", answer(200, "<html>"), "the answer is not Loki's"},
		{"nothing", answer(200, ""), "the answer is not Loki's"},
		{"cut off", answer(200, values(`["1","x"]`)[:50]), "the answer is not Loki's"},
		{"another API", answer(200, `{"status":"success"}`), `the query gives "", not log lines`},
		{"numbers", answer(200, `{"data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"2"]]}]}}`),
			`the query gives "matrix", not log lines`},
		{"a time that is none", answer(200, values(`["x","y"]`)), "the answer is not Loki's"},
		{"a time that is a number", answer(200, values(`[1,"y"]`)), "the answer is not Loki's"},
		{"a text that is none", answer(200, values(`["1",{}]`)), "the answer is not Loki's"},
		{"a value without a text", answer(200, values(`["1"]`)), "the answer is not Loki's"},
		{"a value without anything", answer(200, values(`null`)), "the answer is not Loki's"},
		{"no answer", func(page int, _ http.ResponseWriter) bool {
			if page > 1 {
				panic(http.ErrAbortHandler)
			}
			return true
		}, "asking Loki: "},
	} {
		f := &fakeLoki{
			t:      t,
			lines:  []Line{{at(0), labels("a"), "0"}, {at(1), labels("a"), "1"}, {at(2), labels("a"), "2"}},
			answer: tt.answer,
		}
		got, err := all(t, f.client(2), at(0), at(9))
		if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") ||
			len(err.Error()) > 600 {
			t.Errorf("%s: %v, want …%s…", tt.what, err, tt.says)
		}
		if diff := gocmp.Diff(f.lines[:2], got); diff != "" {
			t.Errorf("%s: %s", tt.what, diff)
		}
	}
	for _, url := range []string{"::", "http://127.0.0.1:1"} {
		if got, err := all(t, &Client{URL: url, HTTP: http.DefaultClient}, at(0), at(9)); err == nil || len(got) != 0 {
			t.Errorf("%s: %+v %v", url, got, err)
		}
	}
}

// A query that is called off ends with an error: what came is not all.
func TestCalledOff(t *testing.T) {
	f := &fakeLoki{t: t, lines: []Line{{at(0), labels("a"), "0"}, {at(1), labels("a"), "1"}}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	for l, err := range f.client(1).Lines(ctx, query, at(0), at(9)) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			got = append(got, "error")
			continue
		}
		got = append(got, l.Text)
		cancel()
	}
	if diff := gocmp.Diff([]string{"0", "error"}, got); diff != "" {
		t.Error(diff)
	}
}

// The page is as large as Loki lets it be when nothing else is said.
func TestDefaultPage(t *testing.T) {
	var limit string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit = r.URL.Query().Get("limit")
		_, _ = w.Write([]byte(`{"data":{"resultType":"streams","result":[]}}`))
	}))
	defer server.Close()
	if got, err := all(t, &Client{URL: server.URL, HTTP: server.Client()}, at(0), at(1)); err != nil || len(got) != 0 ||
		limit != "5000" {
		t.Errorf("limit %s: %+v %v", limit, got, err)
	}
}

// A line becomes the entry that the same line in a file would: of the pod that
// its labels name, at Loki's time, whole where the runtime had split it.
func TestEntries(t *testing.T) {
	lines := func(yield func(Line, error) bool) {
		set := map[string]string{"namespace": "arc", "pod": "p-runner-1", "container": "runner"}
		_ = yield(Line{at(0), set, "√ Connected to GitHub"}, nil) &&
			yield(
				Line{
					at(1),
					map[string]string{
						"job":       "integrations/kubernetes/journal",
						"instance":  "n1",
						"transport": "kernel",
					},
					"Out of memory: Killed process 1 (x)",
				},
				nil,
			) &&
			yield(Line{at(2), set, "2026-05-04T10:00:00.5Z stdout P begun and "}, nil)
	}
	got := slices.Collect(Entries(lines, func(err error) { t.Error(err) }))
	if len(got) != 3 {
		t.Fatalf("%+v", got)
	}
	for i, want := range []ingest.Entry{
		{At: at(0), Source: ingest.Runner, Namespace: "arc", Pod: "p-runner-1", Container: "runner",
			Text: "√ Connected to GitHub"},
		{At: at(1), Source: ingest.Kernel, Trust: ingest.Attested, Node: "n1",
			Text: "Out of memory: Killed process 1 (x)"},
		{Source: ingest.Runner, Namespace: "arc", Pod: "p-runner-1", Container: "runner", Text: "begun and"},
	} {
		e := got[i]
		if i < 2 && !e.At.Equal(want.At) || e.Source != want.Source || e.Trust != want.Trust || e.Node != want.Node ||
			e.Namespace != want.Namespace ||
			e.Pod != want.Pod ||
			e.Container != want.Container ||
			strings.TrimSpace(e.Text) != want.Text ||
			e.Doc != "loki" {
			t.Errorf("%+v, want %+v", e, want)
		}
	}
	for range Entries(lines, nil) {
		break // a caller that has enough
	}
}

// An error ends the entries and reaches the caller once: a query that was not
// read wholly must not look as if it were.
func TestEntriesTellOfAnError(t *testing.T) {
	broken := errors.New("broken")
	var told []error
	got := slices.Collect(Entries(func(yield func(Line, error) bool) {
		if !yield(Line{at(0), labels("a"), "0"}, nil) || yield(Line{}, broken) {
			t.Error("it goes on after an error")
		}
	}, func(err error) { told = append(told, err) }))
	if len(got) != 1 || len(told) != 1 || told[0] != broken {
		t.Errorf("%+v %v", got, told)
	}
}

// FuzzParse: no answer makes the client panic, and lines come in the order of
// their times.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{"status":"success","data":{"resultType":"streams","result":[{"stream":{"pod":"a"},"values":[["2","b"],` +
			`["1","a",{"structuredMetadata":{"x":"y"}}]]},{"stream":null,"values":null}]}}`,
		`{"data":{"resultType":"matrix"}}`,
		`{"data":{"resultType":"streams","result":[{"values":[["1"],[],null,[1,2]]}]}}`, `{"data":null}`, `[]`, ``,
		`{"data":{"resultType":"streams","result":[{"values":[["-9223372036854775808","\ud800"],` +
			`["9223372036854775807",null]]}]}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := parsePage(data)
		if err != nil && lines != nil {
			t.Errorf("%d lines beside an error", len(lines))
		}
		if !slices.IsSortedFunc(lines, func(a, b Line) int { return a.At.Compare(b.At) }) {
			t.Error("not in the order of time")
		}
		for _, l := range lines {
			_ = l.lineKey()
		}
	})
}
