package units_test

import (
	"testing"
	"time"

	"coroner/cmd/units"

	"github.com/alecthomas/kong"
)

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "500ms": 500 * time.Millisecond, "2160h": 2160 * time.Hour, "0": 0, "0s": 0,
		"7d": 168 * time.Hour, "1d12h": 36 * time.Hour, "2w": 336 * time.Hour, "1w1d1h": 193 * time.Hour,
		"-1d": -24 * time.Hour,
	} {
		if got, err := units.Duration(text); err != nil || got != want {
			t.Errorf("%s: %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "7", "d", "5minutes", "1.5d", "d7", "7 d", "99999999999d", "50000d50000d50000d",
		"999999999999999999999w"} {
		if got, err := units.Duration(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{
		"8589934592": 8 << 30, "8GiB": 8 << 30, "8Gi": 8 << 30, "512 MiB": 512 << 20, "1KiB": 1024, "7B": 7, "0": 0,
		"-1": -1, "2TiB": 2 << 40,
	} {
		if got, err := units.Size(text); err != nil || got != want {
			t.Errorf("%s: %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "8G", "8GB", "1.5GiB", "GiB", "99999999999TiB", "0x10", "1e9"} {
		if got, err := units.Size(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// On a command line they are flags like others, defaults and lists included.
func TestFlags(t *testing.T) {
	var c struct {
		Keep time.Duration   `default:"90d"`
		Room int64           `type:"size" default:"8GiB"`
		Wait []time.Duration `default:"1d,2s"`
	}
	k, err := kong.New(&c, units.Option())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Parse(nil); err != nil || c.Keep != 2160*time.Hour || c.Room != 8<<30 || len(c.Wait) != 2 {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := k.Parse([]string{"--keep=1w", "--room=5"}); err != nil || c.Keep != 168*time.Hour || c.Room != 5 {
		t.Errorf("%+v %v", c, err)
	}
	for _, arg := range []string{"--keep=5minutes", "--room=8G", "--keep="} {
		if _, err := k.Parse([]string{arg}); err == nil {
			t.Errorf("%s is taken", arg)
		}
	}
}
