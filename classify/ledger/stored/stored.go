// Package stored says how entries stand in the ledger. A record that is read twice, by two
// readers or after a crash, is one row; a span of coverage that goes on is one row that grows;
// and spans of a node that differ only in their source and their begin share a row, since most
// of what a ledger is told is that nothing happened.
//
// Invariant: an entry has the same identity for as long as the ledger lives, in whichever
// document and on whichever line a reader met it, but for lines without a time: those can be
// alike and yet two. What is split is what was joined.
//
// Crash behaviour: pure functions; nothing is kept.
package stored

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"coroner/ingest"
)

// Within ends the cluster before a name.
const Within = "\x1f"

// size is how many bytes of a sum are enough to tell entries apart.
const size = 16

// RecordID is the identity of an entry with a text, as it is stored: everything but where in
// its document a reader met it. It begins with the second that the entry was written in, so
// that what comes together stands together in the index: else every record would touch
// another page of it.
func RecordID(e *ingest.Entry) []byte {
	text := make([]byte, 0, 1024)
	if e.Cluster != "" {
		text = append(append(text, e.Cluster...), Within...)
	}
	for _, part := range []string{
		string(e.Source), e.Node, e.Boot, e.Namespace, e.Pod, e.PodUID, e.Container, e.ContainerID, e.Unit,
	} {
		text = append(append(text, part...), 0)
	}
	text = append(strconv.AppendInt(text, ingest.Nanos(e.At), 10), 0)
	text = append(strconv.AppendInt(text, int64(e.Mono), 10), 0)
	text = append(append(text, e.Text...), 0)
	text = append(append(text, fieldsText(e.Fields)...), 0)
	if e.At.IsZero() { // lines without a time can be alike and yet two
		text = append(append(text, e.Doc...), 0)
		text = strconv.AppendInt(text, int64(e.Line), 10)
	}
	sum := sha256.Sum256(text)
	second := uint32(max(0, ingest.Nanos(e.At)) / int64(time.Second))
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+size), second), sum[:size]...)
}

func fieldsText(m map[string]string) string {
	var parts []string
	for k, v := range m {
		parts = append(parts, k+"="+v)
	}
	slices.Sort(parts)
	return strings.Join(parts, "\x00")
}

// MarkID is the identity of a mark, as it is stored: whose coverage it states and since when.
// Of a gap its end and its reason count as well.
func MarkID(e *ingest.Entry) []byte {
	h := sha256.New()
	m := e.Mark
	parts := []string{string(e.Source), e.Node, e.Boot, e.Namespace, e.Pod, e.PodUID, e.Container,
		strconv.Itoa(int(m.Kind)), strconv.FormatInt(ingest.Nanos(m.From), 10)}
	if e.Cluster != "" {
		parts = append(parts, e.Cluster+Within)
	}
	if m.Kind == ingest.Gap {
		parts = append(parts, strconv.FormatInt(ingest.Nanos(m.To), 10), m.Why)
	}
	for _, part := range parts {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return h.Sum(nil)[:size]
}

// ReadRecord is the entry of a row of evidence.
func ReadRecord(data []byte) ([]ingest.Entry, error) {
	var e [1]ingest.Entry
	err := json.Unmarshal(data, &e[0])
	return e[:], err
}

// ReadTail is the entries of a row of last lines.
func ReadTail(data []byte) (all []ingest.Entry, err error) {
	err = json.Unmarshal(data, &all)
	return all, err
}
