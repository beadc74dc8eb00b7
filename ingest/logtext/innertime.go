package logtext

import (
	"strings"
	"time"
)

// InnerStamp finds the time with a year and a zone that structured text
// carries itself, without splitting it.
func InnerStamp(s string) (Stamp, bool) {
	for _, key := range []string{"time=", "ts=", `"ts":`, `"time":`, `"timestamp":`, `"@timestamp":`} {
		i := strings.Index(s, key)
		if i < 0 || i > 200 || i > 0 && s[i-1] > ' ' && s[i-1] != ',' && s[i-1] != '{' {
			continue
		}
		rest := strings.TrimLeft(s[i+len(key):], ` "`)
		if st, ok := ISOStamp(rest); ok {
			return st, true
		}
		if st, ok := EpochStamp(rest); ok {
			return st, true
		}
	}
	return ISOStamp(s)
}

// EpochStamp reads seconds or milliseconds since 1970, with a fraction (zap's
// default, klog JSON).
func EpochStamp(s string) (st Stamp, ok bool) {
	n := 0
	for n < len(s) && IsDigit(s[n]) {
		n++
	}
	var at time.Time
	switch n {
	case 10:
		at = time.Unix(int64(Number(s, 0, n)), 0)
	case 13:
		at = time.UnixMilli(int64(Number(s, 0, n)))
	case 16:
		at = time.UnixMicro(int64(Number(s, 0, n)))
	case 19:
		at = time.Unix(0, int64(Number(s, 0, n)))
	default:
		return st, false
	}
	st = stampOf(at)
	st.Size = n
	if n+1 < len(s) && s[n] == '.' && IsDigit(s[n+1]) {
		sub := Stamp{}
		sub.fraction(s, n+1)
		if n == 10 {
			st.Nano = sub.Nano
		} else if n == 13 {
			st.Nano += sub.Nano / 1000
		}
		st.Size = sub.Size
	}
	return st, st.Year >= 2000 && st.Year < 2200
}

func stampOf(at time.Time) Stamp {
	at = at.UTC()
	return Stamp{
		Year: at.Year(), Month: at.Month(), Day: at.Day(),
		hour: at.Hour(), min: at.Minute(), Sec: at.Second(), Nano: at.Nanosecond(), Zone: time.UTC,
	}
}
