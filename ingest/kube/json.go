package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// jsonReader walks the JSON values in a document: objects, lists, arrays of
// objects and watch events, one after the other.
type jsonReader struct {
	*reader
	dec  *json.Decoder
	base int // offset in data where dec started
}

func (r *reader) readJSON(start int) error {
	j := &jsonReader{r, json.NewDecoder(bytes.NewReader(r.data[start:])), start}
	for {
		at := j.nextOffset()
		if at >= len(r.data) {
			return nil
		}
		if err := j.readValue(); errors.Is(err, errStopped) {
			return nil
		} else if tail := (*TailError)(nil); errors.As(err, &tail) {
			return err
		} else if err != nil {
			return r.tailError(at, err)
		}
	}
}

// nextOffset is where the next value starts: past white space and commas.
func (j *jsonReader) nextOffset() int {
	at := j.base + int(j.dec.InputOffset())
	for at < len(j.data) && strings.IndexByte(" \t\r\n,", j.data[at]) >= 0 {
		at++
	}
	return at
}

// readValue reads one value at the top of the document.
func (j *jsonReader) readValue() error {
	at := j.nextOffset()
	tok, err := j.dec.Token()
	switch {
	case err != nil:
		return cutOff(err)
	case tok == json.Delim('{'):
		return j.readMembers(at)
	case tok == json.Delim('['):
		j.lists++
		return j.readItems("")
	}
	return fmt.Errorf("%v is no object", tok)
}

// readMembers reads the rest of an object that starts at offset at; its brace is
// read. A watch event, {"type":"MODIFIED","object":{…}}, is what it holds.
func (j *jsonReader) readMembers(at int) error {
	o, list := new(object), false
	var watched *object
	slots := o.keySlots()
	slots["object"] = &watched
	for j.dec.More() {
		key, err := j.dec.Token()
		if err != nil {
			return cutOff(err)
		}
		if key == "items" && (o.Kind == "" || strings.HasSuffix(string(o.Kind), "List")) {
			list = true
			err = j.readList(strings.TrimSuffix(string(o.Kind), "List"))
		} else {
			err = j.decodeNext(slots[key.(string)])
		}
		if err != nil {
			return err
		}
	}
	if _, err := j.dec.Token(); err != nil {
		return cutOff(err)
	}
	switch {
	case list:
		return nil
	case watched != nil:
		o = watched
	}
	return j.understand(o, at)
}

// keySlots says where the value of each top-level key goes.
func (o *object) keySlots() map[string]any {
	b := &o.eventBody
	return map[string]any{
		"apiVersion": &o.APIVersion, "kind": &o.Kind, "metadata": &o.Metadata,
		"spec": &o.Spec, "status": &o.Status,
		"type": &b.Type, "reason": &b.Reason, "message": &b.Message, "note": &b.Note,
		"count": &b.Count, "firstTimestamp": &b.FirstTimestamp, "lastTimestamp": &b.LastTimestamp,
		"eventTime": &b.EventTime, "source": &b.Source, "reportingComponent": &b.Reporter,
		"reportingController": &b.Controller, "reportingInstance": &b.Instance,
		"involvedObject": &b.Involved, "regarding": &b.Regarding, "series": &b.Series,
		"deprecatedCount": &b.OldCount, "deprecatedFirstTimestamp": &b.OldFirst,
		"deprecatedLastTimestamp": &b.OldLast, "deprecatedSource": &b.OldSource,
		"Id": &o.ID, "Name": &o.EngineName, "State": &o.State, "RestartCount": &o.RestartCount,
	}
}

// understand hands o on, or says that it is no object.
func (j *jsonReader) understand(o *object, at int) error {
	j.seekLine(at)
	if !j.readObject(o) {
		return errors.New("a JSON value that is no kubernetes object")
	}
	if j.stopped {
		return errStopped
	}
	return nil
}

// readList reads the value of "items".
func (j *jsonReader) readList(kind string) error {
	tok, err := j.dec.Token()
	switch {
	case err != nil:
		return cutOff(err)
	case tok == json.Delim('['):
		j.lists++
		return j.readItems(kind)
	case tok == json.Delim('{'):
		return errors.New("items is no list")
	}
	j.lists++ // null: an empty list
	return nil
}

// readItems reads the elements of an array, whose bracket is read. Items of a raw
// API list have no kind: it is the list's. An item that is no object is left
// out and counted; one that is cut ends the objects there.
func (j *jsonReader) readItems(kind string) error {
	for j.dec.More() {
		at := j.nextOffset()
		o := &object{}
		if err := j.decodeNext(o); err != nil {
			return j.tailError(at, err)
		}
		if o.Kind == "" && kind != "" {
			o.Kind = text(kind)
		}
		if err := j.understand(o, at); errors.Is(err, errStopped) {
			return err
		} else if err != nil {
			j.unknown++
		}
	}
	_, err := j.dec.Token()
	return cutOff(err)
}

// decodeNext reads the next value into v; nil drops it. A value of the wrong type
// somewhere inside leaves only that field empty.
func (j *jsonReader) decodeNext(v any) error {
	if v == nil {
		v = new(dropped)
	}
	err := j.dec.Decode(v)
	if typ := (*json.UnmarshalTypeError)(nil); errors.As(err, &typ) {
		return nil
	}
	return cutOff(err)
}

// dropped is a value that nobody needs.
type dropped struct{}

func (*dropped) UnmarshalJSON([]byte) error { return nil }

// cutOff words the decoder's error for the end of the input.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON is cut off")
	}
	return err
}
