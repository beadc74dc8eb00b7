package daemon

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"time"

	"coroner/rules/phrase"

	"github.com/rs/zerolog"
)

// Logger returns the program's log; terminal says whether a person reads it there.
func (f *Flags) Logger(w io.Writer, terminal bool) zerolog.Logger {
	level, _ := zerolog.ParseLevel(f.LogLevel) // the flag's enum is checked
	zerolog.TimeFieldFormat = time.RFC3339Nano
	if f.LogFormat == "console" || f.LogFormat == "auto" && terminal {
		w = zerolog.ConsoleWriter{
			Out: w, NoColor: !terminal || os.Getenv("NO_COLOR") != "", TimeFormat: time.TimeOnly,
			FormatPrepare: wordSizes,
		}
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger()
}

// wordSizes words the sizes of a line for people: the fields bytes and those that end so.
func wordSizes(fields map[string]any) error {
	for name, value := range fields {
		number, ok := value.(json.Number)
		if !ok || name != "bytes" && !strings.HasSuffix(name, "_bytes") {
			continue
		}
		if n, err := number.Int64(); err == nil {
			fields[name] = phrase.Size(int(n))
		}
	}
	return nil
}
