package stored

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"coroner/ingest"
)

// Mark is a coverage mark, as it is stored, and whose it is.
type Mark struct {
	Entry ingest.Entry
	Owner string // a key
}

// Row is one row of marks.
type Row struct {
	Hash  []byte
	Owner string
	To    time.Time // up to when all of them state something
	Entry []byte
}

// joined is what Row.Entry is in JSON: a mark, and those that are like it but for their source
// and their begin. One mark stands there as it always did.
type joined struct {
	ingest.Entry
	Also []other `json:"also,omitempty"`
}

type other struct {
	Source ingest.Source `json:"source"`
	From   time.Time     `json:"from,omitzero"`
}

// JoinMarks makes rows of marks, in the order of their hashes. Of a span that stands there
// twice the longer one counts.
func JoinMarks(all []Mark) ([]Row, error) {
	longest := map[string]*Mark{}
	for i := range all {
		m, id := &all[i], string(MarkID(&all[i].Entry))
		if was := longest[id]; was == nil || m.Entry.Mark.To.After(was.Entry.Mark.To) {
			longest[id] = m
		}
	}
	groups := map[string][]*Mark{}
	for id, m := range longest {
		if m.Entry.Mark.Kind == ingest.Covered {
			alike := m.Entry
			alike.Source, alike.Mark = "", &ingest.Mark{Kind: ingest.Covered, To: m.Entry.Mark.To}
			text, err := json.Marshal(alike)
			if err != nil {
				return nil, err
			}
			id = m.Owner + "\x00" + string(text)
		}
		groups[id] = append(groups[id], m)
	}
	rows := make([]Row, 0, len(groups))
	for _, marks := range groups {
		row, err := rowOf(marks)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b Row) int { return slices.Compare(a.Hash, b.Hash) })
	return rows, nil
}

// rowOf makes one row of marks that are alike but for their source and their begin.
func rowOf(marks []*Mark) (Row, error) {
	slices.SortFunc(marks, func(a, b *Mark) int {
		return strings.Compare(string(a.Entry.Source), string(b.Entry.Source))
	})
	first := marks[0]
	row := Row{Hash: MarkID(&first.Entry), Owner: first.Owner, To: first.Entry.Mark.To}
	all := joined{Entry: first.Entry}
	if len(marks) > 1 {
		ids := sha256.New()
		ids.Write(row.Hash)
		for _, m := range marks[1:] {
			ids.Write(MarkID(&m.Entry))
			all.Also = append(all.Also, other{m.Entry.Source, m.Entry.Mark.From})
		}
		row.Hash = ids.Sum(nil)[:size]
	}
	var err error
	row.Entry, err = json.Marshal(all)
	return row, err
}

// ReadMarks is the entries of a row of marks.
func ReadMarks(entry []byte) ([]ingest.Entry, error) {
	var all joined
	if err := json.Unmarshal(entry, &all); err != nil || all.Mark == nil {
		return nil, err
	}
	out := []ingest.Entry{all.Entry}
	for _, o := range all.Also {
		e, m := all.Entry, *all.Mark
		e.Source, m.From = o.Source, o.From
		e.Mark = &m
		out = append(out, e)
	}
	return out, nil
}
