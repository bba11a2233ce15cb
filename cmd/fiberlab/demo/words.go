package demo

import (
	"fmt"
	"strings"
)

// words tells the turns in sentences: one for all turns that a thread has without a break.
func (v *Interleaving) words() []string {
	var sentences []string
	for first := 0; first < len(v.Turns); {
		end := first
		var deeds []string
		for end < len(v.Turns) && v.Turns[end].Thread == v.Turns[first].Thread {
			deeds = append(deeds, v.Turns[end].words())
			end++
		}
		when := fmt.Sprintf("Step %d", first+1)
		if end > first+1 {
			when = fmt.Sprintf("Steps %d to %d", first+1, end)
		}
		sentences = append(sentences, fmt.Sprintf("%s: %s %s.", when, v.Turns[first].Thread, enumerate(deeds)))
		first = end
	}
	return sentences
}

// words says what the thread does in its turn, and by which line.
func (t Turn) words() string {
	s, _ := statementOf(t.Text)
	text, notes := s.words, t.Notes
	switch {
	case t.Waits:
		text = "cannot take the lock"
	case t.Relocks:
		text, notes = "takes the lock again", nil
	case t.Finds != "":
		text, notes = "finds "+t.Finds, nil
	case strings.HasPrefix(t.Text, "wait("):
		notes = nil
	}
	text += fmt.Sprintf(" (line %d", t.Line)
	for _, note := range notes {
		text += "; " + note
	}
	for _, name := range t.Wakes {
		text += "; " + name + " wakes up"
	}
	return text + ")"
}

// enumerate lists deeds as English does.
func enumerate(deeds []string) string {
	last := len(deeds) - 1
	if last == 0 {
		return deeds[0]
	}
	return strings.Join(deeds[:last], ", ") + " and " + deeds[last]
}
