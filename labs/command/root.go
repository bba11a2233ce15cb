package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"fiberlab/labs/step"
)

// Execute does what args say by root, the command of a program with other commands below it. A word that is no command
// is an error, after `help` and `completion` too, and so is output that cannot be written. Help is folded to the
// terminal's width, or to 100 columns.
func Execute(ctx context.Context, root *cobra.Command, stdout, stderr io.Writer, args []string) error {
	out := &output{Writer: stdout}
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	root.SetHelpCommand(helpCommand())
	root.InitDefaultCompletionCmd(args...)
	columns := Widest
	if s := step.ScreenOf(stdout); s.Terminal {
		columns = min(columns, s.Columns)
	}
	root.SetUsageTemplate(
		strings.ReplaceAll(root.UsageTemplate(), "FlagUsages", fmt.Sprintf("FlagUsagesWrapped %d", columns)),
	)
	each(root, func(c *cobra.Command) {
		c.Long = Fold(c.Long, columns)
		if c.HasSubCommands() && !c.Runnable() { // it only holds others: alone it prints its help
			c.Args = KnownCommand
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	})
	if err := root.ExecuteContext(ctx); err != nil {
		return err
	}
	return out.err
}

// KnownCommand refuses a word that is no command of c, and names the commands that look like it. It is nil if there is
// no word.
func KnownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	remedy := c.CommandPath() + " --help lists the commands"
	c.SuggestionsMinimumDistance = 2
	if like := c.SuggestionsFor(args[0]); len(like) > 0 {
		remedy = "is " + strings.Join(like, " or ") + " meant?"
	}
	return fmt.Errorf("%q is no command: %s", args[0], remedy)
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print the help of a command",
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if about, rest, err := c.Root().Find(args); err == nil && len(rest) == 0 {
				for _, below := range about.Commands() {
					if below.IsAvailableCommand() {
						names = append(names, below.Name()+"\t"+below.Short)
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return KnownCommand(about, rest)
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// each calls f with c and all commands below it.
func each(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, below := range c.Commands() {
		each(below, f)
	}
}

// Fold breaks lines between words, so that none is longer than so many columns. A paragraph that begins with four
// spaces stays as it is, as in a comment of Go.
func Fold(paragraphs string, columns int) string {
	var folded []string
	for _, paragraph := range strings.Split(paragraphs, "\n\n") {
		if !strings.HasPrefix(paragraph, "    ") {
			paragraph = text.WrapSoft(paragraph, columns)
		}
		folded = append(folded, paragraph)
	}
	lines := strings.Split(strings.Join(folded, "\n\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ") // which the library adds
	}
	return strings.Join(lines, "\n")
}

// output keeps the first error of a writer.
type output struct {
	io.Writer
	err error
}

// Write writes p, and keeps the error, for callers that drop it.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}
