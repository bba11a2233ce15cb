package command_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"fiberlab/labs/command"
)

// program is a program with a command and a group of commands.
func program() *cobra.Command {
	root := &cobra.Command{Use: "program", Short: "A program", Version: "1"}
	group := &cobra.Command{Use: "group", Short: "A group"}
	group.AddCommand(&cobra.Command{
		Use: "inner", Long: strings.Repeat("word ", 100), RunE: func(*cobra.Command, []string) error { return nil },
	})
	root.AddCommand(group, &cobra.Command{Use: "work", RunE: func(c *cobra.Command, _ []string) error {
		_, err := io.WriteString(c.OutOrStdout(), "done\n")
		return err
	}})
	return root
}

func TestExecute(t *testing.T) {
	for line, want := range map[string]string{
		"nosuch":            `"nosuch" is no command: program --help lists the commands`,
		"wrok":              `"wrok" is no command: is work meant?`,
		"help nosuch":       `"nosuch" is no command: program --help lists the commands`,
		"help group nosuch": `"nosuch" is no command: program group --help lists the commands`,
		"group nosuch":      `"nosuch" is no command: program group --help lists the commands`,
		"completion foo":    `"foo" is no command: program completion --help lists the commands`,
	} {
		var out bytes.Buffer
		require.EqualError(
			t, command.Execute(t.Context(), program(), &out, io.Discard, strings.Fields(line)), want, line,
		)
		require.Empty(t, out.String(), line)
	}
	for line, want := range map[string]string{
		"":                  "A program\n\nUsage:\n  program [flags]\n",
		"help":              "A program\n\nUsage:\n",
		"help group":        "A group\n\nUsage:\n",
		"group":             "A group\n\nUsage:\n",
		"help group inner":  "word word word",
		"work":              "done\n",
		"completion":        "Generate the autocompletion script",
		"completion bash":   "# bash completion",
		"__complete help ":  "completion\tGenerate",
		"__complete group ": "inner",
	} {
		var out bytes.Buffer
		args := strings.Fields(line)
		if strings.HasSuffix(line, " ") {
			args = append(args, "")
		}
		require.NoError(t, command.Execute(t.Context(), program(), &out, io.Discard, args), line)
		require.Contains(t, out.String(), want, line)
		if !strings.HasPrefix(line, "completion bash") {
			for text := range strings.Lines(out.String()) {
				require.LessOrEqual(t, len(text), command.Widest+1, line)
			}
		}
	}
}

// full is a device without room.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

// Output that is lost is an error, of help and of the version too.
func TestLostOutput(t *testing.T) {
	for _, line := range []string{
		"", "--help", "--version", "help group", "group", "group inner --help", "work", "completion fish",
	} {
		require.ErrorIs(
			t, command.Execute(t.Context(), program(), full{}, io.Discard, strings.Fields(line)), errFull, line,
		)
	}
}
