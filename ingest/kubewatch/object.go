package kubewatch

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"coroner/ingest"
	"coroner/ingest/document"
	"coroner/ingest/kube"
)

// object is an API object as far as anybody wants it: what the client library
// needs to follow it, and the entries that package kube makes of it.
type object struct {
	metav1.TypeMeta
	metav1.ObjectMeta // name, namespace, uid, version; of the rest nothing
	facts             []ingest.Entry
	place             place
}

// list is one page of them.
type list struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []object
}

// DeepCopyObject makes runtime.Object of it. Nobody changes one.
func (o *object) DeepCopyObject() runtime.Object { c := *o; return &c }

// DeepCopyObject makes runtime.Object of it.
func (l *list) DeepCopyObject() runtime.Object { c := *l; return &c }

// head is what is read of an object beside its facts.
type head struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name            string            `json:"name"`
		Namespace       string            `json:"namespace"`
		UID             types.UID         `json:"uid"`
		ResourceVersion string            `json:"resourceVersion"`
		Continue        string            `json:"continue"`
		Remaining       *int64            `json:"remainingItemCount"`
		Annotations     map[string]string `json:"annotations"`
	} `json:"metadata"`
}

// newObject reads one object. An item of a list does not say its kind.
func (c codec) newObject(data []byte, kind string) (object, error) {
	var h head
	if err := json.Unmarshal(data, &h); err != nil {
		return object{}, err
	}
	m := &h.Metadata
	o := object{
		TypeMeta: metav1.TypeMeta{Kind: kind},
		ObjectMeta: metav1.ObjectMeta{
			Name:            m.Name,
			Namespace:       m.Namespace,
			UID:             m.UID,
			ResourceVersion: m.ResourceVersion,
		},
	}
	if m.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
		o.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	if c.places {
		err := json.Unmarshal(data, &o.place)
		return o, err
	}
	o.facts = factsOf(data, kind)
	return o, nil
}

// factsOf are the entries of an object. Its marks are not wanted: what was
// covered is for the watch to say.
func factsOf(data []byte, kind string) (out []ingest.Entry) {
	wrapped := append(append([]byte(`{"apiVersion":"v1","kind":"`+kind+`List","items":[`), data...), "]}"...)
	_, err := kube.Read(document.Document{Name: documentName}, wrapped, func(e ingest.Entry) bool {
		if e.Mark == nil {
			e.Line = 0 // there is none, and records without a time are told apart by it
			out = append(out, e)
		}
		return true
	})
	if errors.Is(err, kube.ErrNotObject) {
		return nil
	}
	return out
}

// documentName is where these entries come from, as verdicts show it.
const documentName = "kube-api"

// codec reads the server's answers. It implements runtime.NegotiatedSerializer
// and runtime.Serializer, and writes nothing.
type codec struct {
	places bool // of a pod only where it is, and no facts
}

// errWrite is what a reader says to who wants it to write.
var errWrite = errors.New("kubewatch only reads")

// Decode implements runtime.Decoder.
func (c codec) Decode(
	data []byte, _ *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	var h head
	if err := json.Unmarshal(data, &h); err != nil {
		return nil, nil, err
	}
	kind := &schema.GroupVersionKind{Version: "v1", Kind: h.Kind}
	switch all, ok := into.(*list); {
	case ok && strings.HasSuffix(h.Kind, "List"):
		return all, kind, all.readList(data, h, c)
	case into != nil && !ok: // a watch's frame
		return into, kind, json.Unmarshal(data, into)
	case h.Kind == "Status":
		s := &metav1.Status{}
		return s, kind, json.Unmarshal(data, s)
	case ok:
		return nil, nil, errors.New("the answer is no list of objects")
	}
	o, err := c.newObject(data, h.Kind)
	return &o, kind, err
}

func (l *list) readList(data []byte, h head, c codec) error {
	var in struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	l.ResourceVersion, l.Continue = h.Metadata.ResourceVersion, h.Metadata.Continue
	l.RemainingItemCount = h.Metadata.Remaining
	kind := strings.TrimSuffix(h.Kind, "List")
	for _, item := range in.Items {
		o, err := c.newObject(item, kind)
		if err != nil {
			return err
		}
		l.Items = append(l.Items, o)
	}
	return nil
}

// Encode implements runtime.Encoder.
func (codec) Encode(runtime.Object, io.Writer) error { return errWrite }

// Identifier implements runtime.Encoder.
func (codec) Identifier() runtime.Identifier { return "kubewatch" }

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (c codec) SupportedMediaTypes() []runtime.SerializerInfo {
	return []runtime.SerializerInfo{{
		MediaType:        "application/json",
		MediaTypeType:    "application",
		MediaTypeSubType: "json",
		EncodesAsText:    true,
		Serializer:       c,
		StreamSerializer: &runtime.StreamSerializerInfo{Serializer: c, EncodesAsText: true, Framer: framer},
	}}
}

// EncoderForVersion implements runtime.NegotiatedSerializer.
func (c codec) EncoderForVersion(runtime.Encoder, runtime.GroupVersioner) runtime.Encoder { return c }

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (c codec) DecoderToVersion(runtime.Decoder, runtime.GroupVersioner) runtime.Decoder { return c }
