package logtext

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"coroner/ingest"
)

// ProgramOf says which program's log format a text has, and the time that it
// carries (size 0 where it has none). It splits nothing.
func ProgramOf(s string) (ingest.Source, Stamp) {
	if s == "" {
		return ingest.Unknown, Stamp{}
	}
	switch c := s[0]; {
	case c == '{':
		return jsonShape(s)
	case c == 'I' || c == 'W' || c == 'E' || c == 'F':
		if st, ok := klogStamp(s[1:]); ok && strings.Contains(s[:min(len(s), 160)], "] ") {
			return ingest.Kubelet, st
		}
	case c == 't' || c == 'l' || c == 'm':
		return logfmtShape(s)
	case IsDigit(c) && strings.Contains(s, listenerEnds):
		_, st := zapShape(s)
		return ingest.Listener, st
	case IsDigit(c):
		return zapShape(s)
	}
	if _, _, ok := klogHead(s); ok && strings.Contains(s, ".go:") {
		return ingest.Kubelet, Stamp{}
	}
	if IsLevel(Before(s, "\t")) || IsLevel(Before(s, " ")) {
		return loggerOfText(s), Stamp{}
	}
	return ingest.Unknown, Stamp{}
}

// listenerEnds is what ARC's listener prints before it ends, by the Go library's own log,
// since 0.9.
const listenerEnds = " Application returned an error: "

// IsStructured says whether s is zap, slog or logrus text or JSON.
func IsStructured(s string) bool {
	switch {
	case strings.HasPrefix(s, "{\""):
		return (strings.Contains(s, `"msg"`) || strings.Contains(s, `"message"`)) &&
			(strings.Contains(s, `"level"`) || strings.Contains(s, `"severity"`) || strings.Contains(s, `"ts"`))
	case strings.HasPrefix(s, "time=") || strings.HasPrefix(s, "ts=") || strings.HasPrefix(s, "level="):
		return strings.Contains(s, "msg=")
	}
	if st, ok := ISOStamp(s); ok {
		s = strings.TrimLeft(s[st.Size:], " \t")
		return IsLevel(Before(Before(s, "\t"), " "))
	}
	return IsLevel(Before(s, "\t")) && strings.Contains(s, "\t")
}

// logfmtShape: logrus quotes its time and writes its levels small (containerd,
// dockerd, the kata shim); slog does neither (ARC's listener since 0.14).
func logfmtShape(s string) (ingest.Source, Stamp) {
	if !strings.HasPrefix(s, "time=") && !strings.HasPrefix(s, "level=") && !strings.HasPrefix(s, "msg=") &&
		!strings.HasPrefix(s, "ts=") {
		return ingest.Unknown, Stamp{}
	}
	st, _ := InnerStamp(s)
	switch {
	case strings.HasPrefix(s, "time=\"") && strings.Contains(s, " level=") && strings.Contains(s, " msg="):
		switch {
		case FromKata(s):
			return ingest.Kata, st
		case isOfAnother(s):
			return ingest.Unknown, st
		}
		return ingest.Containerd, st
	case strings.Contains(s, "component=") || strings.Contains(s, "logger="):
		var room [16]Field
		_, fields, _ := splitLogfmt(s, room[:0])
		return namedShape(fields), st
	}
	return ingest.Unknown, st
}

// isOfAnother says whether a line in the form of containerd's, which is that of many programs written in
// Go, has a field that neither containerd nor dockerd gives: those are about other things than containers.
func isOfAnother(s string) bool {
	if !slices.ContainsFunc(othersFields, func(name string) bool { return strings.Contains(s, name+"=") }) {
		return false
	}
	var room [16]Field
	_, fields, _ := splitLogfmt(s, room[:0])
	return slices.ContainsFunc(othersFields, func(name string) bool { return fields.Get(name) != "" })
}

// othersFields are such fields: of Argo, gitlab-runner, drone and of controllers.
var othersFields = []string{"workflow", "displayName", "job", "project", "runner", "pipeline", "step.id"}

func namedShape(fields Fields) ingest.Source {
	for _, key := range []string{"logger", "component"} {
		if src := loggerSource(fields.Get(key)); src != ingest.Unknown {
			return src
		}
	}
	return ingest.Unknown
}

// zapShape: `2026-05-04T10:00:00Z<TAB>INFO<TAB>logger<TAB>…`, also with spaces.
func zapShape(s string) (ingest.Source, Stamp) {
	st, ok := ISOStamp(s)
	if !ok {
		if st, ok = EpochStamp(s); !ok {
			return ingest.Unknown, Stamp{}
		}
	}
	rest := strings.TrimLeft(s[st.Size:], " \t")
	if !IsLevel(Before(Before(rest, "\t"), " ")) {
		return ingest.Unknown, st
	}
	return loggerOfText(rest), st
}

// loggerOfText names the program of zap's text by its logger, or by the fields
// that controller-runtime adds.
func loggerOfText(s string) ingest.Source {
	var room [16]Field
	msg, fields, ok := splitTabbed(s, room[:0])
	if !ok {
		msg, fields, ok = splitSpaced(s, room[:0])
	}
	if !ok || msg == "" {
		return ingest.Unknown
	}
	if src := namedShape(fields); src != ingest.Unknown {
		return src
	}
	if fields.Get("controller") != "" || fields.Get("controllerKind") != "" || fields.Get("ephemeralrunner") != "" {
		return ingest.Controller
	}
	return ingest.Unknown
}

// jsonShape: zap (severity/level, logger), slog (source, component), klog
// (`"ts":1e12,"caller":…,"v":0`), containerd's logrus (level, msg, time only).
func jsonShape(s string) (ingest.Source, Stamp) {
	var room [24]Field
	o, _ := ScanObject(BytesOf(s))
	fields := Fields(room[:0]).flattenInto("", &o, 3)
	st, _ := InnerStamp(s)
	if src := namedShape(fields); src != ingest.Unknown {
		return src, st
	}
	has := fields.hasField
	_, isEpoch := EpochStamp(fields.Get("ts"))
	switch {
	case has("ephemeralrunner") || has("controllerKind") || has("reconcileID"):
		return ingest.Controller, st
	case isEpoch && has("caller") && has("msg") && (has("v") || has("err")):
		return ingest.Kubelet, st
	case has("time") && has("level") && has("msg") && has("source") && fields.Get("source") != "" &&
		FromKata(" source="+fields.Get("source")):
		return ingest.Kata, st
	case has("time") && has("level") && has("msg") && !has("source") && !has("job") && !has("logger"):
		return ingest.Containerd, st
	}
	return ingest.Unknown, st
}

// Overrules says whether a line in the form of src, which ProgramOf found, is not the
// program's that its file is named after: the form is surely another's. A name is a
// hint; controllers print klog and logrus as the node's programs do, under their own names.
func Overrules(src, named ingest.Source, text string) bool {
	switch {
	case named == ingest.Unknown || src == named:
		return false
	case named.Host():
		return src == ingest.Controller || src == ingest.Listener
	case src == ingest.Kubelet:
		return kubeletsFile.MatchString(text[:min(len(text), 400)])
	case src == ingest.Listener:
		return strings.Contains(text, "listener-app") || strings.Contains(text, listenerEnds)
	}
	return src == ingest.Controller || src == ingest.Kata
}

// kubeletsFile is a source file that the kubelet alone is made of, as its lines name the
// one that they come from.
var kubeletsFile = regexp.MustCompile(`[ "/](?:kubelet(?:_[a-z_]+)?|kuberuntime_[a-z_]+|pod_workers|` +
	`pod_container_\w+|pod_startup_latency_tracker|nodeshutdown_manager\w*|eviction_manager|status_manager|` +
	`prober(?:_manager)?|container_manager_linux|(?:cpu|memory|topology|qos_container|image_gc|volume)_manager\w*|` +
	`oom_(?:watcher_)?linux|remote_(?:runtime|image)|desired_state_of_world_populator|reconciler_common)\.go:\d+[\]"]`)

// FromKata says whether a line of containerd's is one that it copied from a
// kata shim.
func FromKata(text string) bool {
	i := strings.Index(text, " source=")
	if i < 0 {
		return false
	}
	s := strings.TrimPrefix(text[i+len(" source="):], "\"")
	return strings.HasPrefix(s, "containerd-kata-shim-v2") || strings.HasPrefix(s, "virtcontainers") ||
		strings.HasPrefix(s, "katautils")
}

// HasSource says whether b has the words that fromKata looks for. Text has
// many blanks and few equals signs.
func HasSource(b []byte) bool {
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

// loggers names the programs behind zap loggers whose names have no dot.
var loggers = map[string]ingest.Source{
	"EphemeralRunner": ingest.Controller, "EphemeralRunnerSet": ingest.Controller,
	"AutoscalingRunnerSet": ingest.Controller,
	"AutoscalingListener":  ingest.Controller, "setup": ingest.Controller, "runner": ingest.Controller,
	"runnerpod":        ingest.Controller,
	"runnerreplicaset": ingest.Controller, "runnerdeployment": ingest.Controller, "runnerset": ingest.Controller,
	"horizontalrunnerautoscaler": ingest.Controller,
	"controller-runtime":         ingest.Controller, "listener-app": ingest.Listener, "listener": ingest.Listener,
	"worker":  ingest.Listener,
	"service": ingest.Listener, "auto_scaler": ingest.Listener,
}

// loggerSource is the program that a zap logger's or slog component's name betrays.
func loggerSource(name string) ingest.Source {
	first, _, dotted := strings.Cut(name, ".")
	switch first {
	case "listener-app":
		return ingest.Listener
	case "controller-runtime", "controllers", "actions-runner-controller":
		return ingest.Controller
	}
	if dotted {
		return ingest.Unknown
	}
	return loggers[name]
}

// IsSurelyLog says whether a text is so clearly a log line that the words before it
// must be its stream's name.
func IsSurelyLog(s string) bool {
	s = strings.TrimLeft(s, " ")
	if _, ok := ISOStamp(s); ok {
		return true
	}
	return IsActionsRunner(s) || IsStructured(s)
}
