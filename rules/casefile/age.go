package casefile

import "strings"

// SecondsOfAge is an age in a row of kubectl's tables, 0 where it has none: `5m`, `3d4h`,
// `84s (x3 over 2m)`.
func SecondsOfAge(age string) float64 {
	text, _, _ := strings.Cut(age, " ")
	seconds, number := 0.0, 0.0
	for _, c := range []byte(text) {
		if c >= '0' && c <= '9' {
			number = number*10 + float64(c-'0')
			continue
		}
		seconds, number = seconds+number*ageUnits[c], 0
	}
	return min(seconds, maxAge)
}

// ageUnits are the letters behind the numbers of an age, in seconds.
var ageUnits = map[byte]float64{'s': 1, 'm': 60, 'h': 60 * 60, 'd': 24 * 60 * 60, 'y': 365 * 24 * 60 * 60}

// maxAge is the greatest age that a row is believed to have, in seconds: 31 years.
const maxAge = 1e9
