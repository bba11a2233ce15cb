package demo

// Interleaving is one execution of a program: which thread ran which line, one after the other, and how it ended.
type Interleaving struct {
	Turns []Turn   `json:"turns"`
	Fault *Fault   `json:"fault,omitempty"` // nil: all threads have come to their end
	Words []string `json:"words"`           // the turns in sentences
}

// Turn is a line that a thread has run or, if it Waits, would have run if it could.
type Turn struct {
	Thread  string   `json:"thread"`
	Line    int      `json:"line"`
	Text    string   `json:"text"`              // of the line
	Relocks bool     `json:"relocks,omitempty"` // the thread was woken in the line and takes the lock again
	Waits   bool     `json:"waits,omitempty"`   // the turn had no effect, as Notes say
	Finds   string   `json:"finds,omitempty"`   // what the thread finds by the condition of the line
	Notes   []string `json:"notes,omitempty"`   // what came of it
	Wakes   []string `json:"wakes,omitempty"`   // threads that it woke
}

// Schedule lists the threads in the order of their turns. A turn without effect counts.
func (v *Interleaving) Schedule() []string {
	var names []string
	for _, t := range v.Turns {
		names = append(names, t.Thread)
	}
	return names
}

// Switches is how often a turn was another thread's than the turn before.
func (v *Interleaving) Switches() int {
	n := 0
	for i := range v.Turns[min(1, len(v.Turns)):] {
		if v.Turns[i].Thread != v.Turns[i+1].Thread {
			n++
		}
	}
	return n
}

// shorter reports whether v has fewer turns than other, or as many and fewer switches.
func (v *Interleaving) shorter(other *Interleaving) bool {
	if len(v.Turns) != len(other.Turns) {
		return len(v.Turns) < len(other.Turns)
	}
	return v.Switches() < other.Switches()
}
