package logtext

import (
	"path"
	"strings"
)

// The unified log of macOS, as `log show` prints it in its default style, in --style
// syslog, and in --style ndjson, whose records have the parts of a line:
//
//	2026-05-04 10:00:00.123456+0200 0x1a2b  Error  0x0  4123  0  tart: (lib) [sub:category] text
//	2026-05-04 10:00:00.123456+0200  localhost tart[4123]: (lib) [sub:category] text

// WithoutColumns takes off what stands between the time and the text of a line of the
// default style: thread, type, activity, process id, time to live, and the program.
func WithoutColumns(s string) string {
	rest := s
	for column := range 5 {
		word, n := NextWord(rest, 0)
		hex := column == 0 || column == 2
		if word == "" || hex != strings.HasPrefix(word, "0x") || column > 2 && Number(word, 0, len(word)) < 0 {
			return s
		}
		rest = rest[n:]
	}
	if program, text, ok := strings.Cut(strings.TrimLeft(rest, " "), ": "); ok && !strings.Contains(program, " ") {
		return WithoutLibrary(MacHost, text)
	}
	return s
}

// WithoutLibrary takes off what a Mac puts before a text: `(library) ` and
// `[subsystem:category] `.
func WithoutLibrary(host, text string) string {
	if host != MacHost {
		return text
	}
	if inner, rest, ok := strings.Cut(text, ") "); ok && isOneWord(inner, "(") {
		text = rest
	}
	if inner, rest, ok := strings.Cut(text, "] "); ok && isOneWord(inner, "[") && strings.Contains(inner, ":") {
		text = rest
	}
	return text
}

func isOneWord(s, first string) bool { return strings.HasPrefix(s, first) && !strings.Contains(s, " ") }

// UnifiedRecord is a record of --style ndjson as a line of --style syslog.
func UnifiedRecord(at, image, message string) string {
	return at + "  " + MacHost + " " + path.Base(image) + "[0]: " + message
}

// MacHost is what --style syslog calls every host.
const MacHost = "localhost"
