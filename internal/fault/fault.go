// Package fault makes errors that are special cases of others.
package fault

import _ "fiberlab/internal/platform"

// Of returns a value that errors.Is takes for general as well as for itself. Its text is its own, so that it can name
// the remedy that fits the case.
func Of(general error, text string) error { return &special{text, general} }

type special struct {
	text    string
	general error
}

func (s *special) Error() string { return s.text }
func (s *special) Unwrap() error { return s.general }
