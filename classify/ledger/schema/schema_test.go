package schema

import (
	"slices"
	"testing"
)

// Numbers of names come back as they were packed; what is cut off of the last is left out.
func TestNumbersOfNames(t *testing.T) {
	names := []string{"pod:amber-1", "uid:7", ""}
	var want []int64
	for _, name := range names {
		want = append(want, NameNumber(name))
	}
	packed := PackNumbers(names)
	if got := UnpackNumbers(packed); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := UnpackNumbers(packed[:len(packed)-1]); !slices.Equal(got, want[:2]) {
		t.Errorf("%v, want %v", got, want[:2])
	}
	if NameNumber("uid:7") == NameNumber("uid:8") {
		t.Error("two names have one number")
	}
}
