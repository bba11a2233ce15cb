package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"fiberlab/bench"
	"fiberlab/bench/predict"
)

func (l *lab) predictCommand() *cobra.Command {
	r := benchRequest{}
	var file string
	c := &cobra.Command{
		Use:   "predict",
		Short: "Guess what a switch costs, then measure it",
		Long: `Asks what a switch costs by each mechanism, measures it, and shows each guess beside the figure and by which
factor it was off. A guess is a number of nanoseconds, or a number and ns, us, ms or s. An empty line is no guess; the
end of input (Ctrl-D) ends the questions.

--guesses FILE reads the guesses: a line each, a mechanism and a time, such as "threads 2 us"; a # begins a comment.
If FILE is a folder, it has the guesses of a class, a file for each person. With --report DIR all stand in one plot.

Exit status: 0 it was measured; 1 it failed; 2 the command line or a guess is wrong; 130 interrupted.`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := notEmpty(c, "guesses", "report"); err != nil {
				return err
			}
			people, err := l.guesses(c.Context(), file)
			if err != nil {
				return err
			}
			r.bench.Workloads = []bench.Workload{bench.Switch()}
			return l.measured(c.Context(), r, func(w io.Writer, found *bench.Report) ([]predict.Compared, error) {
				all := predict.Compare(found.Groups[0].Rows, people)
				if len(all) == 0 {
					return nil, errors.New("this machine lacks each mechanism that was guessed: fiberlab bench lists them")
				}
				p := &page{screen: screenOf(w)}
				writePrediction(p, found, all, len(people) > 1)
				return all, p.writeTo(w)
			})
		},
	}
	addBenchFlags(c, &r.options)
	c.Flags().StringVar(&file, "guesses", "", "read the guesses from `FILE`, or those of a class from a folder of files")
	setRemedy(c.Flags().Lookup("guesses"), "name a file or a folder, or leave the flag out to be asked")
	addReportFlag(c, &r.report)
	return c
}

// guesses reads the guesses from a file or a folder, or asks for them, until ctx is done, if none is named.
func (l *lab) guesses(ctx context.Context, file string) ([]predict.Guesses, error) {
	if file != "" {
		return predict.Read(file, bench.Mechanisms())
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil, errors.New("predict: standard input is no terminal to ask at: --guesses FILE reads the guesses")
	}
	fmt.Fprintln(l.stderr, "What does a switch cost? Give nanoseconds, or a number and us or ms; nothing is no guess.")
	var one predict.Guesses
	failed := make(chan error, 1)
	go func() {
		var err error
		one, err = predict.Ask(os.Stdin, l.stderr, bench.Mechanisms())
		failed <- err
	}()
	select {
	case err := <-failed:
		if err != nil {
			return nil, fmt.Errorf("predict: %w", err)
		}
		return []predict.Guesses{one}, nil
	case <-ctx.Done(): // and the goroutine waits for a line until the process ends
		fmt.Fprintln(l.stderr)
		return nil, context.Cause(ctx)
	}
}

func writePrediction(p *page, found *bench.Report, all []predict.Compared, class bool) {
	p.say("%s", describe(found.Machine))
	if found.Machine.Emulated {
		p.say("%s", emulated)
	}
	if found.Stopped {
		p.say("Interrupted: this is what had been measured.")
	}
	costs := newGrid("mechanism", "guess", "measured", "95 % interval", "the guess is")
	title := "Nanoseconds a switch: your guesses, and medians of %d samples"
	if class {
		costs.head[1], costs.head[4] = "middle guess", "the middle guess is"
		title = "Nanoseconds a switch: the guesses of the class, and medians of %d samples"
	}
	for _, c := range all {
		middle := c.Middle()
		costs.add(c.Name, bench.Figure(middle), bench.Figure(c.Median), bench.Span(c.Low, c.High, ""),
			c.Verdict(middle))
	}
	p.table(costs, title, found.Groups[0].Rounds)
}
