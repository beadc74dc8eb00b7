package redact

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func with(t *testing.T, patterns ...Pattern) *Redactor {
	t.Helper()
	r := New()
	for _, p := range patterns {
		if err := r.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// A pattern that would match everything, or nothing, is refused with the field to mend.
func TestMistakesNameTheirField(t *testing.T) {
	for _, c := range []struct {
		p           Pattern
		field, says string
	}{
		{Pattern{Kind: "X y", Keys: []string{"code"}}, "name", "small letters"},
		{Pattern{Kind: "x"}, "name", "one of begins, keys and words"},
		{Pattern{Kind: "x", Keys: []string{"code"}, Words: []string{"code"}}, "name", "one of begins"},
		{Pattern{Kind: "x", Keys: []string{"pwd"}}, "keys", `"pwd" has less than 4 characters`},
		{Pattern{Kind: "x", Begins: []string{"abcd"}}, "begins", "needs chars"},
		{Pattern{Kind: "x", Begins: []string{"abcd"}, Chars: "a-z"}, "begins", "least"},
		{Pattern{Kind: "x", Begins: []string{"abcd"}, Chars: "z-a", Least: 1}, "chars",
			"invalid character class range"},
		{Pattern{Kind: "x", Begins: []string{"abcd"}, Chars: "!-~", Least: 1}, "chars", "must not hold ["},
		{Pattern{Kind: "x", Words: []string{"abcd"}}, "words", "need a match"},
		{Pattern{Kind: "x", Words: []string{"abcd"}, Match: "abcd(.*)"}, "match", "no group"},
		{Pattern{Kind: "x", Words: []string{"abcd"}, Match: "abcd("}, "match", "missing closing"},
		{Pattern{Kind: "x", Keys: []string{"abcd"}, Like: "("}, "like", "missing closing"},
		{Pattern{Kind: "x", Keys: []string{"abcd"}, Unlike: "("}, "unlike", "missing closing"},
	} {
		err := New().Add(c.p)
		var e *Error
		if !errors.As(err, &e) || e.Field != c.field || !strings.Contains(e.Why, c.says) {
			t.Errorf("%+v: %v, want %s: %s", c.p, err, c.field, c.says)
		}
	}
}

// Where two patterns see a secret it is one, under the name of the one that knows its form.
func TestOverlapsAreOneSecret(t *testing.T) {
	r := with(t, Pattern{Kind: "named", Keys: []string{"token"}},
		Pattern{Kind: "formed", Begins: []string{"tok-"}, Chars: "a-z0-9", Least: 4})
	for text, want := range map[string]string{
		"token=tok-abcd,x=1":            "token=[redacted:formed],x=1",
		`token="a tok-abcd b" tok-efgh`: `token="[redacted:formed]" [redacted:formed]`,
		"token=swordfish tok-abc":       "token=[redacted:named] tok-abc",
		"nothing":                       "nothing",
	} {
		if got, _ := r.Text(text, nil); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	sure := func(s Span) bool { return s.Sure }
	if got, changed := r.Text("token=swordfish tok-abcd", sure); got != "token=swordfish [redacted:formed]" ||
		!changed {
		t.Errorf("%q", got)
	}
	if n := testing.AllocsPerRun(10, func() { r.Find("a line of which not much begins like to-ken or ey-J") }); n != 0 {
		t.Errorf("%v allocations for a line without a secret", n)
	}
}

const (
	keyBody  = "MIIEpAIBAAKCAQEA0000000000000000000000000000000000000000000000x7"
	keyBody2 = "aIIEpAIBAAKCAQEA0000000000000000000000000000000000000000000000x8"
)

// A key of several lines is found from any of them, and nothing beside it.
func TestKeyLines(t *testing.T) {
	const (
		begin, end = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
		id         = "ab00000000000000000000000000000000000000000000000000000000000012"
	)
	for name, c := range map[string][2][]string{
		"whole":                 {{"a", begin, keyBody, keyBody2, "x9==", end, "b"}, {keyBody, keyBody2, "x9=="}},
		"its beginning is gone": {{keyBody, "MIIE", end, "done"}, {keyBody, "MIIE"}},
		"it goes on":            {{"a", begin, keyBody, keyBody2}, {keyBody, keyBody2}},
		"its middle":            {{keyBody, keyBody2, keyBody[1:]}, {keyBody, keyBody2, keyBody[1:]}},
		"behind other lines":    {{"a", keyBody, keyBody2, "b"}, {keyBody, keyBody2}},
		"with a header": {{begin, "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,00", "", keyBody, end},
			{keyBody}},
		"behind one taken out":   {{"[redacted:private-key]", keyBody, "done"}, {keyBody}},
		"a short last line":      {{begin, keyBody, keyBody2, "q7Zs"}, {keyBody, keyBody2, "q7Zs"}},
		"a word behind a key":    {{begin, keyBody, keyBody2, "done"}, {keyBody, keyBody2}},
		"behind a stamp":         {{"10:00 " + begin, keyBody, "10:00 " + end}, {keyBody}},
		"certificate":            {{"-----BEGIN CERTIFICATE-----", keyBody, "-----END CERTIFICATE-----"}, nil},
		"one line of base64":     {{"the answer:", keyBody, "ok"}, nil},
		"ids":                    {{"ids:", id, id, id, "ok"}, nil},
		"words after no key":     {{begin, "is what a key begins with", "done"}, nil},
		"words before an end":    {{begin, keyBody, "done", "Killed", end}, {keyBody, "done", "Killed"}}, // of base64
		"empty":                  {nil, nil},
		"another stream's words": {{begin, "[build] compiling", keyBody, "x"}, nil},
	} {
		got := map[string]bool{}
		for i, secret := range KeyLines(c[0]) {
			if secret {
				got[c[0][i]] = true
			}
		}
		for _, line := range c[1] {
			if !got[line] {
				t.Errorf("%s: %q stays", name, line)
			}
			delete(got, line)
		}
		if len(got) > 0 {
			t.Errorf("%s: %v is taken out", name, got)
		}
	}
}

// A full line of a key is known by itself, whatever a log writes before and behind
// it; what is as long and made of something else stays.
func TestKeyLineInsideOfALine(t *testing.T) {
	const (
		body  = "MIIEpAIBAAKCAQEAuVx9Q2Tn4bHcLwZk7RgYsE1oPd/3MfJ0iXa5C6tBvNhKqWzU"
		body2 = "f+8SrXjLmDyGpOeI2cVb6ZaHnQ4tKwTuR1xYsM9PkF7AdCgEoBvJh3iN5lUzWq0S"
	)
	r := with(t, Pattern{Kind: "x", Begins: []string{"ab_"}, Chars: "a-z", Least: 3})
	for _, around := range []string{"%", "Catch exception during request %", "10:00:01.5 [build] %", "##[debug]:%",
		"#12 0.345 %",
		`{"msg":"%","time":"10:00:01"}`, "web-1  | %\r"} {
		for _, line := range []string{body, body2, body2 + "aB3xY9", body2 + "aB3xY9+/0QwZ"} {
			want := strings.ReplaceAll(around, "%", "[redacted:private-key]")
			if got, _ := r.Text(strings.ReplaceAll(around, "%", line), nil); got != want {
				t.Errorf("%q: %q", around, got)
			}
		}
	}
	for _, stays := range []string{
		strings.Repeat("0123456789abcdef", 4), strings.Repeat("0123456789ABCDEF", 4), // digests
		"sha512-" + body + body[:22] + "==",
		"/Home/Runner/Work/App9/App9/Source/Main3/Java/Org/Example2/Tool/Maker",
		"AVeryLongNameOfAnExceptionOfSomeFrameworkThatHasSixtyFourLetters",
	} {
		if got, changed := r.Text("x "+stays+" y", nil); changed {
			t.Errorf("%q: %q", stays, got)
		}
	}
}

// A word that chance made is a secret, whatever it begins with; a name, a path, a digest
// and what is base64 of a readable text stay.
func TestRandomWords(t *testing.T) {
	r := with(t, Pattern{Kind: "x", Begins: []string{"ab_"}, Chars: "a-z", Least: 3})
	const word = "q7Zs0Rk3Vw9Lm2Tx8Bn4Yc6H"
	for text, want := range map[string]string{
		"new_" + word + " was refused":           "[redacted:random-word] was refused",
		"401 for " + word:                        "401 for [redacted:random-word]",
		`{"k":"` + word + `"}`:                   `{"k":"[redacted:random-word]"}`,
		word + "/" + word[1:] + "/" + word + "=": "[redacted:random-word]/" + word[1:] + "/[redacted:random-word]=",
		strings.Repeat(word, 300):                "[redacted:random-word]",
		"x " + word + "." + word[:10]:            "x [redacted:random-word]." + word[:10],
	} {
		if got, _ := r.Text(text, nil); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, stays := range []string{
		word[1:], "org/Example2App/Http2ServerV3/RunnerTestCase7", "MyHttp2ServerConnectionPoolTest42",
		"runner-x7k2p-worker-0a1b2c-job-9z8y", "RUN_ID_20260301T100000Z_BUILD_77_OF_MAIN",
		"sha512-" + word + word + "==", "sha256:" + word, "example.com/m v1.2.3 h1:" + word + word + "=",
		"eyJtZXNzYWdlIjoibm90IGEgdG9rZW4ifQ==", "ThirdParty2026ReleaseNotesForVersion17",
		"0a0b0c0d-1111-2222-3333-444455556666", strings.Repeat("0123456789abcdef", 4),
	} {
		if got, changed := r.Text("x "+stays+" y", nil); changed {
			t.Errorf("%q: %q", stays, got)
		}
	}
}

// A word of three letters serves, where what follows it is known.
func TestShortBeginnings(t *testing.T) {
	r := with(t, Pattern{Kind: "short", Begins: []string{"hf_"}, Chars: "a-z", Least: 4})
	for text, want := range map[string]string{
		"hf_abcd": "[redacted:short]", "x hf_abcd.": "x [redacted:short].", "xhf_abcdef ": "x[redacted:short] ",
		"hf_abc hf_ABCD hf_": "hf_abc hf_ABCD hf_",
	} {
		if got, _ := r.Text(text, nil); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if err := New().Add(Pattern{Kind: "x", Begins: []string{"hf"}, Chars: "a-z", Least: 4}); err == nil {
		t.Error("a beginning of two letters is taken")
	}
}

// What looks like a thousand secrets and is none costs as much a byte as a few do.
func TestCostGrowsWithLengthAlone(t *testing.T) {
	r := with(t, Pattern{Kind: "a", Keys: []string{"token"}},
		Pattern{Kind: "b", Begins: []string{"eyJh"}, Chars: "A-Za-z0-9_.-", Least: 20, Like: `^eyJ\.x`},
		Pattern{Kind: "c", Words: []string{"p://", "b://"}, Match: `.://[^\s/:]*:(?P<secret>[^\s/]+)@`})
	best := func(text string) (least time.Duration) {
		for i := range 7 {
			begin := time.Now()
			r.Text(text, nil)
			if took := time.Since(begin); i == 0 || took < least {
				least = took
			}
		}
		return least
	}
	for _, hostile := range []string{"token:", "token: ", "token=$(", `token="`, "-eyJh", "eyJh", "p://", "b://b:",
		"token=none,", "--token a "} {
		text := strings.Repeat(hostile, (16<<10)/len(hostile))
		short, long := best(text), best(strings.Repeat(text, 8))
		if long > 32*short+time.Millisecond { // eight times as long; 64 times would be the square
			t.Errorf("%q: %v, and eight times as much %v", hostile, short, long)
		}
	}
}
