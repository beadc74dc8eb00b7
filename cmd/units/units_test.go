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
// What is written as text is read as the same.
func TestTexts(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 500 * time.Millisecond: "500ms", 5 * time.Second: "5s", time.Minute: "1m", 90 * time.Second: "1m30s",
		time.Hour: "1h", 24 * time.Hour: "24h", 48 * time.Hour: "2d", 50 * time.Hour: "50h", 90 * 24 * time.Hour: "90d",
	} {
		if got := units.Text(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
		if back, err := units.Duration(units.Text(d)); err != nil || back != d {
			t.Errorf("%s is read as %v, %v", units.Text(d), back, err)
		}
	}
	for n, want := range map[int64]string{
		0: "0", 1000: "1000", 1 << 10: "1KiB", 8 << 20: "8MiB", 8<<30 + 1: "8589934593", 3 << 40: "3TiB",
	} {
		if got := units.SizeText(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
		if back, err := units.Size(units.SizeText(n)); err != nil || back != n {
			t.Errorf("%s is read as %d, %v", units.SizeText(n), back, err)
		}
	}
}

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
