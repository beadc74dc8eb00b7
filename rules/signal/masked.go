package signal

import (
	"regexp"
	"slices"
	"strings"

	"coroner/ingest/logtext"
)

// People mask the ids in what they publish, and cut them short. A line with
// such an id still says what happened, though not to whom.

// mask is what stands in place of a container's id; maskable is that, or a quoted
// word that has to be looked at.
var (
	mask = regexp.MustCompile(
		`\{\{[^{}"]{1,40}\}\}|` +
			`[{<](?i:[\w -]*(?:id|uid|hash|container|sandbox)[\w -]*)[}>]|` +
			`[\[<{(]?(?i:redacted|masked|removed|hidden)\b[\w:-]*[\]>})]?|` +
			`[*#]{4,}|[xX]{4,}|\b[0-9a-f]{6,63}(?:\.\.\.|…)`,
	)
	maskable = regexp.MustCompile(mask.String() + `|(?:for|ontainer|andbox|id|_id:) ?\\?"[^"\\ ]{0,72}\\?"`)
)

// maskWords are words that are masks, by their last letter.
var maskWords = map[byte][]string{'d': {"redacted", "masked", "removed"}, 'n': {"hidden"}}

// mayMask says whether mask may match a text. It is asked first, as mask takes a
// hundred times as long.
func mayMask(text string) bool {
	for i := range len(text) {
		switch c := text[i]; c {
		case '*', '#', 'x', 'X':
			if runOf(text[i:], func(b byte) bool { return b == '*' || b == '#' || b|0x20 == 'x' }) >= 4 {
				return true
			}
		case '{', '<':
			rest := text[i+1:]
			n := runOf(rest, func(b byte) bool { return wordByte(b) || b == ' ' || b == '-' })
			if c == '{' && strings.HasPrefix(rest, "{") ||
				n < len(rest) && (rest[n] == '}' || rest[n] == '>') && namesID(rest[:n]) {
				return true
			}
		case '"':
			rest := text[i+1:]
			n := runOf(rest, func(b byte) bool { return b != '"' && b != '\\' && b != ' ' })
			if n < len(rest) && rest[n] != ' ' && beforeID(text[:i]) && standsForID(rest[:n]) {
				return true
			}
		case '.', "…"[0]:
			if i >= 6 && runOf(text[i-6:i], hexByte) == 6 && ellipsis(text[i:]) {
				return true
			}
		case 'd', 'D', 'n', 'N':
			for _, w := range maskWords[c|0x20] {
				if i+1 >= len(w) && strings.EqualFold(text[i+1-len(w):i+1], w) {
					return true
				}
			}
		}
	}
	return false
}

// namesID says whether a placeholder's name is one of an id.
func namesID(name string) bool {
	name = strings.ToLower(name)
	has := func(w string) bool { return strings.Contains(name, w) }
	return slices.ContainsFunc([]string{"id", "hash", "container", "sandbox"}, has)
}

func ellipsis(s string) bool { return strings.HasPrefix(s, "...") || strings.HasPrefix(s, "…") }

// runOf is how many bytes at the begin of a text are of a kind.
func runOf(text string, of func(byte) bool) (n int) {
	for n < len(text) && of(text[n]) {
		n++
	}
	return n
}

func hexByte(b byte) bool { return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' }

func wordByte(b byte) bool { return b == '_' || b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z' }

// noID stands for a masked id while a line is matched.
var noID = strings.Repeat("0", 64)

// maxMasked is how many bytes of a line are looked through for masked ids: people
// publish lines of some hundred, and to look takes long.
const maxMasked = 4 << 10

// maxMasks is how many such ids a line can have; no line names so many.
const maxMasks = 8

// unmasked is a text with noID in place of every masked id; ok is false where
// it has none, or is longer than that.
func unmasked(text string) (out string, ok bool) {
	if len(text) > maxMasked || !mayMask(text) {
		return "", false
	}
	places := maskable.FindAllStringIndex(text, maxMasks+1)
	if len(places) > maxMasks {
		return "", false
	}
	var b strings.Builder
	end := 0
	for _, at := range places {
		b.WriteString(text[end:at[0]])
		b.WriteString(withoutID(text[at[0]:at[1]]))
		end = at[1]
	}
	b.WriteString(text[end:])
	return b.String(), b.String() != text
}

// withoutID is what maskable found, with noID in place of a mask.
func withoutID(found string) string {
	before, rest, quoted := strings.Cut(found, `"`)
	if !quoted || rest == "" {
		return noID
	}
	word := strings.TrimRight(rest, `\"`)
	if !standsForID(word) && !mask.MatchString(word) {
		return found
	}
	return before + `"` + noID + rest[len(word):]
}

// beforeID says whether a text ends as what a runtime writes before an id.
func beforeID(text string) bool {
	text = strings.TrimSuffix(strings.TrimSuffix(text, `\`), " ")
	return slices.ContainsFunc(
		[]string{"for", "ontainer", "andbox", "id", "_id:"},
		func(w string) bool { return strings.HasSuffix(text, w) },
	)
}

// standsForID says whether a quoted word can stand where an id was: the start of one,
// nothing, a variable, one character over and over. What can be a name is none.
func standsForID(word string) bool {
	digest, isDigest := strings.CutPrefix(word, "sha256:")
	switch {
	case isDigest:
		return len(digest) < len(noID) || isUniform(digest)
	case len(word) >= 8 && len(word) < len(noID) && runOf(word, hexByte) == len(word):
		return true
	case len(word) > len(noID)+8, len(word) == len(noID) && runOf(word, hexByte) == len(word):
		return false
	case strings.ContainsAny(word, "/:=.,@+") && !ellipsis(word) && !strings.ContainsAny(word, "{$%"):
		return word == "n/a"
	case nameless(word), strings.Trim(word, "-_?*#•█.") == "":
		return true
	}
	return strings.ContainsAny(word, "$%{}<>[]()«»…") || strings.Trim(word, "_") != word ||
		strings.ToUpper(word) == word && strings.ToLower(word) != word
}

// isUniform says whether a word is one character over and over.
func isUniform(word string) bool {
	return len(word) >= 4 && strings.Count(word, word[:1]) == len(word)
}

// noNames are words that are written where a name is not, or shall not be, told; beside
// them stands what kind of name it was.
var (
	noNames = []string{"redacted", "masked", "removed", "hidden", "anonymized", "anonymised", "censored", "sanitized",
		"obfuscated", "scrubbed", "null", "none", "nil", "unknown", "id"}
	nameKinds = []string{"name", "pod", "podname", "node", "nodename", "host", "hostname", "runner", "my", "your",
		"the", "some"}
)

// maskedPart is a part of a name that somebody wrote over: no generator gives it.
var maskedPart = regexp.MustCompile(`(?:^|-)[xX]{4,}(?:-|$)|^[xX]{3}$`)

// nameless says whether a word that could be a name by its letters is none.
func nameless(word string) bool {
	word = word[strings.LastIndexByte(word, '/')+1:]
	return word == "" || isUniform(word) || saysNoName(word) || strings.HasPrefix(word, "redacted-") ||
		maskedPart.MatchString(word)
}

// saysNoName says whether a word says that a name is not told, REDACTED_NAME, or in capitals
// only what would be told, POD_NAME.
func saysNoName(word string) bool {
	named, parts := false, 0
	for part := range strings.FieldsFuncSeq(word, func(c rune) bool { return c == '-' || c == '_' || c == '.' }) {
		is := func(w string) bool { return strings.EqualFold(w, part) }
		parts++
		if slices.ContainsFunc(noNames, is) {
			named = true
		} else if !slices.ContainsFunc(nameKinds, is) {
			return false
		}
	}
	return parts > 0 && (named || strings.ToUpper(word) == word)
}

// MasksName says whether what stands where a pod's or a node's name is was put there
// instead of it: ****, <redacted>, [REDACTED], {{pod}}, $NODE, HOST_NAME, an ellipsis.
func MasksName(word string) bool {
	return word != "" && (nameless(word) || runOf(word, nameByte) != len(word) || strings.Contains(word, "..") ||
		strings.Trim(word, "._-") == "")
}

func nameByte(b byte) bool { return wordByte(b) || b == '-' || b == '.' || b == ':' || b == '/' }

// maskedSignals are the signals of a line whose ids are masked, without those ids.
// It has as many steps as the line has without them.
func (b *Book) maskedSignals(plain *matching, hits []int32) (out []Signal) {
	text, ok := unmasked(plain.e.Text)
	if !ok {
		return nil
	}
	masked := *plain.e
	masked.Text = text
	m := matching{e: &masked, steps: stepsFor(plain.e)}
	var room [24]logtext.Field
	var fields logtext.Fields
	m.msg, fields, _ = logtext.Message(&masked, room[:0])
	for _, i := range hits {
		d := b.Signals[i]
		words, ok := m.recognise(d, fields)
		if !ok || !d.NamesContainer() {
			continue
		}
		s := d.newSignal(plain.e, words)
		for w := range s.words {
			if strings.Contains(s.words[w], noID) {
				s.words[w], s.Masked = "", true
			}
		}
		if s.Masked {
			out = append(out, s)
		}
	}
	plain.short = plain.short || m.short
	return out
}

// dropMaskedNames takes out what stands where a pod's name, UID or cgroup is and is none. A
// host's program writes them as they are, so somebody put it there afterwards: it is
// not known whose line it is.
func (s *Signal) dropMaskedNames() {
	for i, c := range s.Def.captures {
		word := s.words[i]
		switch {
		case word == "":
			s.Masked = s.Masked || c.kind == kindPod && strings.Contains(s.Text, `pod=""`)
		case c.kind == kindPod && noPod(word):
			s.words[i] = nameBesideMask(word)
			s.Masked = s.Masked || s.words[i] == ""
		case (c.kind == kindContainer || c.kind == kindSandbox) && noContainer(word),
			c.kind == kindUID && canonicalUID(word) == "":
			s.words[i], s.Masked = "", true
		case c.kind == kindPods && (strings.Contains(word, `""`) || slices.ContainsFunc(parsePods(word), noPod)):
			s.words[i], s.Masked = "", true
		case c.kind == KindCgroup && strings.Contains(word, "kubepods") && ParseCgroup(word).Level == "other":
			s.Masked = true
		}
	}
}

// dropMaskedStream takes out names of the line's own stream or object, and of its node, that
// are none. They tie nothing: two that look alike need not be one.
func (s *Signal) dropMaskedStream() {
	if MasksName(s.Pod) {
		s.Pod, s.Masked = "", true
	}
	if MasksName(s.Namespace) {
		s.Namespace = ""
	}
	if MasksName(s.Node) {
		s.Node = ""
	}
}

// generated is a name that Kubernetes made up, which no pod of another namespace has.
var generated = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}$`)

// nameBesideMask is the name of a pod whose namespace alone is masked, "" where the name is
// masked, too, or pods of several namespaces can have it.
func nameBesideMask(word string) string {
	_, name, both := strings.Cut(podName(word), "/")
	if !both || noPod(name) || !generated.MatchString(name) {
		return ""
	}
	return name
}

// noPod says whether what stands where a pod's name is can be none.
func noPod(word string) bool {
	name := podName(word)
	return !podPattern.MatchString(name) || nameless(name)
}

// noContainer says whether what stands where a container's id is can be none.
func noContainer(word string) bool {
	id := word[strings.LastIndexByte(word, '/')+1:]
	return runOf(id, hexByte) != len(id)
}

// StandsForAny says whether an id is one character over and over. People write such
// ids in place of real ones, for one container or for all.
func StandsForAny(id string) bool { return isUniform(id) }

// wordsOfID are texts that stand for an id and are none.
var wordsOfID = []string{
	"uid", "uuid", "id", "redacted", "masked", "removed", "hidden", "null", "none", "nil", "unknown", "na",
}

// MasksUID reports whether a text in a UID's place can be none.
func MasksUID(uid string) bool {
	if uid == "" {
		return false
	}
	uniform := true
	for i := range len(uid) {
		switch c := uid[i] | 0x20; {
		case uid[i] >= '0' && uid[i] <= '9', c >= 'a' && c <= 'z':
			uniform = uniform && c == uid[0]|0x20
		case uid[i] != '-' && uid[i] != '_' && uid[i] != '.':
			return true
		}
	}
	isWord := func(w string) bool { return strings.EqualFold(w, uid) }
	return uniform && len(uid) > 3 || slices.ContainsFunc(wordsOfID, isWord)
}

// NamesContainer says whether the signal is about the container, sandbox or pod
// whose id it holds.
func (d *Def) NamesContainer() bool {
	for _, c := range d.captures {
		if c.kind == kindContainer || c.kind == kindSandbox {
			return true
		}
	}
	return false
}
