package logtext

import (
	"regexp"
	"strings"
	"time"
)

// Ident is who wrote a host's line: `kubelet[1]:`, `kernel:`.
type Ident struct {
	Name   string
	HasPID bool
}

// HostStamp reads the time that a host's log line starts with.
func HostStamp(s string) (st Stamp, rest string, ok bool) {
	if IsDigit(s[0]) {
		if st, ok = ISOStamp(s); ok {
			return st, s[st.Size:], st.FractionDigits <= 6
		}
		if st, ok = unixStamp(s); ok {
			return st, s[st.Size:], true
		}
		if st, ok = DayStamp(s); ok && len(s) > st.Size && s[st.Size] == ' ' {
			return st, s[st.Size:], true
		}
	}
	if st, ok = SyslogStamp(s); ok {
		return st, s[st.Size:], true
	}
	day, i := NextWord(s, 0) // short-full starts with a weekday
	if len(day) > 12 || i+1 >= len(s) || !IsDigit(s[i+1]) {
		return st, s, false
	}
	if st, ok = ISOStamp(s[i+1:]); !ok {
		return st, s, false
	}
	rest = s[i+1+st.Size:]
	if word, n := NextWord(rest, 0); st.Zone == nil && word != "" && !strings.HasSuffix(word, ":") &&
		strings.ToUpper(word) == word {
		st.Zone = NamedZone(word)
		rest = rest[n:]
	}
	return st, rest, true
}

// unixStamp: `1777888800.123456 `, journalctl -o short-unix.
func unixStamp(s string) (st Stamp, ok bool) {
	if len(s) < 18 || s[10] != '.' || s[17] != ' ' {
		return st, false
	}
	return EpochStamp(s)
}

// IdentOf reads the word that ends at i as `name[pid]:` or `name:`.
func IdentOf(word, s string, i int) (who Ident, text string, ok bool) {
	name, ok := strings.CutSuffix(word, ":")
	if !ok || name == "" || len(name) > 256 || name[0] == ':' {
		return who, "", false
	}
	text = strings.TrimPrefix(s[i:], " ")
	if head, pid, found := strings.Cut(name, "["); found && strings.HasSuffix(pid, "]") && head != "" {
		pid = pid[:len(pid)-1]
		if Number(pid, 0, len(pid)) >= 0 && pid != "" {
			return Ident{Name: head, HasPID: true}, text, true
		}
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; c <= ' ' || c == '"' || c == '=' || c == '[' || c == ']' || c == '{' {
			return who, "", false
		}
	}
	return Ident{Name: name}, text, true
}

// IsHostName is loose: people mask the names of their machines. A word with a colon
// is a program's, and what it says can look like another one's line.
func IsHostName(s string) bool {
	return len(s) <= 253 && !strings.ContainsAny(s, "=\"[](){},|") && s != "-" && !strings.HasSuffix(s, ":")
}

// BootSeconds reads `123.456789`.
func BootSeconds(s string) (time.Duration, bool) {
	whole, frac, ok := strings.Cut(s, ".")
	if !ok || len(whole) > 9 || whole == "" || len(frac) < 3 || len(frac) > 9 {
		return 0, false
	}
	a, b := Number(whole, 0, len(whole)), Number(frac, 0, len(frac))
	if a < 0 || b < 0 {
		return 0, false
	}
	for range 9 - len(frac) {
		b *= 10
	}
	return time.Duration(a)*time.Second + time.Duration(b), true
}

// DropCaller drops `[   T28]` and `[    C1]` behind the time; dmesg of util-linux
// puts a space before.
func DropCaller(s string) string {
	bracket := strings.TrimPrefix(s, " ")
	if !strings.HasPrefix(bracket, "[") {
		return s
	}
	caller, rest, ok := strings.Cut(bracket[1:], "]")
	caller = strings.TrimLeft(caller, " ")
	if !ok || len(caller) < 2 || caller[0] != 'T' && caller[0] != 'C' || Number(caller, 1, len(caller)-1) < 0 {
		return s
	}
	return rest
}

// ContinuesKlog says whether text is a further line of a value that klog prints
// over several lines (`key=<`, lines after a tab, ` >`). Such a value can be a
// probe's output or an event's message: a job wrote it. rsyslog writes the tab as
// #011, the octal number of it, syslog-ng and others as \t.
func ContinuesKlog(text string) bool {
	return text != "" && text[0] == '\t' || strings.HasPrefix(text, " >") || strings.HasPrefix(text, "#011") ||
		strings.HasPrefix(text, `\t`)
}

// IsMarkup says whether a line is Markdown's or HTML's, which no program prints between the lines
// of its log.
func IsMarkup(s string) bool {
	for _, mark := range []string{"```", "## ", "### ", "**", "<details", "</details", "<summary", "<pre", "</pre"} {
		if strings.HasPrefix(s, mark) {
			return true
		}
	}
	return false
}

// cutMark is a line that says that lines were left out here: `...`, `[... 4,312 lines omitted ...]`, `<snip>`.
var cutMark = regexp.MustCompile(`(?i)^(?:(?:\.{3,}|…)|\[(?:\.{3,}|…)\]|\((?:\.{3,}|…)\)|` +
	`[\[(<{]?[-. …]*(?:[\d,.]+ (?:more )?)?(?:lines? )?(?:omitted|truncated|snip(?:ped)?|cut|skipped|removed|elided)` +
	`(?: [\d,.]+)?(?: lines?)?[-. …]*[\])>}]?)$`)

// IsCut says whether a line says that others were left out. One that does and is no single word stands in
// brackets or between dots.
func IsCut(s string) bool {
	return len(s) >= 3 && len(s) <= 64 && strings.IndexByte("[(<{.-", s[0]) >= 0 && cutMark.MatchString(s) ||
		strings.HasPrefix(s, "…") && cutMark.MatchString(s)
}

// IsDecoration says whether a line is what people type around a paste.
func IsDecoration(s string) bool {
	return strings.HasPrefix(s, "$ ") || strings.HasPrefix(s, "# ") || strings.HasPrefix(s, "```") ||
		strings.Trim(s, ".-=*_~ …") == ""
}
