package regex

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// same checks that Find finds what package regexp finds.
func same(t *testing.T, expr, s string) {
	t.Helper()
	std, err := regexp.Compile(expr)
	re, got := Compile(expr)
	if (err == nil) != (got == nil) {
		t.Fatalf("%q: %v, package regexp: %v", expr, got, err)
	}
	if err != nil {
		return
	}
	want, at := std.FindStringSubmatchIndex(s), make([]int, re.Size())
	if found := re.Find(s, at); found != (want != nil) || found && !slices.Equal(at, want) {
		t.Errorf("%q on %q: %v %v, package regexp: %v", expr, s, found, at, want)
	}
	if m := re.MatchString(s); m != (want != nil) {
		t.Errorf("%q on %q: %v", expr, s, m)
	}
	for g := range re.Size() / 2 {
		part := ""
		if want != nil && want[2*g] >= 0 {
			part = s[want[2*g]:want[2*g+1]]
		}
		if got := re.Part(s, g); got != part {
			t.Errorf("%q on %q: group %d is %q, package regexp: %q", expr, s, g, got, part)
		}
	}
	if !slices.Equal(re.SubexpNames(), std.SubexpNames()) {
		t.Errorf("%q: groups %q, package regexp: %q", expr, re.SubexpNames(), std.SubexpNames())
	}
}

// Every part of the syntax, where it matches, where it nearly does, and where it
// matches only after going back.
func TestFindsWhatRegexpFinds(t *testing.T) {
	texts := []string{
		"", "a", "b", "ab", "aab", "aaab", "abab", "ba", "xay", "a\nb", "\n", "abc", "ABC", "aBc", "k", "K", "s",
		"foo bar", "foo-bar", "foo_bar baz", "a,b,,c", "1,2,3", "12-34", `"quoted" text`, `a="b" c="d"`, `a="b`,
		"日本", "é日é", "aéé日b", "é: x", "\u017f", "a\xc3", "\xa9a",
		"--", "aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaab", strings.Repeat("ab", 40) + "c", "x: y: z", "é", "aéb", "a\xffb",
		"\u212a",
	}
	for _, expr := range []string{
		``, `a`, `^a`, `a$`, `^$`, `^a$`, `a|b`, `ab|a`, `a|ab`, `(a|ab)(c|bcd)?`, `(a*)(a|b)`, `(a+?)(b*)`, `a??b`,
		`(?:ab)+`, `(?:ab)*?c`,
		`(ab)*(c)?`, `((a)|(b))+`, `(?:(a)|b)*`, `(a)?b`, `(?:(a)b|(a)c)`, `a{2}`, `a{2,}b`, `a{0,2}b`, `(a{1,3}?)(a*)`,
		`(?:ab){2,3}`, `(?:a(b)?){2}`,
		`[^"]*"`, `"([^"]*)"`, `(\w+)="([^"]*)"`, `(?P<k>\w+)=(?P<v>\S+)`, `\bfoo\b`, `\Bo`, `o\b`, `(?m)^b$`, `(?m)a$`,
		`(?s)a.b`, `a.b`, `(?i)abc`, `(?i)k`, `(?i)[k]s?`,
		`(?i)é`, `é`, `[^a]`, `[^\x00-\x7f]`, `.`, `..`, `.*`, `.*?`, `.+b`, `.*?b`, `(.*)(b.*)`, `(\S.*) bar`,
		`\d+(?:,[\d-]+)*`, `(\d+)(?:,(\d+))*$`, `[\d-]*(?:,[\d-]+)*,c`,
		`(?:a|b|)+c`, `(a*)*`, `(a*)+b`, `(?:a?)*b`, `(|a)b`, `\z`, `\Aab`, `x*`, `(?:x|y)*?z`, `^\W*(\w+)`,
		`^(?P<unit>\S+): (?P<rest>.*)$`, `a{0}b`, `(?:foo|food|bar)(?:[- ]bar)?$`, `^a|b$`, `(^a|c)b`,
		`(?U)a+b`, `[a-c]+?c`, `(.{0,3})c`, `.{0,200}c`, `[[:alpha:]]+ [[:alpha:]]+`, `\x{41}`, `a\Q.*\Eb`, `[z-a]`,
		`(`, `a**`,
	} {
		for _, s := range texts {
			same(t, expr, s)
		}
	}
}

// A text that an expression could be lost in takes no longer than package regexp
// makes of it.
func TestNoTextTakesForever(t *testing.T) {
	for _, expr := range []string{`(a|aa)+$`, `(?:a+)+b`, `(.*)(.*)(.*)(.*)x`, `(\S.*) bar`, `(?:\w+-)*x`} {
		same(t, expr, strings.Repeat("a", 2000)+"!")
		same(t, expr, strings.Repeat("a-", 1000)+"!")
	}
}

// What is found within steps is what is found without a limit, and who has too few
// is told so and takes no more than he was given.
func TestFindWithin(t *testing.T) {
	texts := []string{
		strings.Repeat("a", 2000) + "!",
		strings.Repeat("a-", 1000) + "x",
		strings.Repeat("é", 500) + "x",
		"x",
	}
	for _, expr := range []string{
		`(a|aa)+$`, `(?:a+)+b`, `(.*)(.*)(.*)(.*)x`, `(\S.*) bar`, `(?:\w+-)*x`, `x`, `^x`, `(é|k)+x$`, `[é日]x`,
		`(a*)*x`,
	} {
		re := MustCompile(expr)
		at, want := make([]int, re.Size()), make([]int, re.Size())
		for _, s := range texts {
			found := re.Find(s, want)
			for _, given := range []int{0, 10, 1000, 100_000, 1 << 40} {
				left := given
				got, sure := re.FindWithin(s, at, &left)
				switch {
				case left < 0 || left > given:
					t.Errorf("%q on %.10q: %d of %d steps are left", expr, s, left, given)
				case sure && (got != found || got && !slices.Equal(at, want)), !sure && (got || left > 0):
					t.Errorf(
						"%q on %.10q in %d steps: %v %v, without a limit %v; %d are left",
						expr,
						s,
						given,
						got,
						sure,
						found,
						left,
					)
				case !sure && given == 1<<40:
					t.Errorf("%q on %.10q: not sure after %d steps", expr, s, given)
				}
			}
		}
	}
}

// Finding allocates nothing where the caller has room.
func TestNothingIsAllocated(t *testing.T) {
	re := MustCompile(
		`^(?P<unit>\S+): (?:main|Main) process exited, code=(?P<how>killed|dumped|exited), status=(\d+)(?:/(\w+))?`,
	)
	room := make([]int, 16)
	for _, s := range []string{"a.service: Main process exited, code=killed, status=9/KILL",
		"a.service: Main process is no more", ""} {
		if n := testing.AllocsPerRun(100, func() { re.Find(s, re.Room(room)) }); n != 0 {
			t.Errorf("%q: %v allocations", s, n)
		}
	}
}

// What cannot be compiled is refused in the words of package regexp.
func TestErrors(t *testing.T) {
	for _, expr := range []string{`(`, `a**`, `[z-a]`, `\8`, `(?P<a-b>a)`, `a{1001}`} {
		_, want := regexp.Compile(expr)
		if _, err := Compile(expr); err == nil || err.Error() != want.Error() {
			t.Errorf("%q: %v, want %v", expr, err, want)
		}
	}
}

// Any expression on any text, as package regexp does it.
func FuzzFindsWhatRegexpFinds(f *testing.F) {
	for _, expr := range []string{`(a|ab)(c|bcd)?(d*)`, `^(\S+): (.*?)(?:, x=(\d+))?$`, `(?:,[\d-]+)*,cpuset=([^,]*)`,
		`(a*?)(?:b|(c))+\b`, `(?i)k(?:[^"]|x){2,3}`} {
		f.Add(expr, "abcd: 1,2-3,cpuset=/, x=12")
	}
	f.Fuzz(func(t *testing.T, expr, s string) {
		if len(expr) > 60 || len(s) > 200 {
			return
		}
		same(t, expr, s)
	})
}

// Expressions made of parts that work, on texts made of the letters that they
// speak of: nearly every one matches here or nearly so.
func FuzzPartsFindWhatRegexpFinds(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3}, []byte{0, 1, 2})
	f.Fuzz(func(t *testing.T, parts, letters []byte) {
		if len(parts) > 12 || len(letters) > 40 {
			return
		}
		same(t, expression(&parts, 0), text(letters))
	})
}

var atoms = []string{
	`a`, `b`, `ab`, `a`, `\w`, `[^a]`, `.`, `\b`, `^`, `$`, `[ab]`, `ba`, `\d`, ` `,
	`é`, `aé`, `[^\x00-\x7f]`, `[^é]`, `(?i)k`, `(?i)é`, `[é日]`, `\W`,
}
var repeats = []string{``, ``, ``, `*`, `+`, `?`, `*?`, `+?`, `??`, `{2}`, `{0,2}`, `{1,}?`}

// expression makes one of what the bytes say.
func expression(parts *[]byte, deep int) string {
	out := ""
	for len(*parts) > 0 {
		b := int((*parts)[0])
		*parts = (*parts)[1:]
		switch repeat := repeats[b/22%len(repeats)]; {
		case b%24 < len(atoms):
			out += `(?:` + atoms[b%24] + `)` + repeat
		case deep > 3:
			return out
		case b%2 == 0:
			out += `(` + expression(parts, deep+1) + `)` + repeat
		case deep > 0 && b >= 128:
			return out
		default:
			out += `|`
		}
	}
	return out
}

// letterList has bytes that are no character, too.
var letterList = []string{"a", "a", "b", "b", " ", "1", "x", "\n", "é", "日", "\u212a", "k", "\xff", "\xa9"}

func text(letters []byte) string {
	var s strings.Builder
	for _, b := range letters {
		s.WriteString(letterList[int(b)%len(letterList)])
	}
	return s.String()
}
