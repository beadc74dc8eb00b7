package push

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// Blanks without end are refused, for the decoder looks at them again and again; blanks
// in a line, and those by which people indent, are not.
func TestBlanksWithoutEnd(t *testing.T) {
	blanks := strings.Repeat(" ", mostBlanks+1)
	for text, refused := range map[string]bool{
		`{"streams":[` + blanks + `]}`:                         true,
		`{"streams":[` + strings.Repeat(" ", 4000) + `]}`:      false,
		`{"line":"` + blanks + `"}`:                            false,
		`{"line":"\"` + blanks + `\\"` + blanks + `}`:          true,
		"{\"a\":1,\n" + strings.Repeat("\t", 100) + "\"b\":2}": false,
	} {
		_, err := io.ReadAll(&fewBlanks{r: strings.NewReader(text)})
		var large tooLarge
		if errors.As(err, &large) != refused {
			t.Errorf("%.30q…: %v, want refused %v", text, err, refused)
		}
	}
}
