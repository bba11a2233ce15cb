package step

import (
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// Screen is what a writer can show. The zero value is no terminal: text without end, without colours.
type Screen struct {
	Terminal      bool
	Columns, Rows int
	Colours       bool
	ASCII         bool // no other characters
}

// ScreenOf asks the terminal, if w is one, and the environment.
func ScreenOf(w io.Writer) Screen {
	s := Screen{ASCII: !localeHasUTF8()}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	s.Terminal = err == nil && columns > 0 && rows > 0 && os.Getenv("TERM") != "dumb"
	s.Columns, s.Rows = columns, rows
	s.Colours = s.Terminal && os.Getenv("NO_COLOR") == ""
	return s
}

// localeHasUTF8 reports whether the locale's encoding is UTF-8. The first variable that is set counts.
func localeHasUTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(os.Getenv(name)); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}

// tabWidth is how far apart the stops of the tabulator are in sources.
const tabWidth = 8

// clean makes a submission's text harmless for the terminal: tabs become blanks, and what might move the cursor becomes
// a question mark. So does, for an ASCII screen, what it cannot show.
func (s Screen) clean(line string) string {
	var b strings.Builder
	column := 0
	for _, r := range line {
		switch {
		case r == '\t':
			blanks := tabWidth - column%tabWidth
			b.WriteString(strings.Repeat(" ", blanks))
			column += blanks
			continue
		case !unicode.IsPrint(r) || s.ASCII && r > unicode.MaxASCII:
			r = '?'
		}
		b.WriteRune(r)
		column += text.RuneWidth(r)
	}
	return b.String()
}

// fold breaks a line between words where a terminal ends. What follows has the line's indentation.
func (s Screen) fold(line string) string {
	if !s.Terminal || text.RuneWidthWithoutEscSequences(line) <= s.Columns {
		return line
	}
	words := strings.TrimLeft(line, " ")
	indent := line[:min(len(line)-len(words), s.Columns/2)]
	lines := strings.Split(text.WrapSoft(words, s.Columns-len(indent)), "\n")
	for i, part := range lines {
		lines[i] = indent + strings.TrimRight(part, " ")
	}
	return strings.Join(lines, "\n")
}

// fit cuts or fills a line so that it takes that many columns.
func fit(line string, columns int) string {
	taken := 0
	for i, r := range line {
		width := text.RuneWidth(r)
		if taken+width > columns {
			return line[:i] + strings.Repeat(" ", columns-taken)
		}
		taken += width
	}
	return line + strings.Repeat(" ", columns-taken)
}

// The ways in which text stands out, as escape sequences of terminals.
const (
	plain   = ""
	strong  = "1"
	faint   = "2"
	current = "7"    // the line that has just run
	changed = "1;33" // what it changed
	read    = "36"   // where that came from
	wrong   = "1;31"
)

// styled is text in a style, where the screen has styles.
func (s Screen) styled(style, line string) string {
	if !s.Colours || style == plain {
		return line
	}
	return "\x1b[" + style + "m" + line + "\x1b[m"
}
