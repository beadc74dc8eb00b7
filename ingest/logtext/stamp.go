package logtext

import (
	"strings"
	"time"
)

// Stamp is a time as some program wrote it.
type Stamp struct {
	Year, Day, hour, min, Sec, Nano int
	Month                           time.Month
	Zone                            *time.Location // nil: it names none
	FractionDigits                  int            // digits behind the second
	Size                            int            // bytes that it took
}

// In is the moment that st means in a zone, unless it names its own.
func (st Stamp) In(loc *time.Location) time.Time {
	if st.Zone != nil {
		loc = st.Zone
	}
	return time.Date(st.Year, st.Month, st.Day, st.hour, st.min, st.Sec, st.Nano, loc)
}

func (st Stamp) Valid() bool {
	return st.Month >= 1 && st.Month <= 12 && st.Day >= 1 && st.Day <= 31 && st.hour < 24 && st.min < 60 && st.Sec < 62
}

func IsDigit(c byte) bool { return c-'0' < 10 }

// Number reads exactly n digits at i; -1 where there are none.
func Number(s string, i, n int) int {
	if len(s) < i+n {
		return -1
	}
	v := 0
	for _, c := range []byte(s[i : i+n]) {
		if !IsDigit(c) {
			return -1
		}
		v = v*10 + int(c-'0')
	}
	return v
}

// ISOStamp reads `2006-01-02T15:04:05` with `T` or a space, a fraction behind
// a point or comma (dmesg) and `Z`, `+0100` or `+01:00`, all of them optional.
func ISOStamp(s string) (st Stamp, ok bool) {
	if len(s) < 19 || !IsDigit(s[0]) || s[4] != '-' || s[7] != '-' || s[10] != 'T' && s[10] != ' ' {
		return st, false
	}
	st.Year, st.Month, st.Day = Number(s, 0, 4), time.Month(Number(s, 5, 2)), Number(s, 8, 2)
	if st.Year < 1970 || !st.readClock(s, 11) {
		return st, false
	}
	st.readZone(s)
	return st, st.Valid()
}

// readClock reads `15:04:05` and a fraction at i.
func (st *Stamp) readClock(s string, i int) bool {
	if len(s) < i+8 || s[i+2] != ':' || s[i+5] != ':' {
		return false
	}
	st.hour, st.min, st.Sec = Number(s, i, 2), Number(s, i+3, 2), Number(s, i+6, 2)
	st.Size = i + 8
	if st.hour < 0 || st.min < 0 || st.Sec < 0 {
		return false
	}
	if st.Size+1 < len(s) && (s[st.Size] == '.' || s[st.Size] == ',') && IsDigit(s[st.Size+1]) {
		st.fraction(s, st.Size+1)
	}
	return true
}

func (st *Stamp) fraction(s string, i int) {
	scale := 100_000_000
	for ; i < len(s) && IsDigit(s[i]); i++ {
		st.Nano += int(s[i]-'0') * scale
		scale /= 10
		st.FractionDigits++
	}
	st.Size = i
}

func (st *Stamp) readZone(s string) {
	z := s[st.Size:]
	if z != "" && z[0] == 'Z' {
		st.Zone = time.UTC
		st.Size++
		return
	}
	if off, n := zoneOffset(z); n > 0 {
		st.Zone, st.Size = off, st.Size+n
	}
}

// zoneOffset reads `+0100`, `-01:00`.
func zoneOffset(z string) (*time.Location, int) {
	if len(z) < 5 || z[0] != '+' && z[0] != '-' {
		return nil, 0
	}
	n, minutes := 5, Number(z, 3, 2)
	if z[3] == ':' {
		n, minutes = 6, Number(z, 4, 2)
	}
	hours := Number(z, 1, 2)
	if hours < 0 || minutes < 0 || hours > 15 {
		return nil, 0
	}
	seconds := hours*3600 + minutes*60
	if z[0] == '-' {
		seconds = -seconds
	}
	if seconds == 0 {
		return time.UTC, n
	}
	return time.FixedZone("", seconds), n
}

// zones are the abbreviations that journalctl -o short-full prints on the
// machines of our users. Others leave the zone open.
var zones = map[string]int{
	"UTC": 0, "GMT": 0, "WET": 0, "BST": 60, "WEST": 60, "CET": 60, "CEST": 120, "EET": 120, "EEST": 180, "MSK": 180,
	"IST": 330, "HKT": 480, "SGT": 480, "JST": 540, "KST": 540, "AEST": 600, "AEDT": 660, "NZST": 720, "NZDT": 780,
	"EST": -300, "EDT": -240, "CDT": -300, "MST": -420, "MDT": -360, "PST": -480, "PDT": -420, "BRT": -180,
}

// NamedZone reads a zone's abbreviation or offset that stands alone.
func NamedZone(word string) *time.Location {
	if minutes, ok := zones[word]; ok {
		if minutes == 0 {
			return time.UTC
		}
		return time.FixedZone(word, minutes*60)
	}
	if loc, n := zoneOffset(word); n == len(word) {
		return loc
	}
	return nil
}

// SyslogStamp reads `Jan _2 15:04:05` in any common language, with a fraction
// (journalctl -o short-precise) and a year behind the day or the time (Cisco
// style, `date`'s default) where there are.
func SyslogStamp(s string) (st Stamp, ok bool) {
	word, i := NextWord(s, 0)
	day, i := NextWord(s, i)
	if st.Day = Number(day, 0, len(day)); len(day) > 2 || st.Day < 1 {
		return st, false
	}
	if st.Month = MonthOf(word); st.Month == 0 {
		return st, false
	}
	for i < len(s) && s[i] == ' ' {
		i++
	}
	if y := Number(s, i, 4); y >= 1970 && len(s) > i+4 && s[i+4] == ' ' {
		st.Year = y
		i += 5
	}
	return st, st.readClock(s, i) && st.Valid()
}

// nextWord returns the word at i, leading spaces skipped, and where it ends.
var english = map[string]time.Month{
	"Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6, "Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10, "Nov": 11,
	"Dec": 12,
}

// months are the abbreviations of other languages' locales, by their start:
// fr, de, es, it, pt, nl, pl, ru, sv, cs, tr.
var months = [13][]string{
	1:  {"jan", "ene", "gen", "sty", "янв", "led", "oca"},
	2:  {"feb", "fév", "fev", "lut", "фев", "úno", "şub"},
	3:  {"mar", "mär", "mrz", "mrt", "мар", "bře"},
	4:  {"apr", "avr", "abr", "kwi", "апр", "dub", "nis"},
	5:  {"may", "mai", "mag", "mei", "maj", "май", "мая", "kvě"},
	6:  {"jun", "juin", "giu", "cze", "июн", "čen", "haz"},
	7:  {"jul", "juil", "lug", "lip", "июл", "čec", "tem"},
	8:  {"aug", "aoû", "aou", "ago", "sie", "авг", "srp", "ağu"},
	9:  {"sep", "set", "wrz", "сен", "zář", "eyl"},
	10: {"oct", "okt", "ott", "out", "paź", "окт", "říj", "eki"},
	11: {"nov", "lis", "ноя", "kas"},
	12: {"dec", "dez", "dic", "dic", "déc", "gru", "дек", "pro", "ara"},
}

// MonthOf is the month that word names, 0 if none: `May`, `mai`, `févr.`, `5月`.
func MonthOf(word string) time.Month {
	if m := english[word]; m != 0 || len(word) < 3 || len(word) > 20 {
		return m
	}
	if IsDigit(word[0]) {
		return numberedMonth(word)
	}
	low := strings.TrimSuffix(strings.ToLower(word), ".")
	best, size := time.Month(0), 0
	for m, names := range months {
		for _, n := range names {
			if len(n) > size && strings.HasPrefix(low, n) && len(low) <= len(n)+7 {
				best, size = time.Month(m), len(n)
			}
		}
	}
	return best
}

// numberedMonth reads `5月` and `5월`.
func numberedMonth(word string) time.Month {
	n := strings.TrimRight(word, "月월")
	if m := Number(n, 0, len(n)); len(n) <= 2 && n != word && m >= 1 && m <= 12 {
		return time.Month(m)
	}
	return 0
}

// CtimeStamp reads what dmesg -T prints between its brackets, in any locale:
// `Thu May  9 14:52:38 2024`, `jeu. mai  9 …`, `周四 5月 9 …`. A month in an
// unknown language leaves the time unknown, and the shape recognised.
func CtimeStamp(s string) (st Stamp, ok bool) {
	w := strings.Fields(s)
	if len(w) < 4 || len(w) > 7 {
		return st, false
	}
	for _, word := range w {
		switch {
		case strings.Count(word, ":") == 2 && st.readClock(word, 0):
			ok = true
		case len(word) == 4 && Number(word, 0, 4) >= 1970:
			st.Year = Number(word, 0, 4)
		case len(word) <= 2 && Number(word, 0, len(word)) > 0:
			st.Day = Number(word, 0, len(word))
		case NamedZone(word) != nil:
			st.Zone = NamedZone(word)
		default:
			if m := MonthOf(word); m != 0 && (st.Day == 0 || st.Month == 0) {
				st.Month = m // the last one before the day: a weekday may look like a month (mar.)
			}
		}
	}
	return st, ok && st.Year != 0 && st.Day != 0
}

// klogStamp reads `0102 15:04:05.000000`.
func klogStamp(s string) (st Stamp, ok bool) {
	st.Month, st.Day = time.Month(Number(s, 0, 2)), Number(s, 2, 2)
	if len(s) < 13 || s[4] != ' ' {
		return st, false
	}
	return st, st.readClock(s, 5) && st.Valid()
}

// DayStamp reads a time of day, `15:04:05Z`, of which the date was cut away.
func DayStamp(s string) (st Stamp, ok bool) {
	if len(s) < 9 || !IsDigit(s[0]) || !st.readClock(s, 0) {
		return st, false
	}
	st.readZone(s)
	return st, true
}
