// Package units are the durations and sizes of the command line: 90m, 7d, 2w; 512MiB, 8GiB,
// or a number of bytes. Every flag takes them, and help shows them.
//
// Invariant: what Go's own durations and a plain number mean, they mean here too.
//
// Crash behaviour: it keeps no state.
package units

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Option is for kong: every time.Duration takes days and weeks as well, and every integer
// with type:"size" takes units.
func Option() kong.Option {
	return kong.OptionFunc(func(k *kong.Kong) error {
		if err := kong.TypeMapper(reflect.TypeFor[time.Duration](), mapper(Duration)).Apply(k); err != nil {
			return err
		}
		return kong.NamedMapper("size", mapper(Size)).Apply(k)
	})
}

// mapper reads one word.
func mapper[T time.Duration | int64](read func(string) (T, error)) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		token, err := ctx.Scan.PopValue("value")
		if err != nil {
			return err
		}
		v, err := read(fmt.Sprint(token.Value))
		if err != nil {
			return err
		}
		target.SetInt(int64(v))
		return nil
	}
}

// days are a number of days or weeks, which Go's durations have not.
var days = regexp.MustCompile(`^(-?\d+)(d|w)(.*)$`)

// Duration reads a duration like 90m, 7d, 1d12h or 2w.
func Duration(s string) (time.Duration, error) {
	rest, total := s, time.Duration(0)
	for {
		m := days.FindStringSubmatch(rest)
		if m == nil {
			break
		}
		n, err := strconv.Atoi(m[1])
		unit := map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour}[m[2]]
		if limit := int(math.MaxInt64 / int64(unit) / 2); err != nil || n > limit || n < -limit {
			return 0, fmt.Errorf("%q is too long a duration", s)
		}
		if total, rest = total+time.Duration(n)*unit, m[3]; total.Abs() > math.MaxInt64/2 {
			return 0, fmt.Errorf("%q is too long a duration", s)
		}
	}
	if rest == "" && s != "" {
		return total, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || total != 0 && d.Abs() > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is no duration; want one like 90s, 15m, 48h or 7d", s)
	}
	return total + d, nil
}

// Text is a duration as Duration reads it, in few characters.
func Text(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// SizeText is a size as Size reads it, in the largest unit that holds it whole.
func SizeText(n int64) string {
	for _, u := range sizes {
		if whole := n >> u.shift; whole > 0 && whole<<u.shift == n && u.shift > 0 {
			return fmt.Sprint(whole, u.unit)
		}
	}
	return fmt.Sprint(n)
}

// sizes are the units of a size.
var sizes = []struct {
	unit  string
	shift uint
}{{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}, {"Ti", 40}, {"Gi", 30}, {"Mi", 20}, {"Ki", 10}, {"B", 0}}

// Size reads a size like 512MiB or 8Gi, or a number of bytes.
func Size(s string) (int64, error) {
	number, shift := s, uint(0)
	for _, u := range sizes {
		if n, ok := strings.CutSuffix(s, u.unit); ok {
			number, shift = strings.TrimSpace(n), u.shift
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > math.MaxInt64>>shift || n < math.MinInt64>>shift {
		return 0, fmt.Errorf("%q is no size; want bytes, or one like 512MiB or 8GiB", s)
	}
	return n << shift, nil
}
