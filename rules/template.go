package rules

import (
	"fmt"
	"strings"
	"time"

	"coroner/rules/phrase"
	"coroner/rules/yamlfile"
)

// template is text with ${expression} parts, compiled at load.
type template struct{ parts []templatePart }

type templatePart struct {
	text  string
	value *program // nil for plain text
}

// template compiles s. Every part is checked like any other expression.
func (b *builder) template(s yamlfile.Text) *template {
	if s.Value == "" {
		return nil
	}
	t := &template{}
	rest, offset := s.Value, 0
	for {
		open := strings.Index(rest, "${")
		if open < 0 {
			t.parts = append(t.parts, templatePart{text: rest})
			return t
		}
		length := strings.IndexByte(rest[open:], '}')
		if length < 0 {
			b.errs.Add(s.At(1, offset+open+1), "${ without }")
			return t
		}
		inner := s
		inner.Value = rest[open+2 : open+length]
		inner.Pos.Col += offset + open + 2
		t.parts = append(t.parts, templatePart{text: rest[:open]}, templatePart{value: b.expression(inner, "")})
		offset += open + length + 1
		rest = rest[open+length+1:]
	}
}

func (t *template) renderText(env map[string]any) string {
	return t.textWith(func(p *program) string { return valueText(p.evaluate(env)) })
}

// textWith is the text with what say makes of each value; "" for none.
func (t *template) textWith(say func(*program) string) string {
	if t == nil {
		return ""
	}
	var sb strings.Builder
	for _, p := range t.parts {
		sb.WriteString(p.text)
		if p.value != nil {
			sb.WriteString(say(p.value))
		}
	}
	return strings.TrimSpace(sb.String())
}

func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return clipValue(v)
	case time.Time:
		return phrase.Clock(v)
	case float64:
		return fmt.Sprintf("%.4g", v)
	}
	return fmt.Sprint(v)
}

// maxValue is how much of one log value goes into a sentence.
const maxValue = 300

func clipValue(s string) string {
	if len(s) <= maxValue {
		return s
	}
	return strings.ToValidUTF8(s[:maxValue], "") + "…"
}
