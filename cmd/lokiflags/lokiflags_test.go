package lokiflags

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func TestSource(t *testing.T) {
	s, err := (&Flags{URL: "http://loki:3100", Since: "24h", Until: "1h", Tenant: "ci"}).Source(now)
	if err != nil || !s.From.Equal(now.Add(-24*time.Hour)) || !s.To.Equal(now.Add(-time.Hour)) ||
		s.Client.Header.Get("X-Scope-OrgID") != "ci" {
		t.Errorf("%+v, %v", s, err)
	}
	for want, f := range map[string]Flags{
		"--loki loki:3100: want http://HOST:PORT": {URL: "loki:3100", Since: "24h"},
		"--loki nowhere: want http://HOST:PORT":   {URL: "nowhere", Since: "24h"},
		"--since soon: want a duration":           {URL: "http://loki:3100", Since: "soon"},
		"--until soon: want a time":               {URL: "http://loki:3100", Since: "1h", Until: "soon"},
		"--since 1h is not before --until":        {URL: "http://loki:3100", Since: "1h", Until: "2h"},
		"nonexistent":                             {URL: "http://loki:3100", Since: "1h", TokenFile: "nonexistent"},
	} {
		if _, err := f.Source(now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", f, err, want)
		}
	}
}

func TestHasTime(t *testing.T) {
	for f, want := range map[Flags]bool{
		{Since: "24h"}: false, {}: false, {Since: "6h"}: true, {Since: "24h", Until: "1h"}: true,
	} {
		if f.HasTime() != want {
			t.Errorf("%+v has a time: %v", f, !want)
		}
	}
}

// A Loki that is not there is told in one line, without the password of its address.
func TestProblem(t *testing.T) {
	f := Flags{URL: "http://ada:secret@127.0.0.1:1", Since: "1h"}
	s, err := f.Source(now)
	if err != nil {
		t.Fatal(err)
	}
	for range s.Runner(context.Background(), "amber") {
		t.Fatal("nobody answers, and a line came")
	}
	got := f.Problem(s.Err()).Error()
	if !strings.HasPrefix(got, "--loki http://ada:xxxxx@127.0.0.1:1: ") ||
		!strings.HasSuffix(got, "does a Loki listen there?") || strings.Contains(got, "\n") {
		t.Error(got)
	}
	if got := f.Problem(errors.New("400")).Error(); !strings.Contains(got, "hint: --loki-pods") {
		t.Error(got)
	}
}
