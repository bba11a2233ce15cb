package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A submission may include its own files and the system's headers. Where there is Landlock, the compiler cannot read
// others anyway; here they are found and named.

// foreignFile returns the first file among names, as a compiler run in dir knows them, that is neither of the
// submission nor of the system; or "".
func (c *compiler) foreignFile(dir, work string, names []string) string {
	for _, name := range names {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		path = realPath(path)
		mine := func(folder string) bool { return strings.HasPrefix(path, folder+"/") }
		if !slices.ContainsFunc(append([]string{realPath(dir), realPath(work)}, c.headers...), mine) {
			return name
		}
	}
	return ""
}

// dependencies reads the files that a compiler wrote for make: "object: file file \" and so on. A file that does not
// exist names none.
func dependencies(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	_, list, _ := strings.Cut(string(text), ": ")
	list = strings.ReplaceAll(list, "\\\n", " ")
	var names []string
	for _, word := range strings.Fields(strings.ReplaceAll(list, `\ `, "\x00")) {
		if !strings.HasSuffix(word, ":") {
			names = append(names, strings.ReplaceAll(word, "\x00", " "))
		}
	}
	return names
}

// What compilers and assemblers say of a file that they cannot read.
var unreadable = []*regexp.Regexp{
	regexp.MustCompile(`fatal error: (.+): Permission denied`),
	regexp.MustCompile(`Error: can't open (.+) for reading: Permission denied`),
	regexp.MustCompile(`Error: file not found: (/.+)`),
}

// incbin is the directive whose file clang's assembler does not tell.
var incbin = regexp.MustCompile(`\.incbin\b`)

func includes(source string, line int, name string) *BuildError {
	return &BuildError{File: source, Line: line, Text: fmt.Sprintf("includes %s: hand in your own files", name)}
}
