package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	listed = regexp.MustCompile(`(?m)^  ([a-z-]+) +\S`)           // a command in the help of another one
	flagIn = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)\b`) // a flag in the help of its command
	// a flag in the first column of a table of docs/commands.md
	flagOn = regexp.MustCompile("`--([a-z-]+)(?: [A-Z][A-Z:]*)?`")
	rowOf  = regexp.MustCompile("(?m)^\\| (`--[^|]*) \\|[^|]*\\|$") // the first column
)

// docs/commands.md has a section for each command, and in it exactly the flags of the command.
func TestCommandsPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/commands.md")
	require.NoError(t, err)
	sections := strings.Split(string(text), "\n## ")[1:]
	section := func(words []string) string {
		for _, s := range sections {
			heading, body, _ := strings.Cut(s, "\n")
			has := strings.FieldsFunc(heading, func(r rune) bool { return r == ' ' || r == ',' })
			if subset(words, has) {
				return body
			}
		}
		return ""
	}
	known := map[string]map[string]bool{} // by the text of a section, which may be of several commands

	commands := 0
	var visit func(path []string)
	visit = func(path []string) {
		help := run(t, append(path, "--help")...).stdout
		if _, list, found := strings.Cut(help, "Available Commands:\n"); found {
			list, _, _ = strings.Cut(list, "\n\n")
			for _, match := range listed.FindAllStringSubmatch(list, -1) {
				if match[1] != "help" && match[1] != "completion" {
					visit(append(append([]string(nil), path...), match[1]))
				}
			}
			if !strings.Contains(help, " [flags]\n") || !strings.Contains(help, "\nFlags:\n") || len(path) == 0 {
				return
			}
		}
		commands++
		body := section(append([]string{"fiberlab"}, path...))
		if !assert.NotEmpty(t, body, "fiberlab %s has no section", strings.Join(path, " ")) {
			return
		}
		if known[body] == nil {
			known[body] = map[string]bool{}
		}
		for _, match := range flagIn.FindAllStringSubmatch(help, -1) {
			if match[1] == "help" {
				continue
			}
			known[body][match[1]] = true
			assert.Contains(t, body, "`--"+match[1], "fiberlab %s", strings.Join(path, " "))
		}
	}
	visit(nil)
	require.Greater(t, commands, 8)

	for body, flags := range known {
		for _, row := range rowOf.FindAllStringSubmatch(body, -1) {
			for _, match := range flagOn.FindAllStringSubmatch(row[1], -1) {
				assert.True(t, flags[match[1]], "docs/commands.md has a flag --%s that no command has", match[1])
			}
		}
	}
}

// subset reports whether each of the words is in the list.
func subset(words, list []string) bool {
	for _, word := range words {
		found := false
		for _, other := range list {
			found = found || word == other
		}
		if !found {
			return false
		}
	}
	return true
}
