package main

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// screen is what a writer can show.
type screen struct {
	terminal bool
	columns  int  // characters in a line; 0: no limit
	bold     bool // by escape sequences
	ascii    bool // no other characters
}

// screenOf asks the terminal, if w is one, and the environment.
func screenOf(w io.Writer) screen {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return screen{}
	}
	s := screen{
		terminal: true, bold: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", ascii: !localeHasUTF8(),
	}
	if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
		s.columns = columns
	}
	return s
}

// localeHasUTF8 reports whether the locale's encoding is UTF-8. The first variable that is set counts, as in
// setlocale(3); if none is set, the locale is C.
func localeHasUTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := os.Getenv(name); value != "" {
			value = strings.ToLower(value)
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}
