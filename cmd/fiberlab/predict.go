package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
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

// predicted is the document of predict --json.
type predicted struct {
	Machine   bench.Machine      `json:"machine"`
	Seed      uint64             `json:"seed"`
	Predicted []predict.Compared `json:"predicted"`
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
			for _, name := range []string{"guesses", "class", "report"} {
				if flag := c.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
					return wrongValue(flag, "")
				}
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
	flags.StringVar(&p.class, "class", "", "read the guesses of a class, a file for each person, from `DIR`")
	setRemedy(flags.Lookup("guesses"), "name a file, or leave the flag out to be asked")
	setRemedy(flags.Lookup("class"), "name a folder with a file for each person")
	addReportFlag(c, &p.report)
	if err := c.MarkFlagDirname("class"); err != nil {
		panic(err)
	}
	return c
}

// questions are what predict asks for: the rows of the workload that it measures.
func questions() (all []predict.Question) {
	for _, m := range bench.Mechanisms() {
		all = append(all, predict.Question{Name: m.Name, Text: m.Says})
	}
	return all
}

// guesses reads or asks for the guesses.
func (l *lab) guesses(p *prediction) ([]predict.Guesses, error) {
	switch {
	case p.class != "":
		return predict.ReadClass(p.class, questions())
	case p.guesses != "":
		one, err := predict.ReadFile(p.guesses, questions())
		return []predict.Guesses{one}, err
	case !term.IsTerminal(int(os.Stdin.Fd())):
		return nil, errors.New("predict: standard input is no terminal to ask at: --guesses FILE reads the guesses")
	}
	fmt.Fprintln(l.stderr, "What does a switch cost? Give nanoseconds, or a number and us or ms; nothing is no guess.")
	one, err := predict.Ask(os.Stdin, l.stderr, questions())
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
	found, err := measure(ctx, p.bench, newProgress(l.stderr, p.json))
	if err = errors.Join(err, release()); err != nil {
		return failure{err}
	}
	all := predict.Compare(found.Groups[0].Rows, people)
	if len(all) == 0 {
		return failure{errors.New("predict: this machine lacks each mechanism that was guessed: fiberlab bench lists them")}
	}
	if p.json {
		e := json.NewEncoder(l.stdout)
		e.SetIndent("", " ")
		err = e.Encode(predicted{found.Machine, found.Seed, all})
	} else {
		err = l.writePrediction(found, all, people)
	}
	if p.report != "" {
		err = errors.Join(err, l.made(p.report, benchreport.Write(p.report, found, all...)))
	}
	if err != nil {
		return failure{err}
	}
	return nil
}

func (l *lab) writePrediction(found *bench.Report, all []predict.Compared, people []predict.Guesses) error {
	p := &page{screen: screenOf(l.stdout)}
	p.say("%s", describe(found.Machine))
	if found.Machine.Emulated {
		p.say("Emulated: times are those of an emulator and mean nothing.")
	}
	costs := newGrid("mechanism", "guess", "measured", "95 % interval", "the guess is")
	title := "Nanoseconds a switch: your guesses, and medians of %d samples"
	if len(people) > 1 {
		costs.head[1], costs.head[4] = "middle guess", "the middle guess is"
		title = "Nanoseconds a switch: the guesses of the class, and medians of %d samples"
	}
	for _, c := range all {
		middle := c.Middle()
		costs.add(c.Name, bench.Figure(middle.Guess), bench.Figure(c.Median), bench.Span(c.Low, c.High, ""),
			c.Verdict(middle))
	}
	p.table(costs, title, found.Groups[0].Rounds)
	if len(people) > 1 {
		persons := newGrid("who", "guesses", "off by, on average")
		for _, g := range people {
			off := "none was measured"
			if mean := predict.MeanOff(all, g.By); !math.IsNaN(mean) {
				off = bench.Figure(mean)
			}
			persons.add(g.By, thousands(len(g.Costs)), off)
		}
		p.table(persons, "By which factor, at least 1, each person was off: the geometric mean")
	} else {
		p.say("On average your guesses are off by a factor of %s (the geometric mean).",
			bench.Figure(predict.MeanOff(all, people[0].By)))
	}
	_, err := io.WriteString(l.stdout, p.text.String())
	return err
}
