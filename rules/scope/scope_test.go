package scope

import (
	"errors"
	"testing"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"
)

func newTestScope() Scope {
	signals := types.Map{"oom_kill": types.Array(types.Map{"pid": types.Int})}
	return New(types.Map{"kernel": signals, "left": types.Int, "right": types.Int}, []string{"kernel"})
}

func run(t *testing.T, s Scope, text string, env map[string]any) any {
	t.Helper()
	p, err := s.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	got, err := expr.Run(p, env)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A signal has one spelling, and a subtraction with spaces stays one.
func TestHyphensOfSignals(t *testing.T) {
	env := map[string]any{
		"kernel": map[string]any{"oom_kill": []any{map[string]any{"pid": 7}}}, "left": 5, "right": 2,
	}
	s := newTestScope()
	if got := run(t, s, `seen(kernel.oom-kill) and any(kernel.oom-kill, .pid == 7)`, env); got != true {
		t.Error(got)
	}
	if got := run(t, s, `left - right`, env); got != 3 {
		t.Error(got)
	}
}

func TestWordsAreClosed(t *testing.T) {
	s := newTestScope()
	for _, text := range []string{"middle", "kernel.oom-kil", "kernel.oom-kill[0].comm"} {
		_, err := s.Compile(text)
		var placed *file.Error
		if err == nil || !errors.As(err, &placed) {
			t.Errorf("%s: %v, want an error that says where", text, err)
		}
	}
}

// A rule's own words are there for its texts only, and what they hide comes back.
func TestWordsForAWhile(t *testing.T) {
	s := newTestScope()
	s.With(types.Map{"d": types.String, "left": types.String}, func() {
		if !s.Has("d") || run(t, s, `left + d`, map[string]any{"left": "a", "d": "b"}) != "ab" {
			t.Error("the words are not there")
		}
	})
	if s.Has("d") || run(t, s, `left + 1`, map[string]any{"left": 1}) != 2 {
		t.Error("the words outlive their use")
	}
}
