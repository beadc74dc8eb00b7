package daemon

import "regexp"

// mistakes are how the parser of the command line words some of them, and how a person would.
var mistakes = []struct {
	parser *regexp.Regexp
	person string
}{
	{regexp.MustCompile(`expected (?:\w+ )?value but got "EOL".*`), "a value is missing"},
	{regexp.MustCompile(`expected (?:\w+ )?value but got ("[^"]*") \((?:short|long) flag\).*`),
		"a value is missing; $1 reads as a flag"},
	{regexp.MustCompile(`missing value, expecting .*`), "a value is missing"},
	{regexp.MustCompile(`expected a valid 64 bit int but got`), "want a number, not"},
	{regexp.MustCompile(`,"" but got`), " but got"}, // "" is a flag that is not given
}

// PlainMistake says what is wrong with the command line.
func PlainMistake(err error) string {
	text := err.Error()
	for _, m := range mistakes {
		text = m.parser.ReplaceAllString(text, m.person)
	}
	return text
}
