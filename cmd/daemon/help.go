package daemon

import (
	"strings"

	"github.com/alecthomas/kong"
)

// HelpValues is a kong option: the help of a flag that has a default names it, unless the
// text does already.
func HelpValues() kong.Option {
	return kong.ValueFormatter(func(v *kong.Value) string {
		text := kong.DefaultHelpValueFormatter(v)
		shown := v.Flag == nil || v.IsBool() || v.Default == "" || v.Default == "-" || v.Flag.PlaceHolder == ""
		if shown || strings.Contains(v.Help, "Default:") {
			return text
		}
		return strings.TrimRight(text, " ") + " Default: " + strings.TrimSuffix(v.Default, ".") + "."
	})
}
