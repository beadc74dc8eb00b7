package signal

import (
	"encoding/binary"
	"errors"
	"time"

	"coroner/ingest"
)

// AppendTo appends the signal to b in a form that Unpack reads back. The form is
// for the memory of one process: it is no format of a file.
func (s *Signal) AppendTo(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(s.Def.number))
	for _, at := range []time.Time{s.At, s.After} {
		b = appendTime(b, at)
	}
	b = append(b, byte(s.Clock), byte(s.Trust), flagBit(s.Unsigned)|flagBit(s.Masked)<<1)
	b = binary.AppendUvarint(b, uint64(s.Line))
	for _, text := range []string{
		string(s.Source), s.Node, s.Boot, s.Cluster, s.Namespace, s.Pod, s.PodUID,
		s.Container, s.ContainerID, s.Doc, s.Text,
	} {
		b = appendText(b, text)
	}
	b = binary.AppendUvarint(b, uint64(len(s.words)))
	for _, w := range s.words {
		b = appendText(b, w)
	}
	return b
}

func flagBit(on bool) byte {
	if on {
		return 1
	}
	return 0
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// appendTime keeps the zone, too: a time is shown in the one that it was written in.
func appendTime(b []byte, at time.Time) []byte {
	text, _ := at.MarshalBinary() // fails for zones that no clock has only: such a time is none
	return appendText(b, string(text))
}

// errPacked is the answer to bytes that AppendTo did not write.
var errPacked = errors.New("not a packed signal")

// Unpack reads the first signal of packed and returns what follows it. The signal
// holds on to packed.
func (b *Book) Unpack(packed string) (s *Signal, rest string, err error) {
	u := unpacker{rest: packed}
	n := u.nextNumber()
	if n >= uint64(len(b.Signals)) {
		return nil, "", errPacked
	}
	s = &Signal{Def: b.Signals[n]}
	s.At, s.After = u.nextTime(), u.nextTime()
	s.Clock, s.Trust = ingest.Clock(u.nextByte()), ingest.Trust(u.nextByte())
	flags := u.nextByte()
	s.Unsigned, s.Masked = flags&1 != 0, flags&2 != 0
	s.Line, s.Source = int(u.nextNumber()), ingest.Source(u.nextText())
	for _, text := range []*string{
		&s.Node, &s.Boot, &s.Cluster, &s.Namespace, &s.Pod, &s.PodUID, &s.Container, &s.ContainerID, &s.Doc, &s.Text,
	} {
		*text = u.nextText()
	}
	words := u.nextNumber()
	if words > uint64(len(s.Def.captures)) {
		return nil, "", errPacked
	}
	s.words = make([]string, words)
	for i := range s.words {
		s.words[i] = u.nextText()
	}
	if u.bad {
		return nil, "", errPacked
	}
	return s, u.rest, nil
}

// unpacker takes parts from the front of rest; bad once one was missing.
type unpacker struct {
	rest string
	bad  bool
}

func (u *unpacker) nextNumber() (n uint64) {
	for shift := 0; shift < 64; shift += 7 {
		b := u.nextByte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	u.bad = true
	return 0
}

func (u *unpacker) nextByte() byte {
	if u.rest == "" {
		u.bad = true
		return 0
	}
	b := u.rest[0]
	u.rest = u.rest[1:]
	return b
}

func (u *unpacker) nextText() (s string) {
	n := u.nextNumber()
	if n > uint64(len(u.rest)) {
		u.bad, u.rest = true, ""
		return ""
	}
	s, u.rest = u.rest[:n], u.rest[n:]
	return s
}

func (u *unpacker) nextTime() (at time.Time) {
	if at.UnmarshalBinary([]byte(u.nextText())) != nil {
		u.bad = true
	}
	return at
}
