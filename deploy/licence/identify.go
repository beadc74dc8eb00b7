package licence

import (
	"regexp"
	"strings"
)

// texts are the licences that are known, by words that stand in no other.
var texts = []struct{ id, words string }{
	{"AGPL-3.0-only", "gnu affero general public license version 3, 19 november 2007"},
	{"GPL-3.0-only", "gnu general public license version 3, 29 june 2007"},
	{"GPL-2.0-only", "gnu general public license version 2, june 1991"},
	{"LGPL", "gnu lesser general public license version"},
	{"MPL-2.0", "mozilla public license version 2.0 ="},
	{"MPL-2.0", "mozilla public license, version 2.0 1. definitions"},
	{"Apache-2.0", "apache license version 2.0, january 2004"},
	{"Apache-2.0", "licensed under the apache license, version 2.0"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose with or without fee"},
	{"blessing", "the author disclaims copyright to this source code"},
	{"blessing", "sqlite is in the public domain"},
	{"blessing", "dedicated to the public domain by the authors"},
}

const (
	bsd       = "redistribution and use in source and binary forms, with or without modification, are permitted"
	noEndorse = "to endorse or promote products derived from"
)

var space = regexp.MustCompile(`[\s*#>]+`)

// Identify names the licences whose text is in a file, by their SPDX
// identifiers; none where no text is known.
func Identify(text string) (found []string) {
	text = strings.ToLower(space.ReplaceAllString(text, " "))
	for _, l := range texts {
		if strings.Contains(text, l.words) {
			found = append(found, l.id)
		}
	}
	if strings.Contains(text, bsd) {
		if strings.Contains(text, noEndorse) {
			return append(found, "BSD-3-Clause")
		}
		return append(found, "BSD-2-Clause")
	}
	return found
}
