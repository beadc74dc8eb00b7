package database

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Dialect is which database answers. Every text is written once, in SQLite's SQL; the few
// pieces that PostgreSQL has other words for are in the table below. What it is told is
// understood by databases that speak its protocol, too: no notifications, no advisory
// locks, no sequences.
type Dialect struct {
	remote bool     // PostgreSQL, which others use at the same time, and which can be away
	pieces []string // of texts, each followed by what PostgreSQL has for it
	words  *strings.Replacer
	texts  sync.Map // text -> as PostgreSQL has it
}

// newDialect is PostgreSQL's, with words of the caller's own.
func newDialect(words []string) *Dialect {
	d := &Dialect{remote: true, pieces: inPostgres}
	d.AddWords(words)
	return d
}

// AddWords adds pieces of texts, each followed by what this database has for it. It is for before
// the first text.
func (d *Dialect) AddWords(words []string) {
	d.pieces = slices.Concat(words, d.pieces)
	d.words = strings.NewReplacer(d.pieces...)
}

// Locked ends a query of rows that this write goes on to change: in a file nobody else can.
const Locked = " /* locked */"

// inPostgres are pieces of texts, each followed by what PostgreSQL has for it.
var inPostgres = []string{
	Locked, " FOR UPDATE",
	beginWrite, "BEGIN ISOLATION LEVEL READ COMMITTED",
	beginView, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
	"json_each(?) j", "(SELECT CAST(n AS BIGINT) AS value FROM json_array_elements_text(CAST(? AS JSON)) AS e(n)) j",
	"name LIKE", "name ILIKE", // SQLite's takes a letter for its capital
	" INDEXED BY cases_heard", "", " INDEXED BY last_label", "", " INDEXED BY last_recorded", "",
	" INDEXED BY last_node", "", " INDEXED BY last_alike", "",
	"+last", "last", "+label", "label",
}

// text is a query in the words of the database.
func (d *Dialect) text(query string) string {
	if !d.remote {
		return query
	}
	if known, ok := d.texts.Load(query); ok {
		return known.(string)
	}
	out := numberPlaces(d.words.Replace(query))
	if len(query) < maxKept {
		d.texts.Store(query, out)
	}
	return out
}

// maxKept is how long a text is at most that is remembered: those of people's filters have
// as many forms as filters, the longest as many as names.
const maxKept = 1 << 10

// numberPlaces makes $1 of the first ?, and of ?1.
func numberPlaces(query string) string {
	var out strings.Builder
	for n := 1; ; {
		before, after, found := strings.Cut(query, "?")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		out.WriteByte('$')
		if after == "" || after[0] < '0' || after[0] > '9' {
			out.WriteString(strconv.Itoa(n))
			n++
		}
		query = after
	}
}

// List is a text that is a list, however long.
type List string

// maxText is how many bytes of a text PostgreSQL is given: several stand in one row of an
// index, which has 2700 at most.
const maxText = 600

// values are what goes into a query's places. PostgreSQL takes no text that is not UTF-8,
// or has a zero byte, or that no index can hold: a name that a stranger sends must not
// hold up a push for ever.
func (d *Dialect) values(args []any) []any {
	if !d.remote {
		return args
	}
	out := make([]any, len(args))
	for i, arg := range args {
		out[i] = arg
		if list, ok := arg.(List); ok {
			out[i] = string(list)
		} else if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
			out[i] = asText(v.String())
		}
	}
	return out
}

// asText is a text that PostgreSQL takes, and never that of another one that is long.
func asText(s string) string {
	if len(s) > maxText {
		sum := sha256.Sum256([]byte(s))
		s = s[:maxText/2] + "…" + hex.EncodeToString(sum[:])
	}
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\ufffd")
}

// newNumber is the number of a new row; nil where the database numbers rows itself. Numbers
// that nobody hands out grow with time, and no two writers need to agree on them: that two
// are alike in a millisecond is rare, is refused, and tried again.
func (d *Dialect) newNumber() any {
	if !d.remote {
		return nil
	}
	const random = 21
	return time.Now().UnixMilli()<<random | rand.Int64N(1<<random)
}
