package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"fiberlab/bench"
	"fiberlab/bench/predict"
	benchreport "fiberlab/bench/report"
)

// prediction is a command line of predict.
type prediction struct {
	options
	guesses, class, report string
}

func (l *lab) predictCommand() *cobra.Command {
	var p prediction
	c := &cobra.Command{
		Use:   "predict",
		Short: "Guess what a switch costs, then measure it",
		Long: `Asks what a switch costs by each mechanism, measures it, and shows each guess beside the figure and by which
factor it was off. A guess is a number of nanoseconds, or a number and ns, us, ms or s. An empty line is no guess; the
end of input (Ctrl-D) ends the questions.

--guesses FILE reads the guesses: a line each, a mechanism and a time, such as "threads 2 us"; a # begins a comment.
--class DIR reads a file for each person, whose name is the file's without its extension, and shows all in one plot with
--report DIR.

Exit status: 0 it was measured; 1 it failed; 2 the command line or a guess is wrong; 130 interrupted.`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := notBoth(c, "guesses", "class", "both say where the guesses are"); err != nil {
				return err
			}
			if err := notEmpty(c, "guesses", "class", "report"); err != nil {
				return err
			}
			people, err := l.guesses(&p)
			if err != nil {
				return err
			}
			return l.predict(c.Context(), &p, people)
		},
	}
	addBenchFlags(c, &p.options)
	flags := c.Flags()
	flags.StringVar(&p.guesses, "guesses", "", "read the guesses from `FILE`")
	setRemedy(flags.Lookup("guesses"), "name a file, or leave the flag out to be asked")
	addFolderFlag(c, &p.class, "class", "read the guesses of a class, a file for each person, from `DIR`",
		"name a folder with a file for each person")
	addReportFlag(c, &p.report)
	return c
}

// guesses reads or asks for the guesses.
func (l *lab) guesses(p *prediction) ([]predict.Guesses, error) {
	switch {
	case p.class != "":
		return predict.ReadClass(p.class, bench.Mechanisms())
	case p.guesses != "":
		one, err := predict.ReadFile(p.guesses, bench.Mechanisms())
		return []predict.Guesses{one}, err
	case !term.IsTerminal(int(os.Stdin.Fd())):
		return nil, errors.New("predict: standard input is no terminal to ask at: --guesses FILE reads the guesses")
	}
	fmt.Fprintln(l.stderr, "What does a switch cost? Give nanoseconds, or a number and us or ms; nothing is no guess.")
	one, err := predict.Ask(os.Stdin, l.stderr, bench.Mechanisms())
	if err != nil {
		return nil, fmt.Errorf("predict: %w", err)
	}
	return []predict.Guesses{one}, nil
}

// predict measures, and lays the guesses beside the figures.
func (l *lab) predict(ctx context.Context, p *prediction, people []predict.Guesses) error {
	if err := makeFolder(p.report); err != nil {
		return failure{err}
	}
	p.bench.Workloads = []bench.Workload{bench.Switch()}
	p.bench.Seed = uint64(time.Now().UnixNano()) % 1e9
	found, err := measure(ctx, p.bench, newProgress(l.stderr, false))
	if err = errors.Join(err, release()); err != nil {
		return failure{err}
	}
	all := predict.Compare(found.Groups[0].Rows, people)
	if len(all) == 0 {
		return failure{errors.New("predict: this machine lacks each mechanism that was guessed: fiberlab bench lists them")}
	}
	err = l.writePrediction(found, all, len(people) > 1)
	if p.report != "" {
		err = errors.Join(err, l.made(p.report, benchreport.Write(p.report, found, all...)))
	}
	if err != nil {
		return failure{err}
	}
	return nil
}

func (l *lab) writePrediction(found *bench.Report, all []predict.Compared, class bool) error {
	p := &page{screen: screenOf(l.stdout)}
	p.say("%s", describe(found.Machine))
	if found.Machine.Emulated {
		p.say("Emulated: times are those of an emulator and mean nothing.")
	}
	costs := newGrid("mechanism", "guess", "measured", "95 % interval", "the guess is")
	title := "Nanoseconds a switch: your guesses, and medians of %d samples"
	if class {
		costs.head[1], costs.head[4] = "middle guess", "the middle guess is"
		title = "Nanoseconds a switch: the guesses of the class, and medians of %d samples"
	}
	for _, c := range all {
		middle := c.Middle()
		costs.add(c.Name, bench.Figure(middle.Guess), bench.Figure(c.Median), bench.Span(c.Low, c.High, ""),
			c.Verdict(middle))
	}
	p.table(costs, title, found.Groups[0].Rounds)
	_, err := io.WriteString(l.stdout, p.text.String())
	return err
}
