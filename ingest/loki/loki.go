// Package loki reads log lines back from a Loki that already has them, as
// entries.
//
// Invariant: a query yields each line of its time range once, in time order,
// however many pages it takes. What a page cannot hold is an error, never a
// silent hole: a range that was read without an error was read wholly, as far
// as that Loki has it.
//
// Crash behaviour: the package only reads.
package loki

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"coroner/ingest"
	"coroner/ingest/document"
)

// Client asks one Loki. Its fields are set before its first use.
type Client struct {
	URL    string // http://HOST:PORT
	Header http.Header
	HTTP   *http.Client
	Page   int // lines of one answer; Loki's default limit is 5000, and so is 0's
}

// Line is one log line with the labels of its stream and its structured
// metadata in one map.
type Line struct {
	At     time.Time
	Labels map[string]string
	Text   string
}

// Lines yields the lines of a LogQL query between two times, the first
// included, the last not. After an error nothing more comes.
func (c *Client) Lines(ctx context.Context, query string, from, to time.Time) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		seen := map[string]bool{} // lines of the time that the next page begins with
		for from.Before(to) {
			page, err := c.askPage(ctx, query, from, to)
			if err != nil {
				yield(Line{}, err)
				return
			}
			fresh := 0
			for _, l := range page {
				if l.At.Equal(from) && seen[l.lineKey()] {
					continue
				}
				fresh++
				if !yield(l, nil) {
					return
				}
			}
			if len(page) < c.pageLimit() {
				return
			}
			if fresh == 0 {
				yield(
					Line{},
					fmt.Errorf(
						"query %s: more than %d lines have the time %s",
						query,
						c.pageLimit(),
						from.Format(time.RFC3339Nano),
					),
				)
				return
			}
			from, seen = nextPage(page, from, seen)
		}
	}
}

// nextPage is where the next page begins, and the lines of that time that were
// yielded.
func nextPage(page []Line, from time.Time, before map[string]bool) (time.Time, map[string]bool) {
	at, seen := page[len(page)-1].At, map[string]bool{}
	if at.Equal(from) {
		seen = before
	}
	for i := len(page) - 1; i >= 0 && page[i].At.Equal(at); i-- {
		seen[page[i].lineKey()] = true
	}
	return at, seen
}

func (l Line) lineKey() string { return fmt.Sprint(l.Labels) + "\x00" + l.Text }

func (c *Client) pageLimit() int {
	if c.Page <= 0 {
		return 5000
	}
	return c.Page
}

// answer is what /loki/api/v1/query_range gives, since Loki 2.
type answer struct {
	Data struct {
		ResultType string `json:"resultType"`
		Result     []struct {
			Stream map[string]string    `json:"stream"`
			Values [][2]json.RawMessage `json:"values"`
		} `json:"result"`
	} `json:"data"`
}

const longestAnswer = 256 << 20

func (c *Client) askPage(ctx context.Context, query string, from, to time.Time) ([]Line, error) {
	q := url.Values{
		"query":     {query},
		"start":     {nanosText(from)},
		"end":       {nanosText(to)},
		"limit":     {strconv.Itoa(c.pageLimit())},
		"direction": {"forward"},
	}
	req, err := http.NewRequestWithContext(
		ctx,
		http.MethodGet,
		strings.TrimRight(c.URL, "/")+"/loki/api/v1/query_range?"+q.Encode(),
		nil,
	)
	if err != nil {
		return nil, err
	}
	for k, v := range c.Header {
		req.Header[k] = v
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking Loki: %w", err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, longestAnswer))
	if err != nil {
		return nil, fmt.Errorf("asking Loki: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf(
			"asking Loki: %s to %s: %.300s",
			res.Status,
			query,
			strings.Join(strings.Fields(string(data)), " "),
		)
	}
	return parsePage(data)
}

func nanosText(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func parsePage(data []byte) ([]Line, error) {
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("the answer is not Loki's: %w", err)
	}
	if a.Data.ResultType != "streams" {
		return nil, fmt.Errorf("the query gives %q, not log lines", a.Data.ResultType)
	}
	var out []Line
	for _, s := range a.Data.Result {
		for _, v := range s.Values {
			l := Line{Labels: s.Stream}
			var stamp string
			if err := json.Unmarshal(v[0], &stamp); err != nil {
				return nil, fmt.Errorf("the answer is not Loki's: %w", err)
			}
			n, err := strconv.ParseInt(stamp, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("the answer is not Loki's: %w", err)
			}
			if err := json.Unmarshal(v[1], &l.Text); err != nil {
				return nil, fmt.Errorf("the answer is not Loki's: %w", err)
			}
			l.At = time.Unix(0, n).UTC()
			out = append(out, l)
		}
	}
	sortLines(out)
	return out, nil
}

// Entries turns lines into entries; stop is called with an error and ends them.
func Entries(lines iter.Seq2[Line, error], stop func(error)) iter.Seq[ingest.Entry] {
	return func(yield func(ingest.Entry) bool) {
		feed := document.Document{Name: "loki"}.Feed()
		for l, err := range lines {
			if err != nil {
				stop(err)
				return
			}
			for _, e := range feed.Shipped(l.At, l.Labels, l.Text) {
				if !yield(e) {
					return
				}
			}
		}
		for _, e := range feed.Flush() {
			if !yield(e) {
				return
			}
		}
	}
}

// sortLines brings the streams of an answer into one order.
func sortLines(all []Line) {
	slices.SortStableFunc(all, func(a, b Line) int { return a.At.Compare(b.At) })
}
