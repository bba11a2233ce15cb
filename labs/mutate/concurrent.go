package mutate

import (
	"maps"
	"slices"
	"strings"
)

// Concurrent returns the mutants of C, and mutants with a fault of concurrent code. Such a fault weakens a memory order
// by one step, makes a loop look only once, takes another state or element of an array, or exchanges two neighbouring
// statements. others are the texts of the other files, in which enums are declared and functions of this one called.
func Concurrent(file, text string, others ...string) []Mutant {
	p := &cParser{file: file, text: text, tokens: tokensOf(text), concurrent: true, states: map[string]string{}}
	maps.Copy(p.states, statesOf(p.tokens))
	for _, other := range others {
		o := &cParser{text: other, tokens: tokensOf(other)}
		p.others = append(p.others, o)
		maps.Copy(p.states, statesOf(o.tokens))
	}
	p.functions(p.mutate)
	return numbered(p.mutants)
}

// statesOf returns, of each name of an enum that has a name itself, the next one.
func statesOf(tokens []token) map[string]string {
	next := map[string]string{}
	for at := 0; at+3 < len(tokens); at++ {
		if tokens[at].text != "enum" || tokens[at+1].kind != identifier || tokens[at+2].text != "{" {
			continue
		}
		var names []string
		for at += 3; at < len(tokens) && tokens[at].text != "}"; at++ {
			if before := tokens[at-1].text; tokens[at].kind == identifier && (before == "{" || before == ",") {
				names = append(names, tokens[at].text)
			}
		}
		for i, name := range names {
			next[name] = names[(i+1)%len(names)]
		}
	}
	return next
}

// simple reports whether the statement from first up to end is an expression.
func (p *cParser) simple(first, end int) bool {
	if !p.is(end-1, ";") || p.semicolon(first) != end-1 || p.declares(first, end-1) {
		return false
	}
	return !slices.Contains(
		[]string{";", "{", "return", "break", "continue", "goto", "do", "case", "default", "if", "while", "for", "switch"},
		p.tokens[first].text,
	)
}

// swap makes the mutant in which the statement from a up to b comes after the one from b up to end.
func (p *cParser) swap(a, b, end int) {
	one := p.text[p.tokens[a].start:p.tokens[b-1].end]
	between := p.text[p.tokens[b-1].end:p.tokens[b].start]
	other := p.text[p.tokens[b].start:p.tokens[end-1].end]
	if spaced(one) == spaced(other) {
		return
	}
	p.add(Swapped, a, end-1, p.tokens[a].start, p.tokens[end-1].end, other+between+one)
	m := &p.mutants[len(p.mutants)-1]
	m.Original, m.Changed = spaced(one), spaced(other)
}

// weaker are the memory orders that are one step weaker than an order.
var weaker = map[string][]string{
	"memory_order_seq_cst": {"memory_order_acq_rel"},
	"memory_order_acq_rel": {"memory_order_acquire", "memory_order_release"},
	"memory_order_acquire": {"memory_order_relaxed"},
	"memory_order_release": {"memory_order_relaxed"},
}

// weakened returns the orders that are one step weaker in a call of that name: a load only acquires, a store only
// releases.
func weakened(call, order string) []string {
	if order == "memory_order_seq_cst" {
		switch {
		case strings.HasPrefix(call, "atomic_load"):
			return []string{"memory_order_acquire"}
		case strings.HasPrefix(call, "atomic_store"):
			return []string{"memory_order_release"}
		}
	}
	return weaker[order]
}

// concurrency makes the mutants of the tokens from first to last that have a fault of concurrent code.
func (p *cParser) concurrency(first, last int) {
	call := "" // the atomic operation whose arguments come
	for at := first; at <= last; at++ {
		t := p.tokens[at]
		replace := func(kind Kind, becomes string) { p.add(kind, first, last, t.start, t.end, becomes) }
		switch {
		case t.kind == identifier && strings.HasPrefix(t.text, "atomic_") && p.is(at+1, "("):
			call = t.text
			p.unordered(first, last, at)
		case t.kind == identifier && weaker[t.text] != nil:
			for _, order := range weakened(call, t.text) {
				replace(Order, order)
			}
		case t.kind == identifier && p.states[t.text] != "" && !p.is(at-1, "enum"):
			replace(State, p.states[t.text])
		case t.text == "[" && at > first && at+1 < len(p.tokens) && !p.is(at+1, "]"):
			if before := p.tokens[at-1]; before.kind == identifier || before.text == "]" || before.text == ")" {
				end := p.closing(at)
				from, to := p.tokens[at+1].start, p.tokens[end-1].end
				p.add(Element, first, last, from, to, "("+p.text[from:to]+") + 1")
			}
		}
	}
}

// unordered makes the mutant of an atomic operation that names no order: it is sequentially consistent then.
func (p *cParser) unordered(first, last, at int) {
	name := p.tokens[at].text
	if strings.HasSuffix(name, "_explicit") || name == "atomic_init" || strings.HasSuffix(name, "_fence") {
		return
	}
	end := p.closing(at + 1)
	arguments := p.text[p.tokens[at+1].start:p.tokens[end].start]
	orders := ", " + weakened(name, "memory_order_seq_cst")[0]
	if strings.HasPrefix(name, "atomic_compare_exchange") {
		orders += ", memory_order_acquire"
	}
	p.add(Order, first, last, p.tokens[at].start, p.tokens[end].end, name+"_explicit"+arguments+orders+")")
}
