package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fiberlab/fiber"
	"fiberlab/sched"
)

// remedies says for each flag that takes a value which values there are.
var remedies = map[string]string{
	"workers": fmt.Sprintf("give a number from 0 to %d; with 0 the calling thread runs all tasks", mostWorkers),
	"rounds":  "give a number from 1 up",
	"backend": "choose one of " + strings.Join(backendNames(), ", "),
	"policy":  "choose one of " + strings.Join(policyNames(), ", "),
	"trace":   "name a file, or leave the flag out",

	"timeline": "name a file, or leave the flag out",
	"mode":     "choose one of " + strings.Join(modeNames(), ", "),

	"spinners":   fmt.Sprintf("give a number from 0 to %d; with 0 an idle worker sleeps at once", mostWorkers),
	"group-size": fmt.Sprintf("give a number from 1 to %d", sched.GroupSize),
}

// remedy says what to do about a wrong value of the flag.
func remedy(flag *pflag.Flag) string {
	if own := flag.Annotations[remedyOf]; own != nil {
		return own[0]
	}
	if text, ok := remedies[flag.Name]; ok {
		return text
	}
	return "it takes no value: leave it out or give it alone"
}

// flagError says in one line which flag of c is wrong, with which value, and what to do.
func flagError(c *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &value):
		return wrongValue(value.GetFlag(), value.GetValue())
	case errors.As(err, &missing):
		return fmt.Errorf("--%s has no value: %s", missing.GetFlag().Name, remedy(missing.GetFlag()))
	case errors.As(err, &unknown):
		return fmt.Errorf("%w: %s --help lists the flags", err, c.CommandPath())
	}
	return err
}

// wrongValue is the error of a flag that was given that value.
func wrongValue(flag *pflag.Flag, value string) error {
	if value == "" || strings.ContainsAny(value, " \t\n") {
		value = fmt.Sprintf("%q", value)
	}
	return fmt.Errorf("--%s %s: %s", flag.Name, value, remedy(flag))
}

// notBoth is an error if both flags were given.
func notBoth(c *cobra.Command, one, other, why string) error {
	if c.Flags().Changed(one) && c.Flags().Changed(other) {
		return fmt.Errorf("--%s and --%s: %s: leave one out", one, other, why)
	}
	return nil
}

// checkEnvironment fails if FIBERLAB_BACKEND names no backend.
func checkEnvironment() error {
	_, err := fiber.Default.Resolve()
	return err
}

// parseNames returns what parse makes of each of the flag's names, each value once.
func parseNames[T comparable](flag *pflag.Flag, names []string, parse func(string) (T, error)) ([]T, error) {
	if len(names) == 0 || slices.Contains(names, "") {
		return nil, wrongValue(flag, "")
	}
	var values []T
	for _, name := range names {
		v, err := parse(name)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", flag.Name, err)
		}
		if !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values, nil
}
