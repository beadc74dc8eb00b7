package ingest

import (
	"strings"
	"time"
)

// innerStamp finds the time with a year and a zone that structured text
// carries itself, without splitting it.
func innerStamp(s string) (stamp, bool) {
	for _, key := range []string{"time=", "ts=", `"ts":`, `"time":`, `"timestamp":`, `"@timestamp":`} {
		i := strings.Index(s, key)
		if i < 0 || i > 200 || i > 0 && s[i-1] > ' ' && s[i-1] != ',' && s[i-1] != '{' {
			continue
		}
		rest := strings.TrimLeft(s[i+len(key):], ` "`)
		if st, ok := isoStamp(rest); ok {
			return st, true
		}
		if st, ok := epochStamp(rest); ok {
			return st, true
		}
	}
	return isoStamp(s)
}

// epochStamp reads seconds or milliseconds since 1970, with a fraction (zap's
// default, klog JSON).
func epochStamp(s string) (st stamp, ok bool) {
	n := 0
	for n < len(s) && digit(s[n]) {
		n++
	}
	var at time.Time
	switch n {
	case 10:
		at = time.Unix(int64(number(s, 0, n)), 0)
	case 13:
		at = time.UnixMilli(int64(number(s, 0, n)))
	case 16:
		at = time.UnixMicro(int64(number(s, 0, n)))
	case 19:
		at = time.Unix(0, int64(number(s, 0, n)))
	default:
		return st, false
	}
	st = stampOf(at)
	st.size = n
	if n+1 < len(s) && s[n] == '.' && digit(s[n+1]) {
		sub := stamp{}
		sub.fraction(s, n+1)
		if n == 10 {
			st.nano = sub.nano
		} else if n == 13 {
			st.nano += sub.nano / 1000
		}
		st.size = sub.size
	}
	return st, st.year >= 2000 && st.year < 2200
}

func stampOf(at time.Time) stamp {
	at = at.UTC()
	return stamp{
		year: at.Year(), month: at.Month(), day: at.Day(),
		hour: at.Hour(), min: at.Minute(), sec: at.Second(), nano: at.Nanosecond(), zone: time.UTC,
	}
}
