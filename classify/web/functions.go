package web

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"coroner/classify/lookup"
	"coroner/classify/postmortem"
	"coroner/rules"
)

// functions are what templates may call.
var functions = template.FuncMap{
	"asset":  func(name string) string { return "/assets/" + name + "?v=" + assetHash },
	"clean":  clean,
	"short":  func(s string) string { return cut(clean(s), 160) },
	"when":   when,
	"stamp":  stamp,
	"runner": lookup.PagePath,
	"escape": url.PathEscape,
	"plural": plural,
	"death":  rules.Label.Death,
}

// maxText is how many characters of one text a page shows at most.
const maxText = 2000

// clean makes a text from a log fit to be shown: no control characters, no
// text direction marks, not endless.
func clean(s any) string { return cut(postmortem.Clean(fmt.Sprint(s)), maxText) }

func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// when is a time for people; a page's times are all UTC.
func when(t any) string {
	switch t := t.(type) {
	case time.Time:
		if !t.IsZero() {
			return t.UTC().Format("2006-01-02 15:04:05Z")
		}
	case *time.Time:
		if t != nil {
			return when(*t)
		}
	}
	return "—"
}

// stamp is a time for programs.
func stamp(t any) string {
	switch t := t.(type) {
	case time.Time:
		return t.UTC().Format(time.RFC3339Nano)
	case *time.Time:
		if t != nil {
			return stamp(*t)
		}
	}
	return ""
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, strings.TrimSuffix(one, "s"))
}
