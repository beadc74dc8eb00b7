package licence

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table of LICENSING.md")

// allowed are the licences that a program may be linked with. Another one is a
// decision, not an accident: LICENSING.md has to say what follows from it.
var allowed = map[string][]string{
	"coroner": {
		"AGPL-3.0-only",
		"Apache-2.0",
		"BSD-2-Clause",
		"BSD-3-Clause",
		"ISC",
		"MIT",
		"MPL-2.0",
		"blessing",
	},
	"coroner-agent": {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"},
}

// platforms are where each program is released for.
var platforms = map[string][][3]string{
	"coroner": {
		{"linux", "amd64", "0"},
		{"linux", "arm64", "0"},
		{"darwin", "amd64", "0"},
		{"darwin", "arm64", "0"},
	},
	"coroner-agent": {{"linux", "amd64", "1"}, {"linux", "arm64", "1"}},
}

func linked(t *testing.T, program string) (all []Linked) {
	t.Helper()
	for _, p := range platforms[program] {
		some, err := Of(program, p[0], p[1], p[2])
		if err != nil {
			t.Fatalf("%s on %s/%s: %v", program, p[0], p[1], err)
		}
		all = merge(all, some)
	}
	return all
}

// merge adds the modules that are not in the list yet.
func merge(all, more []Linked) []Linked {
	for _, m := range more {
		if !slices.ContainsFunc(all, m.same) {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b Linked) int { return strings.Compare(a.Module, b.Module) })
	return all
}

func (l Linked) same(m Linked) bool { return l.Module == m.Module }

// Each program is linked only with modules whose licence is known and allowed
// for it, and LICENSING.md lists them as they are.
func TestLinkedLicences(t *testing.T) {
	all := map[string][]Linked{}
	for program, may := range allowed {
		all[program] = linked(t, program)
		for _, m := range all[program] {
			for _, l := range m.Licences {
				if !slices.Contains(may, l) {
					t.Errorf("%s is linked with %s %s, which is under %s", program, m.Module, m.Version, l)
				}
			}
		}
		if len(all[program]) < 20 {
			t.Errorf("%s: only %d modules", program, len(all[program]))
		}
	}
	const begin, end, path = "<!-- modules -->\n", "<!-- end -->", "../../LICENSING.md"
	page, err := os.ReadFile(path)
	head, rest, ok := strings.Cut(string(page), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if err != nil || !ok || !ok2 {
		t.Fatalf("%s has no place for the table (%v)", path, err)
	}
	want := head + begin + table(all) + end + tail
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Errorf("%s is not up to date: go test ./deploy/licence -update", path)
	}
}

// usual licences ask for their text to go along, and for no more.
var usual = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "blessing"}

// table names the modules under licences that ask for more than the usual ones.
func table(all map[string][]Linked) string {
	var rows []string
	for _, m := range merge(slices.Clone(all["coroner"]), all["coroner-agent"]) {
		if !slices.ContainsFunc(m.Licences, func(l string) bool { return !slices.Contains(usual, l) }) {
			continue
		}
		var where []string
		for _, program := range []string{"coroner", "coroner-agent"} {
			if slices.ContainsFunc(all[program], m.same) {
				where = append(where, "`"+program+"`")
			}
		}
		rows = append(
			rows,
			fmt.Sprintf("| `%s` | %s | %s |\n", m.Module, strings.Join(m.Licences, ", "), strings.Join(where, ", ")),
		)
	}
	return "| module | licences of what is linked | linked into |\n|---|---|---|\n" + strings.Join(rows, "")
}

// A licence is known by its text, and what is not known is not guessed.
func TestIdentify(t *testing.T) {
	const bsd = "Redistribution and use in source and binary forms, with or without\nmodification, are permitted"
	for text, want := range map[string]string{
		"                    GNU AFFERO GENERAL PUBLIC LICENSE\n   Version 3, 19 November 2007\n": "AGPL-3.0-only",
		"GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007":                                    "GPL-3.0-only",
		"Permission is hereby granted, free of charge, to\n// any person":                         "",
		"All rights reserved. Ask us.":                                                            "",
		bsd:                                                                                       "BSD-2-Clause",
	} {
		if got := strings.Join(Identify(text), " "); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// A module without a licence file, or with one whose text is not known, is an
// error that names it.
func TestUnknownLicenceFails(t *testing.T) {
	root := t.TempDir()
	inner := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	var p listed
	p.Dir, p.Module = inner, &module{Path: "example.com/m", Dir: root}
	if err := p.addTo(map[string]*Linked{}); err == nil ||
		!strings.Contains(err.Error(), "example.com/m: no licence file") {
		t.Errorf("without a licence: %v", err)
	}
	if err := os.WriteFile(filepath.Join(root, "LICENSE.txt"), []byte("Ask us."), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := p.addTo(map[string]*Linked{}); err == nil || !strings.Contains(err.Error(), "is not known") {
		t.Errorf("with an unknown one: %v", err)
	}
	if err := os.WriteFile(filepath.Join(inner, "COPYING"), []byte("Licensed under the Apache License, Version 2.0"),
		0o644); err != nil {
		t.Fatal(err)
	}
	modules := map[string]*Linked{}
	if err := p.addTo(modules); err != nil || modules["example.com/m"].Expression() != "Apache-2.0" {
		t.Errorf("the package's own licence: %v %v", err, modules["example.com/m"])
	}
}

// The notices of the server hold the AGPL whole, each text once.
func TestNotices(t *testing.T) {
	files, licences, err := Files("coroner", "linux", "amd64", "0")
	if err != nil || len(files) != 3 || licences["github.com/grafana/loki/v3"] != "AGPL-3.0-only AND Apache-2.0" {
		t.Fatal(err, len(files), licences["github.com/grafana/loki/v3"])
	}
	text := string(files["THIRD-PARTY.txt"])
	if n := strings.Count(text, "GNU AFFERO GENERAL PUBLIC LICENSE\n"); n != 1 ||
		!strings.Contains(text, "github.com/grafana/loki/v3 v") {
		t.Errorf("the AGPL is there %d times", n)
	}
}
