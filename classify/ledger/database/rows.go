package database

import (
	"slices"
	"strings"
)

// together is how many rows one statement has: few counts, for each makes a statement of its
// own that is prepared and kept.
var together = [...]int{64, 16, 4, 1}

// InsertRows executes a statement for rows of the same width, many at a time: before, the rows
// as VALUES has them, and after. A row that stands among them twice fails where after names a
// conflict. changed is how many rows were inserted or changed.
func (c *Conn) InsertRows(before string, rows [][]any, after string) (changed int64, err error) {
	for _, n := range together {
		for len(rows) >= n {
			place := "(?" + strings.Repeat(", ?", len(rows[0])-1) + ")"
			text := before + place + strings.Repeat(", "+place, n-1) + after
			res, err := c.Execute(text, slices.Concat(rows[:n]...)...)
			if err != nil {
				return changed, err
			}
			some, err := res.RowsAffected()
			if err != nil {
				return changed, err
			}
			changed += some
			rows = rows[n:]
		}
	}
	return changed, nil
}
