package logtext

import "strings"

// NextWord returns the word behind the blanks at i, and where it ends.
func NextWord(s string, i int) (string, int) {
	for i < len(s) && s[i] == ' ' {
		i++
	}
	start := i
	for i < len(s) && s[i] != ' ' {
		i++
	}
	return s[start:i], i
}

// Before is what stands in s before sep, all of it if there is none.
func Before(s, sep string) string {
	s, _, _ = strings.Cut(s, sep)
	return s
}

// IsDNSName says whether s can be the name of a pod or a container.
func IsDNSName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c-'a' >= 26 && !IsDigit(c) && (c != '-' && c != '.' || i == 0 || i == len(s)-1) {
			return false
		}
	}
	return true
}
