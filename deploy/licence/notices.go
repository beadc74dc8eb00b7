package licence

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Files are what goes along with a program: our licence, what follows from those
// of others, and their texts. The licences are the modules', by path.
func Files(program, goos, goarch, cgo string) (files map[string][]byte, licences map[string]string, err error) {
	linked, err := Of(program, goos, goarch, cgo)
	if err != nil {
		return nil, nil, err
	}
	texts, err := noticesOf(program, linked)
	if err != nil {
		return nil, nil, err
	}
	files, licences = map[string][]byte{"THIRD-PARTY.txt": texts}, map[string]string{}
	for _, m := range linked {
		licences[m.Module] = m.Expression()
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "coroner").Output()
	for _, name := range []string{"LICENSE", "LICENSING.md"} {
		if err == nil {
			files[name], err = os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), name))
		}
	}
	return files, licences, err
}

// noticesOf is the third-party file of a program: every licence and notice of what
// it is linked from, each text once, below the modules that it is of.
func noticesOf(program string, linked []Linked) ([]byte, error) {
	of := map[string][]string{}
	var texts []string
	for _, m := range linked {
		for _, file := range m.Files {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			text := strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], m.Module+" "+m.Version+", "+filepath.Base(file))
		}
	}
	var out bytes.Buffer
	fmt.Fprintf(
		&out,
		"The licences of the modules that %s is linked from.\nLICENSING.md says what follows from them.\n",
		program,
	)
	rule := strings.Repeat("=", 80)
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n%s\n%s\n\n%s\n", rule, strings.Join(of[text], "\n"), rule, text)
	}
	return out.Bytes(), nil
}

// Expression is the module's licences as SPDX has them.
func (l *Linked) Expression() string { return strings.Join(l.Licences, " AND ") }
