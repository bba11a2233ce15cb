package demo

import (
	"fmt"
	"slices"
	"strings"
)

// FaultKind is a way in which a little program goes wrong.
type FaultKind string

// What is found when a program has gone wrong. A Misuse is a mistake of the program's text, such as giving back a lock
// that is not held.
const (
	NeverWoken FaultKind = "never woken"
	Negative   FaultKind = "a number below 0"
	RunTwice   FaultKind = "run twice"
	WaitCycle  FaultKind = "cycle of waits"
	Stuck      FaultKind = "stuck"
	NoEnd      FaultKind = "no end"
	Misuse     FaultKind = "misuse"
)

// Fault is how an execution went wrong, as the controller found it.
type Fault struct {
	Kind  FaultKind `json:"kind"`
	Text  string    `json:"text"`            // in whole sentences
	Waits []Held    `json:"waits,omitempty"` // of the threads that can never go on
	// threads, each of which waits for the next one and the last one for the first
	Cycle []string `json:"cycle,omitempty"`
}

// Held is a thread that can never go on, and what it waits for.
type Held struct {
	Thread string `json:"thread"`
	Line   int    `json:"line"`
	For    string `json:"for"`
	On     string `json:"on,omitempty"` // the thread by which alone that could come, or "no thread"; empty: any thread

	says string // For and On, in a sentence
}

// fail ends the execution with a fault, unless there is one already.
func (e *execution) fail(kind FaultKind, text string) {
	if e.result.Fault == nil && !e.over {
		e.result.Fault = &Fault{Kind: kind, Text: text}
	}
}

// judgeEnd looks at the threads when none can go on. If some have not ended, that is a fault.
func (e *execution) judgeEnd() {
	f := Fault{}
	for _, t := range e.threads {
		if !t.ended {
			f.Waits = append(f.Waits, t.held())
			e.pass(t)
		}
	}
	if len(f.Waits) == 0 {
		return
	}
	var sentences []string
	for _, h := range f.Waits {
		sentences = append(sentences, h.says)
	}
	f.Cycle = cycle(f.Waits)
	asleep := slices.IndexFunc(e.threads, func(t *thread) bool { return t.asleep != "" })
	switch {
	case len(f.Cycle) == 1:
		f.Kind = WaitCycle
		sentences = append(sentences, "So it waits for itself.")
	case len(f.Cycle) > 1:
		f.Kind = WaitCycle
		sentences = append(
			sentences,
			"So each waits for the other: "+strings.Join(append(slices.Clone(f.Cycle), f.Cycle[0]), " -> ")+".",
		)
	case asleep >= 0:
		f.Kind = NeverWoken
		sentences = append(sentences, e.lostSignal(e.threads[asleep].asleep), "No thread is left that could wake it.")
	default:
		f.Kind = Stuck
	}
	f.Text = strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " ")
	e.result.Fault = &f
}

// held describes what a thread waits for that can never go on.
func (t *thread) held() Held {
	h := Held{Thread: t.name, Line: t.section.Lines[t.at].Number}
	switch {
	case t.asleep != "":
		h.For = "a signal of " + t.asleep
		h.says = fmt.Sprintf("%s sleeps in line %d until there is a signal.", t.name, h.Line)
	case t.awaits != nil:
		h.For = "the result of the " + t.awaits.name
		h.On = t.run.whoRuns(t, t.awaits)
		h.says = fmt.Sprintf("%s waits in line %d for the result of the %s", t.name, h.Line, t.awaits.name)
		if t.awaits.taker == nil {
			h.says += fmt.Sprintf(". That is still in the queue, and %s would have to take it.", h.On)
		} else {
			h.says += fmt.Sprintf(", which %s has taken.", h.On)
		}
	default:
		h.For, h.On = "the lock", t.run.holder.name
		h.says = fmt.Sprintf("%s wants the lock in line %d, and %s holds it.", t.name, h.Line, h.On)
	}
	return h
}

// whoRuns names the thread that has the task or, if it is still in the queue, one beside t that has not ended.
func (e *execution) whoRuns(t *thread, task *littleTask) string {
	if task.taker != nil {
		return task.taker.name
	}
	for _, other := range e.threads {
		if other != t && !other.ended {
			return other.name
		}
	}
	return "no thread"
}

// lostSignal is a sentence about the last signal of that condition that woke no thread, if there was one.
func (e *execution) lostSignal(condition string) string {
	for i, turn := range slices.Backward(e.result.Turns) {
		if len(turn.Wakes) == 0 && (turn.Text == "signal("+condition+")" || turn.Text == "broadcast("+condition+")") {
			return fmt.Sprintf(
				"The signal of step %d came while no thread slept. A condition keeps nothing, so it was lost.", i+1,
			)
		}
	}
	return ""
}

// cycle follows the waits from thread to thread until one comes again, and returns the threads from there on, or
// nil if there is no cycle.
func cycle(waits []Held) []string {
	next := make(map[string]string)
	for _, h := range waits {
		next[h.Thread] = h.On
	}
	for _, h := range waits {
		var way []string
		for name := h.Thread; name != ""; name = next[name] {
			if i := slices.Index(way, name); i >= 0 {
				return way[i:]
			}
			way = append(way, name)
		}
	}
	return nil
}
