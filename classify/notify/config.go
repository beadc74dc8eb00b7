package notify

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"

	"coroner/rules"

	"go.yaml.in/yaml/v4"
)

// Config is the file that says who wants to hear of what.
type Config struct {
	Receivers []Receiver `yaml:"receivers"`
	Routes    []Route    `yaml:"routes"`
}

// Receiver is who is told.
type Receiver struct {
	Name       string `yaml:"name"` // letters, digits and hyphens; the ledger keeps its list under it
	Kind       string `yaml:"kind"` // webhook, slack, teams, alertmanager, cloudevents
	URL        string `yaml:"url"`
	URLFile    string `yaml:"url_file"`    // in place of url, where the address is a secret
	SecretFile string `yaml:"secret_file"` // signs the body
	TokenFile  string `yaml:"token_file"`  // Authorization: Bearer
	Template   string `yaml:"template"`    // text/template: of a webhook the body, of the others the text

	text *template.Template
}

// Route is what a receiver wants to hear of: all that is said must fit. Lists are globs.
type Route struct {
	To         string           `yaml:"to"`
	Verdicts   []string         `yaml:"verdicts"`
	Pools      []string         `yaml:"pools"`
	Clusters   []string         `yaml:"clusters"`
	Domains    []string         `yaml:"domains"`
	Confidence rules.Confidence `yaml:"confidence"` // at least
	FirstIn    time.Duration    `yaml:"first_in"`   // only the first of its label on its node within that time
	Every      time.Duration    `yaml:"every"`      // of deaths that are alike the first in each such time; 0: all
	Window     time.Duration    `yaml:"window"`     // how far back those that are alike are counted; 0: a day
}

var (
	receiverName = regexp.MustCompile(`^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$`)
	kinds        = []string{"webhook", "slack", "teams", "alertmanager", "cloudevents"}
)

// Load reads a file strictly.
func Load(file string) (*Config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, data)
}

// Parse reads the text of a file. What is wrong with it is one line that begins with FILE:LINE.
func Parse(file string, data []byte) (*Config, error) {
	c, places := &Config{}, struct{ Receivers, Routes []yaml.Node }{}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(c); err != nil {
		return nil, misread(file, err)
	}
	if err := yaml.Unmarshal(data, &places); err != nil {
		return nil, misread(file, err)
	}
	var names []string
	for i := range c.Receivers {
		r := &c.Receivers[i]
		err := r.check()
		if slices.Contains(names, r.Name) {
			err = errors.New("it is there twice")
		}
		names = append(names, r.Name)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: receiver %q: %w", file, places.Receivers[i].Line, r.Name, err)
		}
	}
	for i := range c.Routes {
		if err := c.Routes[i].check(names); err != nil {
			return nil, fmt.Errorf("%s:%d: route %d: %w", file, places.Routes[i].Line, i+1, err)
		}
	}
	return c, nil
}

// misread is the error of text that is no YAML of the kind that is wanted.
func misread(file string, err error) error {
	var one *yaml.LoadError
	var several *yaml.LoadErrors
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s:1: nothing is in it", file)
	case errors.As(err, &several):
		one = several.Errors[0]
	case !errors.As(err, &one):
		return fmt.Errorf("%s: %w", file, err)
	}
	return fmt.Errorf("%s:%d: %s", file, max(one.Mark.Line, 1), one.Message)
}

func (r *Receiver) check() (err error) {
	switch {
	case !receiverName.MatchString(r.Name) || len(r.Name) > 60:
		return errors.New("its name: want letters, digits and hyphens between")
	case !slices.Contains(kinds, r.Kind):
		return fmt.Errorf("kind %q: want one of %s", r.Kind, strings.Join(kinds, ", "))
	case (r.URL == "") == (r.URLFile == ""):
		return errors.New("want url or url_file")
	case r.Template != "" && (r.Kind == "alertmanager" || r.Kind == "cloudevents"):
		return fmt.Errorf("a %s has no template", r.Kind)
	}
	_, e1 := r.address()
	_, e2 := r.token()
	_, e3 := r.secret()
	if err := cmp.Or(e1, e2, e3); err != nil {
		return err
	}
	r.text, err = parseTemplate(r.Template)
	return err
}

func (r *Receiver) address() (string, error) {
	address, err := r.URL, error(nil)
	if r.URLFile != "" {
		address, err = readSecret(r.URLFile)
	}
	if u, bad := url.Parse(address); err == nil &&
		(bad != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		err = errors.New("its address: want http://HOST or https://HOST")
	}
	return address, err
}

func (r *Receiver) token() (string, error)  { return readSecret(r.TokenFile) }
func (r *Receiver) secret() (string, error) { return readSecret(r.SecretFile) }

// readSecret reads a file at each use, so that it can be changed; "" has none.
func readSecret(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	data, err := os.ReadFile(file)
	text := strings.TrimSpace(string(data))
	if err == nil && text == "" {
		err = fmt.Errorf("%s is empty", file)
	}
	return text, err
}

func (r *Route) check(receivers []string) error {
	if !slices.Contains(receivers, r.To) {
		return fmt.Errorf("to %q: there is no such receiver", r.To)
	}
	for _, glob := range slices.Concat(r.Verdicts, r.Pools, r.Clusters, r.Domains) {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("%q is no glob", glob)
		}
	}
	switch r.Confidence {
	case "", rules.Confirmed, rules.Probable, rules.Suspected:
	default:
		return fmt.Errorf("confidence %q: want confirmed, probable or suspected", r.Confidence)
	}
	if r.FirstIn < 0 || r.Every < 0 || r.Window < 0 {
		return errors.New("first_in, every and window cannot be below zero")
	}
	return nil
}

// fits says whether a verdict is one that the route is for.
func (r *Route) fits(v *rules.Verdict) bool {
	was := rules.Label("")
	if v.Revises != nil {
		was = v.Revises.Label
	}
	return (anyOf(r.Verdicts, string(v.Label)) || !v.Wrong() && was != "" && anyOf(r.Verdicts, string(was))) &&
		anyOf(r.Pools, v.Pool) && anyOf(r.Clusters, v.Cluster) &&
		(anyOf(r.Domains, v.Domain) || !v.Wrong()) && !r.Confidence.Better(v.Confidence)
}

// anyOf says whether one of some globs fits; none fit all.
func anyOf(globs []string, name string) bool {
	return len(globs) == 0 || slices.ContainsFunc(globs, func(glob string) bool {
		is, _ := path.Match(glob, name)
		return is
	})
}

// To gives the routes that lead to a receiver.
func (c *Config) To(name string) (out []Route) {
	for _, r := range c.Routes {
		if r.To == name {
			out = append(out, r)
		}
	}
	return out
}
