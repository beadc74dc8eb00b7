package signal

import (
	"os"
	"reflect"
	"testing"
	"time"

	"coroner/fixtures"
	"coroner/ingest"
	"coroner/ingest/bundle"
)

// What is packed comes back as it was, one signal after the other.
func TestPackedSignalsComeBack(t *testing.T) {
	b := defaultBook(t)
	var all []Signal
	incidents, err := fixtures.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range incidents {
		for e := range bundle.Bytes(in.Name+".txtar", in.Archive(), bundle.Options{}).Entries(nil) {
			if e.Mark == nil {
				e.At = e.At.In(time.FixedZone("", 3600+60*len(all)%7200))
				all = append(all, b.Scan(&e)...)
			}
		}
	}
	var packed []byte
	for i := range all {
		packed = all[i].AppendTo(packed)
	}
	rest := string(packed)
	for i := range all {
		var s *Signal
		if s, rest, err = b.Unpack(rest); err != nil {
			t.Fatal(err)
		}
		if !s.At.Equal(all[i].At) || s.At.Format(time.RFC3339Nano) != all[i].At.Format(time.RFC3339Nano) {
			t.Fatalf("written at %v, came back as %v", all[i].At, s.At)
		}
		s.At, s.After = all[i].At, all[i].After
		if !reflect.DeepEqual(*s, all[i]) {
			t.Fatalf("came back as\n%+v, was\n%+v", *s, all[i])
		}
	}
	if rest != "" || len(all) < 1000 {
		t.Errorf("%d bytes left after %d signals", len(rest), len(all))
	}
}

// Bytes that no signal was packed into are an error, never a signal that is used.
func FuzzUnpack(f *testing.F) {
	b, err := Load(os.DirFS("../book"))
	if err != nil {
		f.Fatal(err)
	}
	e := ingest.Entry{
		Source: ingest.Kernel,
		Trust:  ingest.Attested,
		Node:   "build-1",
		Text:   "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [make:4242]",
	}
	for _, s := range b.Scan(&e) {
		f.Add(string(s.AppendTo(nil)))
	}
	f.Fuzz(func(t *testing.T, packed string) {
		s, rest, err := b.Unpack(packed)
		if err == nil && (s == nil || s.Def == nil || len(rest) >= len(packed)) {
			t.Fatalf("%+v, %d bytes left", s, len(rest))
		}
		if err == nil {
			s.Captures()
			s.Identities()
		}
	})
}
