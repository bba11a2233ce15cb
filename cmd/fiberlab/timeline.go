package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fiberlab/sched/trace/timeline"
)

func (l *lab) timelineCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "timeline FILE",
		Short: "Make a page for browsers of a recorded run",
		Long: `Makes a page of the trace in FILE, which fiberlab run --trace FILE has written as JSON: workers, fibers and
tasks over time, arrows from each notification to where the fiber went on, steals and migrations. The page
needs no network. It can be zoomed and searched, and sums up where the time of a span went. It is FILE with the
extension html.

Exit status: 0 the page was made; 1 it could not be read or written; 2 the command line is wrong.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return fmt.Errorf("%d files: name one that fiberlab run --trace FILE.json has written", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(_ *cobra.Command, args []string) error {
			file := args[0]
			page := strings.TrimSuffix(file, filepath.Ext(file)) + ".html"
			if page == file {
				return fmt.Errorf("%s: its page would have that name: rename it to FILE.json", file)
			}
			if err := makeTimeline(file, page); err != nil {
				return failure{err}
			}
			_, err := fmt.Fprintf(l.stdout, "%s: open it in a browser\n", page)
			return err
		},
	}
}

// makeTimeline writes the page of the trace in a file. If that is no trace, it makes no page, and leaves an earlier one
// as it is.
func makeTimeline(file, page string) error {
	recorded, err := os.ReadFile(file)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: fiberlab run --trace %s writes it", err, file)
		}
		return err
	}
	var made bytes.Buffer
	if err := timeline.Write(&made, filepath.Base(file), recorded); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(page, made.Bytes(), 0o644)
}
