// Package logtext reads one log message: its control characters, its times, its
// fields in klog, logfmt, zap and JSON, and the program whose form it has.
//
// Invariant: no text makes it fail. What it gives back is valid UTF-8 without
// control characters where it says so, and a message that has no form is its
// whole text. A text's form never says who wrote it for sure.
//
// Crash behaviour: the package holds no state outside the value being parsed;
// nothing here opens a file, reads a clock or starts a goroutine.
package logtext

import (
	"slices"
	"strings"

	"coroner/ingest"
)

// Message splits an entry's structured text into its message, unquoted, and its fields:
// klog text and JSON, logrus, slog, zap, and words before key=value pairs.
// Nested JSON is flattened with dots, arrays stay as they were written. Where
// the text is not structured ok is false and msg is the text. The fields are
// put behind those in room, which may be nil; e.Fields are not among them.
func Message(e *ingest.Entry, room Fields) (msg string, fields Fields, ok bool) {
	if m, found := e.Fields["msg"]; found {
		return m, room, true
	}
	if e.Source == ingest.Kernel || e.Source == ingest.Systemd || e.Source == ingest.Kube {
		return e.Text, room, false
	}
	if msg, fields, ok = splitForms(e.Text, room); !ok {
		return e.Text, room, false
	}
	if strings.IndexByte(e.Text, '\\') >= 0 { // else they are parts of a text that is clean
		msg = Cleaned(msg)
		for i := range fields {
			fields[i].Value = Cleaned(fields[i].Value)
		}
	}
	return msg, fields, true
}

// splitForms tries the forms, by what they look at first.
func splitForms(s string, f Fields) (msg string, all Fields, ok bool) {
	if msg, all, ok = splitJSON(s, f); ok {
		return msg, all, ok
	}
	if msg, all, ok = splitKlog(s, f); ok {
		return msg, all, ok
	}
	if msg, all, ok = splitLogfmt(s, f); ok {
		return msg, all, ok
	}
	if msg, all, ok = splitTabbed(s, f); ok {
		return msg, all, ok
	}
	return splitSpaced(s, f)
}

// splitJSON: zap (ARC: severity, ts, logger, message), slog (time, level,
// msg), logrus (time, level, msg), klog (ts, caller, msg, v).
func splitJSON(s string, f Fields) (string, Fields, bool) {
	if !strings.HasPrefix(s, "{\"") && !strings.HasPrefix(s, "{ \"") {
		return "", f, false
	}
	o, _ := ScanObject(BytesOf(s))
	return f.flattenInto("", &o, 0).takeMessage()
}

// takeMessage moves the message and the severity to their one name.
func (f Fields) takeMessage() (msg string, rest Fields, ok bool) {
	for _, key := range []string{"msg", "message", "MESSAGE"} {
		if msg, ok = f.Lookup(key); ok {
			f = f.withoutName(key)
			break
		}
	}
	for _, key := range []string{"level", "lvl"} {
		if v, found := f.Lookup(key); found && f.Get("severity") == "" {
			f = append(f, Field{"severity", v})
		}
	}
	return msg, f, ok
}

// splitKlog: `I0102 15:04:05.000000    1234 file.go:123] "Message" key="v"`,
// since Kubernetes 1.19; before that the text is free. The head may be cut.
func splitKlog(s string, f Fields) (string, Fields, bool) {
	severity, rest, ok := klogHead(s)
	if !ok {
		return "", f, false
	}
	begin := len(f)
	if severity != "" {
		f = append(f, Field{"severity", severity})
	}
	if !strings.HasPrefix(rest, "\"") {
		return rest, f, true
	}
	msg, tail := Unquote(rest)
	f, left := f.addPairs(tail, new(unclosed))
	if !f[begin:].severalNames() && strings.TrimSpace(left) != "" {
		return rest, f, true // the text merely begins with a quotation
	}
	return msg, f, true
}

var klogSeverity = map[byte]string{'I': "info", 'W': "warning", 'E': "error", 'F': "fatal"}

// klogHead splits off everything up to `file.go:123] `.
func klogHead(s string) (severity, rest string, ok bool) {
	end := strings.Index(s[:min(len(s), 160)], "] ")
	if end < 0 {
		return "", "", false
	}
	head := s[:end]
	if _, dated := klogStamp(strings.TrimLeft(head, "IWEF")); dated {
		return klogSeverity[head[0]], s[end+2:], true
	}
	place := head[strings.LastIndexByte(head, ' ')+1:]
	file, line, found := strings.Cut(place, ".go:")
	ok = found && file != "" && Number(line, 0, len(line)) >= 0 && line != ""
	return "", s[end+2:], ok
}

// splitLogfmt: logrus (`time="…" level=info msg="…"`) and slog (`time=… level=INFO
// msg=…`) in any order of keys.
func splitLogfmt(s string, f Fields) (string, Fields, bool) {
	if !strings.Contains(s, "msg=") || keySize(s) == 0 {
		return "", f, false
	}
	f, rest := f.addPairs(s, new(unclosed))
	msg, f, ok := f.takeMessage()
	if ok && rest != "" { // an unquoted message of several words
		var words string
		words, f = f.addTail(rest)
		msg = strings.TrimSpace(msg + " " + words)
	}
	return msg, f, ok
}

// splitTabbed: zap's console encoder, `time TAB LEVEL TAB logger TAB caller
// TAB message TAB {json}` where logger, caller and the JSON may be missing.
// The time may have been taken off as an envelope.
func splitTabbed(s string, f Fields) (string, Fields, bool) {
	if strings.IndexByte(s, '\t') < 0 {
		return "", f, false
	}
	parts := strings.Split(s, "\t")
	if !IsLevel(parts[0]) {
		parts = parts[1:]
	}
	if len(parts) < 2 || !IsLevel(parts[0]) {
		return "", f, false
	}
	f = append(f, Field{"severity", strings.ToLower(parts[0])})
	parts = parts[1:]
	if last := parts[len(parts)-1]; len(parts) > 1 && strings.HasPrefix(last, "{") {
		f = f.addJSON(last)
		parts = parts[:len(parts)-1]
	}
	if len(parts) > 1 && !isCaller(parts[0]) {
		f = append(f, Field{"logger", parts[0]})
		parts = parts[1:]
	}
	if len(parts) > 1 && isCaller(parts[0]) {
		f = append(f, Field{"caller", parts[0]})
		parts = parts[1:]
	}
	return strings.Join(parts, "\t"), f, true
}

func isCaller(s string) bool {
	return strings.Contains(s, ".go:") && !strings.Contains(s, " ")
}

// IsLevel says whether s is one word that names a severity.
func IsLevel(s string) bool {
	if len(s) < 3 || len(s) > 8 {
		return false
	}
	if s[0]|0x20 == s[0] != (s[1]|0x20 == s[1]) {
		return false // `Error` begins prose
	}
	switch strings.ToUpper(s) {
	case "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL", "PANIC", "DPANIC", "TRACE", "NOTICE":
		return true
	}
	return false
}

// splitSpaced: time, level, free words, then JSON or key=value pairs, as
// hand-written controllers print and as zap looks after its tabs became
// spaces; and GitLab Runner's `ERROR: …  job=1 project=2`.
func splitSpaced(s string, f Fields) (string, Fields, bool) {
	if st, ok := ISOStamp(s); ok {
		s = strings.TrimLeft(s[st.Size:], " ")
	}
	word, i := NextWord(s, 0)
	leveled := IsLevel(word)
	if leveled {
		f = append(f, Field{"severity", strings.ToLower(word)})
		s, f = f.takeLogger(strings.TrimLeft(s[i:], " "))
	}
	if i := strings.Index(s, " {"); i > 0 && strings.HasSuffix(s, "}") && leveled {
		return strings.TrimSpace(s[:i]), f.addJSON(s[i+1:]), true
	}
	known := len(f)
	msg, f := f.addTail(s)
	tail := f[known:]
	if slices.ContainsFunc(tail, func(p Field) bool { return strings.HasSuffix(p.Value, ",") }) {
		return "", f, false // prose: `code=killed, status=9/KILL`
	}
	return msg, f, msg != "" && (leveled || tail.severalNames())
}

// takeLogger takes a zap logger's name off the words behind the level.
func (f Fields) takeLogger(s string) (rest string, all Fields) {
	word, i := NextWord(s, 0)
	if i >= len(s) || !isLogger(word) {
		return s, f
	}
	return strings.TrimLeft(s[i:], " "), append(f, Field{"logger", word})
}

func isLogger(word string) bool {
	_, known := loggers[word]
	if known && (word != strings.ToLower(word) || word == "service" || len(word) > len("listener")) {
		return true // another small word may be the message's first
	}
	dot := strings.IndexByte(word, '.')
	return dot > 0 && dot < len(word)-1 && !strings.ContainsAny(word, ":/='\"(") && !IsDigit(word[dot+1])
}

// addTail splits words from the key=value pairs that end the text, and adds these.
func (f Fields) addTail(s string) (msg string, all Fields) {
	if strings.IndexByte(s, '=') < 0 || len(f) >= MaxFields { // most words have none
		return strings.TrimSpace(s), f
	}
	open := new(unclosed)
	for i := 0; i < len(s); i++ {
		if (i > 0 && s[i-1] != ' ') || keySize(s[i:]) == 0 {
			continue
		}
		all, rest := f.addPairs(s[i:], open)
		if rest == "" {
			return strings.TrimSpace(s[:i]), all
		}
		i = len(s) - len(rest) - 1
	}
	return strings.TrimSpace(s), f
}
