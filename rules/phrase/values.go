package phrase

import (
	"fmt"
	"math"
	"time"
)

// Clock is a time of day.
func Clock(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.UTC().Format("15:04:05Z")
}

// Size is a number of bytes.
func Size(n int) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// Seconds is a duration in words of a sentence.
func Seconds(s float64) string {
	if s >= 0 && math.Round(s) == 0 {
		return "less than 1s"
	}
	return time.Duration(math.Round(s) * float64(time.Second)).String()
}
