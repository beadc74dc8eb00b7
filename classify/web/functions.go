package web

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"coroner/classify/postmortem"
	"coroner/rules"
)

// functions are what templates may call.
var functions = template.FuncMap{
	"asset":  func(name string) string { return "/assets/" + name + "?v=" + assetHash },
	"clean":  cleanText,
	"short":  func(s string) string { return cutText(cleanText(s), 160) },
	"when":   timeForPeople,
	"stamp":  timeForPrograms,
	"escape": url.PathEscape,
	"plural": pluralOf,
	"death":  rules.Label.Death,
	"family": familyOf,
	"labels": func() []rules.Label { return rules.Labels },
	"ago":    timeAgo,
	"moment": func(now time.Time, at any) relative { return relative{now, at} },
	"proof":  func(s string) string { return cutMiddle(cleanText(s), 220, 110) },
	"add":    func(a, b int) int { return a + b },
	"died":   timeOfDeath,
	"second": func(t time.Time) string { return t.UTC().Format(time.TimeOnly) },
	"runner": runnerPath,
	"clock":  func(t *time.Time) string { return clockTime(*t) },
}

// runnerPath is the address of the page of a job's runner.
func runnerPath(cluster string, r *rules.RunnerVerdict) string {
	path := "/runners"
	for part := range strings.SplitSeq(r.Address(), "/") {
		path += "/" + url.PathEscape(part)
	}
	return path + inCluster("?", cluster)
}

// cutMiddle leaves a text's beginning and its end: the kernel names the process last.
func cutMiddle(s string, first, last int) string {
	all := []rune(s)
	if len(all) <= first+last+1 {
		return s
	}
	return string(all[:first]) + "…" + string(all[len(all)-last:])
}

// relative is a time and now.
type relative struct {
	Now time.Time
	At  any
}

// maxText is how many characters of one text a page shows at most.
const maxText = 2000

// cleanText makes a text from a log fit to be shown: no control characters, no
// text direction marks, not endless.
func cleanText(s any) string { return cutText(postmortem.Clean(fmt.Sprint(s)), maxText) }

func cutText(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// timeForPeople is a time for people; a page's times are all UTC.
func timeForPeople(t any) string {
	switch t := t.(type) {
	case time.Time:
		if !t.IsZero() {
			return t.UTC().Format("2006-01-02 15:04:05Z")
		}
	case *time.Time:
		if t != nil {
			return timeForPeople(*t)
		}
	}
	return "—"
}

// timeForPrograms is a time for programs.
func timeForPrograms(t any) string {
	switch t := t.(type) {
	case time.Time:
		return t.UTC().Format(time.RFC3339Nano)
	case *time.Time:
		if t != nil {
			return timeForPrograms(*t)
		}
	}
	return ""
}

// timeAgo says how long before now a time is, in one unit. The script says it again as
// time goes by.
func timeAgo(now time.Time, t any) string {
	var at time.Time
	switch t := t.(type) {
	case time.Time:
		at = t
	case *time.Time:
		if t != nil {
			at = *t
		}
	}
	if at.IsZero() {
		return "—"
	}
	d := now.Sub(at)
	if d < 0 {
		return "in " + oneUnit(-d)
	}
	return oneUnit(d) + " ago"
}

// timeOfDeath is a death's time of the day, with the day where that is not the last one.
func timeOfDeath(now time.Time, at *time.Time) string {
	if now.Sub(*at) > 20*time.Hour {
		return at.UTC().Format("01-02 15:04:05")
	}
	return clockTime(*at)
}

func oneUnit(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/day)
}

func pluralOf(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, strings.TrimSuffix(one, "s"))
}
