package ingest

import (
	"maps"
	"strings"
)

// A splitter splits one kind of structured text. ok is false for any other.
type splitter func(s string) (msg string, fields map[string]string, ok bool)

// splitters, by what they look at first.
var splitters = []splitter{splitJSON, splitKlog, splitLogfmt, splitTabbed, splitSpaced}

// Message splits structured text into its message, unquoted, and its fields:
// klog text and JSON, logrus, slog, zap, and words before key=value pairs.
// Nested JSON is flattened with dots, arrays stay as they were written. Where
// the text is not structured ok is false and msg is the text.
func (e *Entry) Message() (msg string, fields map[string]string, ok bool) {
	if m, found := e.Fields["msg"]; found {
		return m, e.Fields, true
	}
	if e.Source != Kernel && e.Source != Systemd && e.Source != Kube {
		for _, split := range splitters {
			if msg, fields, ok = split(e.Text); ok {
				return clean(msg), e.merged(fields), true
			}
		}
	}
	return e.Text, e.Fields, false
}

// merged adds the fields that travelled beside the text.
func (e *Entry) merged(fields map[string]string) map[string]string {
	for k, v := range fields {
		if !isClean(v) {
			fields[k] = clean(v)
		}
	}
	if len(e.Fields) == 0 {
		return fields
	}
	all := maps.Clone(e.Fields)
	maps.Copy(all, fields)
	return all
}

// splitJSON: zap (ARC: severity, ts, logger, message), slog (time, level,
// msg), logrus (time, level, msg), klog (ts, caller, msg, v).
func splitJSON(s string) (string, map[string]string, bool) {
	if !strings.HasPrefix(s, "{\"") && !strings.HasPrefix(s, "{ \"") {
		return "", nil, false
	}
	o, _ := scanObject([]byte(s))
	fields := make(map[string]string, 16)
	flatten("", &o, fields, 0)
	msg, ok := takeMessage(fields)
	return msg, fields, ok
}

// takeMessage moves the message and the severity to their one name.
func takeMessage(fields map[string]string) (msg string, ok bool) {
	for _, key := range []string{"msg", "message", "MESSAGE"} {
		if msg, ok = fields[key]; ok {
			delete(fields, key)
			break
		}
	}
	for _, key := range []string{"level", "lvl"} {
		if v, found := fields[key]; found && fields["severity"] == "" {
			fields["severity"] = v
		}
	}
	return msg, ok
}

// splitKlog: `I0102 15:04:05.000000    1234 file.go:123] "Message" key="v"`,
// since Kubernetes 1.19; before that the text is free. The head may be cut.
func splitKlog(s string) (string, map[string]string, bool) {
	severity, rest, ok := klogHead(s)
	if !ok {
		return "", nil, false
	}
	fields := map[string]string{}
	if severity != "" {
		fields["severity"] = severity
	}
	if !strings.HasPrefix(rest, "\"") {
		return rest, fields, true
	}
	msg, tail := unquote(rest)
	if left := strings.TrimSpace(pairs(tail, fields)); left != "" && len(fields) < 2 {
		return rest, fields, true // the text merely begins with a quotation
	}
	return msg, fields, true
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
	ok = found && file != "" && number(line, 0, len(line)) >= 0 && line != ""
	return "", s[end+2:], ok
}

// splitLogfmt: logrus (`time="…" level=info msg="…"`) and slog (`time=… level=INFO
// msg=…`) in any order of keys.
func splitLogfmt(s string) (string, map[string]string, bool) {
	if !strings.Contains(s, "msg=") || keySize(s) == 0 {
		return "", nil, false
	}
	fields := make(map[string]string, 12)
	rest := pairs(s, fields)
	msg, ok := takeMessage(fields)
	if ok && rest != "" { // an unquoted message of several words
		words, more := tailPairs(rest)
		maps.Copy(fields, more)
		msg = strings.TrimSpace(msg + " " + words)
	}
	return msg, fields, ok
}

// splitTabbed: zap's console encoder, `time TAB LEVEL TAB logger TAB caller
// TAB message TAB {json}` where logger, caller and the JSON may be missing.
// The time may have been taken off as an envelope.
func splitTabbed(s string) (string, map[string]string, bool) {
	if strings.IndexByte(s, '\t') < 0 {
		return "", nil, false
	}
	parts := strings.Split(s, "\t")
	if !isLevel(parts[0]) {
		parts = parts[1:]
	}
	if len(parts) < 2 || !isLevel(parts[0]) {
		return "", nil, false
	}
	fields := map[string]string{"severity": strings.ToLower(parts[0])}
	parts = parts[1:]
	if last := parts[len(parts)-1]; len(parts) > 1 && strings.HasPrefix(last, "{") {
		addJSON(last, fields)
		parts = parts[:len(parts)-1]
	}
	if len(parts) > 1 && !isCaller(parts[0]) {
		fields["logger"] = parts[0]
		parts = parts[1:]
	}
	if len(parts) > 1 && isCaller(parts[0]) {
		fields["caller"] = parts[0]
		parts = parts[1:]
	}
	return strings.Join(parts, "\t"), fields, true
}

// addJSON adds the members of s that do not hide what is already known.
func addJSON(s string, fields map[string]string) {
	o, _ := scanObject([]byte(s))
	extra := map[string]string{}
	flatten("", &o, extra, 0)
	for k, v := range extra {
		if _, taken := fields[k]; !taken {
			fields[k] = v
		}
	}
}

func isCaller(s string) bool {
	return strings.Contains(s, ".go:") && !strings.Contains(s, " ")
}

// isLevel says whether s is one word that names a severity.
func isLevel(s string) bool {
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
func splitSpaced(s string) (string, map[string]string, bool) {
	if st, ok := isoStamp(s); ok {
		s = strings.TrimLeft(s[st.size:], " ")
	}
	fields := map[string]string{}
	word, i := nextWord(s, 0)
	leveled := isLevel(word)
	if leveled {
		fields["severity"] = strings.ToLower(word)
		s = strings.TrimLeft(s[i:], " ")
		s = takeLogger(s, fields)
	}
	if i := strings.Index(s, " {"); i > 0 && strings.HasSuffix(s, "}") && leveled {
		addJSON(s[i+1:], fields)
		return strings.TrimSpace(s[:i]), fields, true
	}
	msg, tail := tailPairs(s)
	maps.Copy(fields, tail)
	for _, v := range tail {
		if strings.HasSuffix(v, ",") { // prose: `code=killed, status=9/KILL`
			return "", nil, false
		}
	}
	return msg, fields, msg != "" && (leveled || len(tail) > 1)
}

// takeLogger takes a zap logger's name off the words behind the level.
func takeLogger(s string, fields map[string]string) string {
	word, i := nextWord(s, 0)
	if i >= len(s) || !isLogger(word) {
		return s
	}
	fields["logger"] = word
	return strings.TrimLeft(s[i:], " ")
}

func isLogger(word string) bool {
	if _, known := loggers[word]; known && word != strings.ToLower(word) {
		return true // a small word may be the message's first
	}
	dot := strings.IndexByte(word, '.')
	return dot > 0 && dot < len(word)-1 && !strings.ContainsAny(word, ":/='\"(") && !digit(word[dot+1])
}

// tailPairs splits words from the key=value pairs that end the text.
func tailPairs(s string) (msg string, fields map[string]string) {
	fields = map[string]string{}
	for i := 0; i < len(s); i++ {
		if (i > 0 && s[i-1] != ' ') || keySize(s[i:]) == 0 {
			continue
		}
		rest := pairs(s[i:], fields)
		if rest == "" {
			return strings.TrimSpace(s[:i]), fields
		}
		clear(fields)
		i = len(s) - len(rest) - 1
	}
	return strings.TrimSpace(s), fields
}
