package mutate

import (
	"regexp"
	"strings"

	"fiberlab/labs/machine"
)

var (
	label     = regexp.MustCompile(`^\s*([\w.$]+):`)
	declared  = regexp.MustCompile(`(?m)^[ \t]*\.(?:globl|global|type)[ \t]+([\w.$]+)`)
	definedAs = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\w+)`)
	literal   = regexp.MustCompile(`^\s*"([a-z][^"\\]*)\\n`)
	cFunction = regexp.MustCompile(`^(?:\w.*[\s*])?(\w+)\(`)
)

// withoutComments has spaces instead of comments, so that all else stays where it is. Line ends stay too.
func withoutComments(text string) string {
	out := []byte(text)
	erase := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	until := func(from int, end string) int {
		if n := strings.Index(text[from:], end); n >= 0 {
			return from + n
		}
		return len(text)
	}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"' || text[i] == '\'':
			for quote := text[i]; i+1 < len(text) && text[i+1] != quote && text[i+1] != '\n'; i++ {
				if text[i+1] == '\\' && i+2 < len(text) {
					i++
				}
			}
			i++
		case strings.HasPrefix(text[i:], "/*"):
			end := min(until(i+2, "*/")+2, len(text))
			erase(i, end)
			i = end - 1
		case strings.HasPrefix(text[i:], "//"):
			end := until(i, "\n")
			erase(i, end)
			i = end - 1
		}
	}
	return string(out)
}

// eachLine calls visit with each line of text, with the offset at which it begins, and its number.
func eachLine(text string, visit func(line string, offset, number int)) {
	offset := 0
	for n, line := range strings.SplitAfter(text, "\n") {
		visit(strings.TrimSuffix(line, "\n"), offset, n+1)
		offset += len(line)
	}
}

// instructions finds the instructions of an assembly source.
func instructions(a *machine.Arch, text string) []instruction {
	macros := map[string]string{}
	for _, m := range definedAs.FindAllStringSubmatch(text, -1) {
		macros[m[1]] = m[2]
	}
	functions := map[string]bool{}
	for _, m := range declared.FindAllStringSubmatch(text, -1) {
		functions[m[1]] = true
	}
	var found []instruction
	function, block, goesOn := "", 0, false
	eachLine(withoutComments(text), func(line string, offset, number int) {
		if goesOn || strings.HasPrefix(strings.TrimSpace(line), "#") {
			goesOn = strings.HasSuffix(line, `\`)
			block++ // what an #if may leave out is no neighbour
			return
		}
		for m := label.FindStringSubmatchIndex(line); m != nil; m = label.FindStringSubmatchIndex(line) {
			if name := line[m[2]:m[3]]; functions[name] {
				function = name
			}
			block++
			line, offset = line[m[1]:], offset+m[1]
		}
		if a == machine.AMD64 {
			line, _, _ = strings.Cut(line, "#")
		}
		for _, statement := range strings.SplitAfter(line, ";") {
			source := strings.TrimSpace(strings.TrimSuffix(statement, ";"))
			start := offset + strings.Index(statement, source)
			offset += len(statement)
			if source == "" || (strings.HasPrefix(source, ".") && !strings.HasPrefix(source, ".cfi_undefined")) ||
				strings.HasPrefix(source, `"`) {
				continue
			}
			i := instruction{
				arch: a, function: function, line: number, block: block, start: start, end: start + len(source),
			}
			i.parse(source)
			i.means = i.name
			if meaning := macros[i.name]; meaning != "" {
				i.means = meaning
			}
			found = append(found, i)
		}
	})
	return found
}

// quoted finds the instructions in the strings of a C source.
func quoted(a *machine.Arch, text string) []instruction {
	var found []instruction
	function, block := "", 0
	eachLine(withoutComments(text), func(line string, offset, number int) {
		if m := cFunction.FindStringSubmatch(line); m != nil {
			function = m[1]
		}
		m := literal.FindStringSubmatchIndex(line)
		if m == nil {
			block++
			return
		}
		source := strings.TrimRight(line[m[2]:m[3]], " ")
		i := instruction{
			arch: a, function: function, line: number, block: block, start: offset + m[2],
			end: offset + m[2] + len(source),
		}
		i.parse(source)
		i.means = i.name
		found = append(found, i)
	})
	return found
}
