package site

import (
	"os"
	"path/filepath"

	"coroner/classify/guide"
)

// WriteDocs writes the documentation as web pages into a folder and says how many files they are.
func WriteDocs(dir string) (int, error) {
	files, err := guide.Pages(Docs(""))
	if err != nil {
		return 0, err
	}
	return len(files), Write(dir, files)
}

// Write writes files into a folder, which it makes; a file's name has slashes. What else is
// there stays.
func Write[Text string | []byte](dir string, files map[string]Text) error {
	for name, data := range files {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, []byte(data), 0o644); err != nil {
			return err
		}
	}
	return nil
}
