package ingest

import (
	"bytes"
	"strings"
)

// shapeOf says which program's log format a text has, and the time that it
// carries (size 0 where it has none). It splits nothing.
func shapeOf(s string) (Source, stamp) {
	if s == "" {
		return Unknown, stamp{}
	}
	switch c := s[0]; {
	case c == '{':
		return jsonShape(s)
	case c == 'I' || c == 'W' || c == 'E' || c == 'F':
		if st, ok := klogStamp(s[1:]); ok && strings.Contains(s[:min(len(s), 160)], "] ") {
			return Kubelet, st
		}
	case c == 't' || c == 'l' || c == 'm':
		return logfmtShape(s)
	case digit(c):
		return zapShape(s)
	}
	if _, _, ok := klogHead(s); ok && strings.Contains(s, ".go:") {
		return Kubelet, stamp{}
	}
	if isLevel(before(s, "\t")) || isLevel(before(s, " ")) {
		return loggerOfText(s), stamp{}
	}
	return Unknown, stamp{}
}

// structuredShape says whether s is zap, slog or logrus text or JSON.
func structuredShape(s string) bool {
	switch {
	case strings.HasPrefix(s, "{\""):
		return (strings.Contains(s, `"msg"`) || strings.Contains(s, `"message"`)) &&
			(strings.Contains(s, `"level"`) || strings.Contains(s, `"severity"`) || strings.Contains(s, `"ts"`))
	case strings.HasPrefix(s, "time=") || strings.HasPrefix(s, "ts=") || strings.HasPrefix(s, "level="):
		return strings.Contains(s, "msg=")
	}
	if st, ok := isoStamp(s); ok {
		s = strings.TrimLeft(s[st.size:], " \t")
		return isLevel(before(before(s, "\t"), " "))
	}
	return isLevel(before(s, "\t")) && strings.Contains(s, "\t")
}

// logfmtShape: logrus quotes its time and writes its levels small (containerd,
// dockerd, the kata shim); slog does neither (ARC's listener since 0.14).
func logfmtShape(s string) (Source, stamp) {
	if !strings.HasPrefix(s, "time=") && !strings.HasPrefix(s, "level=") && !strings.HasPrefix(s, "msg=") && !strings.HasPrefix(s, "ts=") {
		return Unknown, stamp{}
	}
	st, _ := innerStamp(s)
	switch {
	case strings.HasPrefix(s, "time=\"") && strings.Contains(s, " level=") && strings.Contains(s, " msg="):
		if fromKata(s) {
			return Kata, st
		}
		return Containerd, st
	case strings.Contains(s, "component=") || strings.Contains(s, "logger="):
		var room [16]Field
		_, fields, _ := splitLogfmt(s, room[:0])
		return namedShape(fields), st
	}
	return Unknown, st
}

func namedShape(fields Fields) Source {
	for _, key := range []string{"logger", "component"} {
		if src := loggerSource(fields.Get(key)); src != Unknown {
			return src
		}
	}
	return Unknown
}

// zapShape: `2026-05-04T10:00:00Z<TAB>INFO<TAB>logger<TAB>…`, also with spaces.
func zapShape(s string) (Source, stamp) {
	st, ok := isoStamp(s)
	if !ok {
		if st, ok = epochStamp(s); !ok {
			return Unknown, stamp{}
		}
	}
	rest := strings.TrimLeft(s[st.size:], " \t")
	if !isLevel(before(before(rest, "\t"), " ")) {
		return Unknown, st
	}
	return loggerOfText(rest), st
}

// loggerOfText names the program of zap's text by its logger, or by the fields
// that controller-runtime adds.
func loggerOfText(s string) Source {
	var room [16]Field
	msg, fields, ok := splitTabbed(s, room[:0])
	if !ok {
		msg, fields, ok = splitSpaced(s, room[:0])
	}
	if !ok || msg == "" {
		return Unknown
	}
	if src := namedShape(fields); src != Unknown {
		return src
	}
	if fields.Get("controller") != "" || fields.Get("controllerKind") != "" || fields.Get("ephemeralrunner") != "" {
		return Controller
	}
	return Unknown
}

// jsonShape: zap (severity/level, logger), slog (source, component), klog
// (`"ts":1e12,"caller":…,"v":0`), containerd's logrus (level, msg, time only).
func jsonShape(s string) (Source, stamp) {
	var room [24]Field
	o, _ := scanObject(bytesOf(s))
	fields := Fields(room[:0]).flatten("", &o, 3)
	st, _ := innerStamp(s)
	if src := namedShape(fields); src != Unknown {
		return src, st
	}
	has := fields.has
	_, isEpoch := epochStamp(fields.Get("ts"))
	switch {
	case has("ephemeralrunner") || has("controllerKind") || has("reconcileID"):
		return Controller, st
	case isEpoch && has("caller") && has("msg") && (has("v") || has("err")):
		return Kubelet, st
	case has("time") && has("level") && has("msg") && has("source") && fields.Get("source") != "" && fromKata(" source="+fields.Get("source")):
		return Kata, st
	case has("time") && has("level") && has("msg") && !has("source") && !has("job") && !has("logger"):
		return Containerd, st
	}
	return Unknown, st
}

// fromKata says whether a line of containerd's is one that it copied from a
// kata shim.
func fromKata(text string) bool {
	i := strings.Index(text, " source=")
	if i < 0 {
		return false
	}
	s := strings.TrimPrefix(text[i+len(" source="):], "\"")
	return strings.HasPrefix(s, "containerd-kata-shim-v2") || strings.HasPrefix(s, "virtcontainers") || strings.HasPrefix(s, "katautils")
}

// namesSource says whether b has the words that fromKata looks for. Text has
// many blanks and few equals signs.
func namesSource(b []byte) bool {
	for at := 0; ; at++ {
		i := bytes.IndexByte(b[at:], '=')
		if i < 0 {
			return false
		}
		if at += i; bytes.HasSuffix(b[:at], []byte(" source")) {
			return true
		}
	}
}
