package redact

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"unicode"
)

// PrivateKey is the kind of what KeyLines finds.
const PrivateKey = "private-key"

const (
	keyBegins  = "-----BEGIN "
	keyEnds    = "-----END "
	keyNamed   = "PRIVATE KEY"
	keyLine    = 40  // a key's lines have 64, 70 or 76 characters; a shorter one may be anything
	maxKeyLine = 128 // longer ones are no key's
	maxKey     = 400 // lines; a private key of 16384 bits has 200
)

// KeyLines says which of some lines, the last ones of one stream in their order,
// are a private key's. Its first lines may have gone before, so what fills the
// first lines like a key is one, and so is what fills two lines in a row.
func KeyLines(lines []string) []bool {
	lines = slices.Clone(lines)
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(line, Mark(RandomWord), anyRandom)
	}
	secret := make([]bool, len(lines))
	open := maxKey // a key can go on from before the first line
	if len(lines) > 0 && !fullKeyLine(lines[0]) {
		open = 0
	}
	for i, line := range lines {
		switch {
		case keyEdge(line, keyBegins) || strings.TrimSpace(line) == Mark(PrivateKey):
			open = maxKey
			continue
		case keyEdge(line, keyEnds):
			markBack(lines, secret, i)
			open = 0
			continue
		case open == 0 && fullKeyLine(line) && i+1 < len(lines) && fullKeyLine(lines[i+1]):
			open = maxKey
		}
		if open = max(0, open-1); open > 0 && (inKey(line) || i > 0 && secret[i-1] && lastOfKey(lines[i-1], line)) {
			secret[i] = true
		} else if !keyHeader(line) {
			open = 0
		}
	}
	return secret
}

// markBack marks the lines of the key that ends at end.
func markBack(lines []string, secret []bool, end int) {
	for i := end - 1; i >= 0 && base64Only(lines[i]); i-- {
		secret[i] = true
	}
}

// keyEdge says whether a line is all that stands before or behind a private key.
func keyEdge(line, edge string) bool {
	i := strings.LastIndex(line, edge)
	return i >= 0 && strings.Contains(line[i:], keyNamed) && strings.HasSuffix(strings.TrimSpace(line), "-----")
}

// keyHeader: an old key has a few lines of its own before it, and an empty one.
func keyHeader(line string) bool {
	line = strings.TrimSpace(line)
	name, _, _ := strings.Cut(line, ":")
	return line == "" || name == "Proc-Type" || name == "DEK-Info" || name == "Comment"
}

// inKey says whether a line can be one of a key whose beginning was seen.
func inKey(line string) bool {
	line = strings.TrimSpace(line)
	return base64Only(line) && (len(line) >= 16 || strings.HasSuffix(line, "="))
}

// lastOfKey says whether a short line is the last one of a key whose line before it is
// full: whole groups of four characters, which are no word.
func lastOfKey(before, line string) bool {
	line = strings.TrimSpace(line)
	full := slices.Contains(keyWidths[:], len(strings.TrimSpace(before)))
	word := strings.ToLower(line[:min(1, len(line))]) + line[min(1, len(line)):]
	return full && base64Only(line) && len(line)%4 == 0 &&
		(strings.ContainsAny(line, digits+"+/") || strings.ToLower(word) != word && strings.ToUpper(line) != line)
}

// fullKeyLine says whether a line looks like one of a key without one beside it. A
// container id, a digest or a word does not.
func fullKeyLine(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= keyLine && base64Only(line) && strings.ContainsAny(line, digits) &&
		strings.ToLower(line) != line && strings.ToUpper(line) != line
}

// base64Only says whether a line is one word of base64.
func base64Only(line string) bool {
	line = strings.TrimSpace(line)
	for _, c := range []byte(line) {
		if !inBase64(c) {
			return false
		}
	}
	return line != "" && len(line) <= maxKeyLine
}

func inBase64(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '='
}

// RandomWord is the kind of what randomWords finds.
const RandomWord = "random-word"

// anyRandom stands for a random word that was taken out, which may be of a key.
var anyRandom = strings.Repeat("aB3", 8)

const (
	shortestRandom = 24  // characters; a shorter word has too few to tell
	longestRandom  = 512 // of which chance is judged
)

// randomWords finds the words that chance made: large letters, small ones and digits
// change places far more often than in a name or a path. Most services' tokens are such
// words, whatever they begin with. One is met at every 24th byte.
func (s *search) randomWords() {
	done := 0
	for i := shortestRandom - 1; i < len(s.text); i += shortestRandom {
		from, to := i, i
		for from > done && inToken(s.text[from-1]) {
			from--
		}
		for to < len(s.text) && to-from < longestRandom && inToken(s.text[to]) {
			to++
		}
		if word := s.text[from:to]; len(word) >= shortestRandom && looksRandom(word) && isMixed(word) &&
			!isDigest(s.text, from) && !isReadable(word) {
			for to < len(s.text) && inToken(s.text[to]) {
				to++
			}
			s.found = append(s.found, Span{From: from, To: to, Kind: RandomWord})
		}
		done = max(done, to)
		i = max(i, to-1)
	}
}

func inToken(c byte) bool { return inBase64(c) && c != '=' && c != '/' || c == '-' || c == '_' }

// isDigest says whether a word that begins at from is of a checksum, as package managers
// write them.
func isDigest(text string, from int) bool {
	begin := from
	for begin > 0 && from-begin <= maxKeyLine && (inBase64(text[begin-1]) || text[begin-1] == '-') {
		begin--
	}
	return strings.HasPrefix(text[begin:], "sha") || strings.HasSuffix(text[:begin], "h1:") ||
		begin > 6 && strings.HasPrefix(text[begin-7:], "sha")
}

// isReadable says whether a word is base64 of a text that anybody can read.
func isReadable(word string) bool {
	text, err := base64.RawStdEncoding.DecodeString(word[:len(word)/4*4])
	return err == nil &&
		bytes.IndexFunc(text, func(c rune) bool { return c > '~' || c < ' ' && !unicode.IsSpace(c) }) < 0
}

// isMixed says whether the kinds of a word's characters follow each other by chance: six
// of ten neighbours differ where it rules, three in a name of many words.
func isMixed(word string) bool {
	changes := 0
	for i := 1; i < len(word); i++ {
		if kindOf(word[i]) != kindOf(word[i-1]) {
			changes++
		}
	}
	return changes*20 >= len(word)*9
}

// kindOf is the kind of a character: a large letter, a small one, a digit or another one.
func kindOf(c byte) byte {
	switch {
	case c >= 'A' && c <= 'Z':
		return 'A'
	case c >= 'a' && c <= 'z':
		return 'a'
	case c >= '0' && c <= '9':
		return '0'
	}
	return '-'
}

// keyWidths are how many characters a full line of a key has.
var keyWidths = [...]int{64, 70, 76}

const keyWidest = 76

// keyLines finds the full lines of a key whatever stands before and behind them
// on their lines: a log puts its own words and times there. One is met at every
// 64th byte.
func (s *search) keyLines() {
	for i := keyWidths[0] - 1; i < len(s.text); i += keyWidths[0] {
		from, to := i, i
		for from > 0 && i-from <= keyWidest && inBase64(s.text[from-1]) {
			from--
		}
		for to < len(s.text) && to-i <= keyWidest && inBase64(s.text[to]) {
			to++
		}
		if slices.Contains(keyWidths[:], to-from) && looksRandom(s.text[from:to]) {
			s.found = append(s.found, Span{From: from, To: to, Kind: PrivateKey})
		}
	}
}

// looksRandom says whether a text of base64 is what chance makes: some of every kind. A
// digest has one case, a path has many slashes, a name few digits.
func looksRandom(text string) bool {
	var of ['a' + 1]int
	for _, c := range []byte(text) {
		of[kindOf(c)]++
	}
	n := min(len(text), keyWidths[0])
	return of['A']*32 >= n*5 && of['a']*32 >= n*5 && of['0']*32 >= n*3/2 && strings.Count(text, "/")*12 <= len(text)
}
