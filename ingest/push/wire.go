// Package push carries entries over the Loki push protocol: the agent's Sender
// on one side, the server's Handler on the other.
//
// What an agent sends are ordinary Loki streams, so any tool that reads the
// protocol can look at them; everything that an Entry holds beside its text
// travels as structured metadata. What other shippers send (Alloy, promtail,
// Vector, Fluent Bit, an OpenTelemetry collector) are plain streams: their
// labels say whose lines they are.
//
// Invariant: the handler answers 204 only after the receiver has taken all
// entries of the request; when it cannot, the answer says whether and when to
// try again. Only a request with the agent's header is read as an agent's: a
// log line cannot claim to be one. An agent speaks for the node in that header and
// for no other, and a push whose credential is one cluster's holds records of no
// other.
//
// Crash behaviour: nothing is kept here but unfinished split lines of plain
// streams; a request without an answer is sent again by whoever sent it.
package push

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/loki/pkg/push"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// Path is where Loki takes pushes, and the server too.
const Path = "/loki/api/v1/push"

// AgentHeader marks a push as an agent's; its value is the node's name.
const AgentHeader = "X-Coroner-Agent"

// ElsewhereHeader stands in the answer of a server that cannot store what was pushed, for
// want of its ledger: another server behind the same address may be able to.
const ElsewhereHeader = "X-Coroner-Elsewhere"

// ClusterHeader says which cluster's API server knows the agent's token; none is
// the server's own cluster.
const ClusterHeader = "X-Coroner-Cluster"

// Encode makes a push request of an agent's entries, snappy-compressed. Its
// streams are in the order of their first entries.
func Encode(entries []ingest.Entry) ([]byte, error) {
	var req push.PushRequest
	streams := map[string]int{}
	for i := range entries {
		e := &entries[i]
		labels := labelsOf(e)
		at, ok := streams[labels]
		if !ok {
			at = len(req.Streams)
			streams[labels] = at
			req.Streams = append(req.Streams, push.Stream{Labels: labels})
		}
		s := &req.Streams[at]
		s.Entries = append(s.Entries, push.Entry{Timestamp: stampOf(e), Line: e.Text, StructuredMetadata: metadata(e)})
	}
	data, err := req.Marshal()
	return s2.EncodeSnappy(nil, data), err // not as small as can be, but in a tenth of the memory
}

// Decode reads the entries of what Encode made, stream by stream.
func Decode(body []byte) (out []ingest.Entry, err error) {
	size, err := snappy.DecodedLen(body)
	if err == nil && size > maxDecoded {
		err = errWire
	}
	if err != nil {
		return nil, err
	}
	var req push.PushRequest
	data, err := snappy.Decode(nil, body)
	if err == nil {
		err = req.Unmarshal(data)
	}
	for _, s := range req.Streams {
		labels, _ := logtext.ParseLabels(s.Labels)
		for i := 0; i < len(s.Entries) && err == nil; i++ {
			var e ingest.Entry
			e, err = entryOf(labels, &s.Entries[i])
			out = append(out, e)
		}
	}
	return out, err
}

// maxDecoded is more than a push of an agent has, as it keeps each far below what servers take.
const maxDecoded = 64 << 20

// labelsOf are the labels of an entry's stream: few, and none with a pod's name.
func labelsOf(e *ingest.Entry) string {
	out := "{job=\"coroner-agent\", node=" + strconv.Quote(e.Node) + ", source=" + strconv.Quote(string(e.Source))
	if e.Cluster != "" {
		out += ", cluster=" + strconv.Quote(e.Cluster)
	}
	return out + "}"
}

// stampOf is the time that the entry travels under.
func stampOf(e *ingest.Entry) time.Time {
	switch {
	case !e.At.IsZero():
		return e.At
	case !e.After.IsZero():
		return e.After
	}
	return time.Unix(0, 0).UTC()
}

// The names of structured metadata. Fields of the entry have their own name,
// values that travel beside the text have field_ before theirs.
const fieldPrefix = "field_"

func metadata(e *ingest.Entry) (m push.LabelsAdapter) {
	put := func(name, value string) {
		if value != "" {
			m = append(m, push.LabelAdapter{Name: name, Value: value})
		}
	}
	number := func(name string, n int64) {
		if n != 0 {
			put(name, strconv.FormatInt(n, 10))
		}
	}
	number("at", ingest.Nanos(e.At))
	number("after", ingest.Nanos(e.After))
	number("mono", int64(e.Mono))
	number("clock", int64(e.Clock))
	number("trust", int64(e.Trust))
	put("boot", e.Boot)
	put("namespace", e.Namespace)
	put("pod", e.Pod)
	put("pod_uid", e.PodUID)
	put("container", e.Container)
	put("container_id", e.ContainerID)
	put("unit", e.Unit)
	number("cut", int64(e.Cut))
	put("doc", e.Doc)
	number("line", int64(e.Line))
	put("cursor", e.Cursor)
	for _, k := range slices.Sorted(maps.Keys(e.Fields)) {
		put(fieldPrefix+k, e.Fields[k])
	}
	if e.Mark != nil {
		put("mark", markNames[e.Mark.Kind])
		number("from", ingest.Nanos(e.Mark.From))
		number("to", ingest.Nanos(e.Mark.To))
		number("lines", int64(e.Mark.Lines))
		put("why", e.Mark.Why)
	}
	return m
}

var markNames = map[ingest.MarkKind]string{
	ingest.Covered: "covered",
	ingest.Gap:     "gap",
	ingest.Mixed:   "mixed",
	ingest.Ended:   "ended",
	ingest.Reached: "reached",
}

var errWire = errors.New("not an agent's entry")

// entryOf reads an agent's entry back.
func entryOf(labels map[string]string, in *push.Entry) (ingest.Entry, error) {
	e := ingest.Entry{Cluster: logtext.ClusterOf(labels), Node: labels["node"],
		Source: knownSource(ingest.Source(labels["source"])), Text: in.Line}
	if len(e.Text) > ingest.MaxText {
		return e, fmt.Errorf("%w: a line of %d bytes", errWire, len(e.Text))
	}
	for _, md := range in.StructuredMetadata {
		if err := setField(&e, md.Name, md.Value); err != nil {
			return e, fmt.Errorf("%w: %s: %w", errWire, md.Name, err)
		}
	}
	if e.Source.Forgeable() {
		e.Trust = ingest.Claimed
	}
	return e, nil
}

func setField(e *ingest.Entry, name, value string) (err error) {
	number := func(into func(int64)) {
		var n int64
		if n, err = strconv.ParseInt(value, 10, 64); err == nil {
			into(n)
		}
	}
	texts := map[string]*string{
		"boot":         &e.Boot,
		"namespace":    &e.Namespace,
		"pod":          &e.Pod,
		"pod_uid":      &e.PodUID,
		"container":    &e.Container,
		"container_id": &e.ContainerID,
		"unit":         &e.Unit,
		"doc":          &e.Doc,
		"cursor":       &e.Cursor,
	}
	if into := texts[name]; into != nil {
		*into = value
		return nil
	}
	switch name {
	case "at":
		number(func(n int64) { e.At = moment(n) })
	case "after":
		number(func(n int64) { e.After = moment(n) })
	case "mono":
		number(func(n int64) { e.Mono = time.Duration(n) })
	case "clock":
		number(func(n int64) { e.Clock = ingest.Clock(n) })
	case "trust":
		number(func(n int64) { e.Trust = min(ingest.Trust(n), ingest.Attested) })
	case "cut":
		number(func(n int64) { e.Cut = int(n) })
	case "line":
		number(func(n int64) { e.Line = int(n) })
	default:
		return setRest(e, name, value)
	}
	return err
}

func setRest(e *ingest.Entry, name, value string) error {
	if field, ok := strings.CutPrefix(name, fieldPrefix); ok {
		if e.Fields == nil {
			e.Fields = map[string]string{}
		}
		e.Fields[field] = value
		return nil
	}
	switch name {
	case "mark", "why", "from", "to", "lines":
		if e.Mark == nil {
			e.Mark = &ingest.Mark{}
		}
		return setMark(e.Mark, name, value)
	}
	return nil // of a later version
}

func setMark(m *ingest.Mark, name, value string) error {
	if name == "why" {
		m.Why = value
		return nil
	}
	if name == "mark" {
		for kind, n := range markNames {
			if n == value {
				m.Kind = kind
				return nil
			}
		}
		return fmt.Errorf("no mark is called %q", value)
	}
	n, err := strconv.ParseInt(value, 10, 64)
	switch name {
	case "from":
		m.From = moment(n)
	case "to":
		m.To = moment(n)
	default:
		m.Lines = int(n)
	}
	return err
}

func moment(n int64) time.Time { return time.Unix(0, n).UTC() }
