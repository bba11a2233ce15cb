package mutate

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fiberlab/labs/machine"
)

// C returns mutants of a C source that differ from it in one statement of a function. The statement is missing, a
// number, a comparison or a sum in it is another one, or two arguments of a call are exchanged. Declarations,
// preprocessor lines and assembly stay as they are, whichever architecture they are for. Some mutants may not compile,
// and some compile to the same code.
func C(file, text string) []Mutant {
	p := &cParser{file: file, text: text, tokens: tokensOf(text)}
	p.functions(p.mutate)
	return numbered(p.mutants)
}

// token is a word, a number, a string or an operator of a C source.
type token struct {
	kind       tokenKind
	text       string
	start, end int // where it stands
}

type tokenKind int

const (
	identifier tokenKind = iota
	numeric
	quotedText
	punctuation
)

var cToken = regexp.MustCompile(
	`^(?:([A-Za-z_]\w*)|(\d[\w.]*)|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|` +
		`(<<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\S))`,
)

// tokensOf takes a source apart. Comments and preprocessor lines are left out.
func tokensOf(text string) []token {
	bare := []byte(withoutComments(text))
	goesOn := false
	eachLine(string(bare), func(line string, offset, _ int) {
		if goesOn || strings.HasPrefix(strings.TrimSpace(line), "#") {
			goesOn = strings.HasSuffix(line, `\`)
			for i := range line {
				bare[offset+i] = ' '
			}
		}
	})
	var tokens []token
	for at := 0; at < len(bare); {
		if strings.IndexByte(" \t\n\r", bare[at]) >= 0 {
			at++
			continue
		}
		m := cToken.FindSubmatchIndex(bare[at:])
		if m == nil {
			at++
			continue
		}
		for kind := range 4 {
			if m[2+2*kind] >= 0 {
				tokens = append(tokens, token{tokenKind(kind), string(bare[at : at+m[1]]), at, at + m[1]})
			}
		}
		at += m[1]
	}
	return tokens
}

// cParser finds the statements of a source.
type cParser struct {
	file, text string
	tokens     []token
	function   string
	mutants    []Mutant
	concurrent bool              // the faults of concurrent code, too
	states     map[string]string // of a name of an enum, the next one
	body       int               // of the function: its opening brace
	others     []*cParser        // other sources, in which the function may be called
}

func (p *cParser) is(at int, text string) bool {
	return at < len(p.tokens) && p.tokens[at].text == text
}

// closing returns the token that closes the bracket at at, or the last one.
func (p *cParser) closing(at int) int {
	depth := 0
	for ; at < len(p.tokens); at++ {
		switch p.tokens[at].text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth == 0 {
				return at
			}
		}
	}
	return len(p.tokens) - 1
}

// functions calls see with the name of each function, and its opening brace.
func (p *cParser) functions(see func(name string, at int)) {
	name := ""
	for at := 0; at < len(p.tokens); at++ {
		switch p.tokens[at].text {
		case "(":
			if name == "" && at > 0 && p.tokens[at-1].kind == identifier {
				name = p.tokens[at-1].text
			}
			at = p.closing(at)
		case ";", "=":
			name = ""
		case "{":
			if name != "" && p.is(at-1, ")") {
				see(name, at)
			}
			name = ""
			at = p.closing(at)
		}
	}
}

// mutate makes the mutants of a function.
func (p *cParser) mutate(name string, at int) {
	p.function, p.body = name, at
	p.block(at)
}

// callers returns the functions that call the one of that name.
func (p *cParser) callers(called string) (names []string) {
	p.functions(func(name string, open int) {
		for at := open; at < p.closing(open); at++ {
			if p.is(at, called) && p.is(at+1, "(") {
				names = append(names, name)
				return
			}
		}
	})
	return names
}

// block walks through the statements between the braces, the first of which is at at,
// and returns the place after the second.
func (p *cParser) block(at int) int {
	end := p.closing(at)
	before := -1 // where the simple statement before this one begins
	for at++; at < end; {
		first := at
		at = p.statement(at)
		if !p.simple(first, at) {
			before = -1
			continue
		}
		if before >= 0 && p.concurrent {
			p.swap(before, first, at)
		}
		before = first
	}
	return end + 1
}

// statement makes the mutants of the statement at at and returns the place after it.
func (p *cParser) statement(at int) int {
	first := at
	switch p.tokens[at].text {
	case "{":
		return p.block(at)
	case ";":
		return at + 1
	case "do":
		at = p.statement(at + 1)
		end := p.semicolon(at)
		p.expression(at, end)
		return end + 1
	case "else":
		return p.statement(at + 1)
	case "case", "default":
		for !p.is(at, ":") {
			at++
		}
		return at + 1
	case "if", "while", "for", "switch":
		head := p.closing(at + 1)
		p.expression(first, head+1)
		if p.concurrent && p.is(first, "while") {
			p.add(Once, first, head, p.tokens[first].start, p.tokens[first].end, "if")
		}
		at = p.statement(head + 1)
		if p.tokens[first].text == "if" && !p.is(at, "else") {
			p.drop(first, at-1, head)
		}
		return at
	}
	end := p.semicolon(at)
	switch {
	case p.is(at, "__asm__") || p.is(at, "asm"):
		p.drop(first, end, end)
	case p.declares(at, end):
		p.expression(first, end+1)
	default:
		if !p.is(at, "return") {
			p.drop(first, end, end)
		}
		p.expression(first, end+1)
	}
	return end + 1
}

// semicolon returns the next semicolon that is in no brackets.
func (p *cParser) semicolon(at int) int {
	for ; at < len(p.tokens)-1; at++ {
		switch p.tokens[at].text {
		case ";":
			return at
		case "(", "[", "{":
			at = p.closing(at)
		}
	}
	return len(p.tokens) - 1
}

var typeWord = regexp.MustCompile(
	`^(const|static|volatile|register|struct|union|enum|unsigned|signed|char|short|int|long|float|double|void|\w+_t)$`,
)

// declares reports whether the statement is a declaration.
func (p *cParser) declares(at, end int) bool {
	if p.tokens[at].kind != identifier || p.is(at, "return") {
		return false
	}
	if typeWord.MatchString(p.tokens[at].text) {
		return true
	}
	next := at + 1
	for p.is(next, "*") {
		next++
	}
	// Type name, type *name
	return next < end && p.tokens[next].kind == identifier && p.tokens[next-1].text != "goto" &&
		(p.is(next+1, "=") || p.is(next+1, ";") || p.is(next+1, "["))
}

// add makes a mutant in which the text from start to end is another one. The statement from token first to token last
// is where the fault is.
func (p *cParser) add(kind Kind, first, last, start, end int, becomes string) {
	from, to := p.tokens[first].start, p.tokens[last].end
	original := spaced(p.text[from:to])
	changed := spaced(p.text[from:start] + becomes + p.text[min(end, to):to])
	if kind == Dropped {
		changed = ""
	}
	becomes += strings.Repeat("\n", strings.Count(p.text[start:end], "\n")-strings.Count(becomes, "\n"))
	p.mutants = append(p.mutants, Mutant{
		File: p.file, Function: p.function, Line: 1 + strings.Count(p.text[:start], "\n"),
		Kind: kind, Original: original, Changed: changed,
		Text: p.text[:start] + becomes + p.text[end:], Names: p.concerns(first, last),
	})
}

// drop makes the mutant without the tokens from first to last. Those from first to called are its name. If nothing is
// left of the function, the mutant has its callers.
func (p *cParser) drop(first, last, called int) {
	p.add(Dropped, first, called, p.tokens[first].start, p.tokens[last].end, ";")
	if first == p.body+1 && last+1 == p.closing(p.body) {
		m := &p.mutants[len(p.mutants)-1]
		for _, source := range append(p.others, p) {
			m.Callers = append(m.Callers, source.callers(p.function)...)
		}
	}
}

// Operators, and what is taken for them by mistake.
var operatorsC = map[string][]struct {
	kind    Kind
	becomes string
}{
	"==": {{Comparison, "!="}}, "!=": {{Comparison, "=="}},
	"<": {{Comparison, ">="}, {Comparison, "<="}}, "<=": {{Comparison, ">"}, {Comparison, "<"}},
	">": {{Comparison, "<="}, {Comparison, ">="}}, ">=": {{Comparison, "<"}, {Comparison, ">"}},
	"&&": {{Operator, "||"}}, "||": {{Operator, "&&"}},
	"+": {{Operator, "-"}}, "-": {{Operator, "+"}},
}

// beforeParentheses are the words before a "(" that call nothing.
var beforeParentheses = []string{"if", "while", "for", "switch", "sizeof", "return", "offsetof"}

// expression makes the mutants of the tokens from first up to end.
func (p *cParser) expression(first, end int) {
	last := min(end, len(p.tokens)) - 1
	if p.concurrent {
		p.concurrency(first, last)
	}
	for at := first; at <= last; at++ {
		t := p.tokens[at]
		replace := func(kind Kind, becomes string) { p.add(kind, first, last, t.start, t.end, becomes) }
		switch {
		case t.kind == numeric:
			if value, err := strconv.ParseUint(strings.TrimRight(t.text, "uUlL"), 0, 64); err == nil {
				aligns := at > first && p.is(at-1, "~") || p.is(at-1, ")") && at > 2 && p.is(at-2, "uintptr_t")
				switch {
				case aligns && value > 1:
					replace(Alignment, strconv.FormatUint(value/2, 10))
				default:
					replace(Constant, strconv.FormatUint(value+1, 10))
				}
			}
		case t.kind == punctuation && at > first:
			before := p.tokens[at-1]
			binary := before.kind == numeric ||
				before.kind == identifier && before.text != "return" && before.text != "sizeof" ||
				before.text == ")" ||
				before.text == "]"
			for _, o := range operatorsC[t.text] {
				if binary {
					replace(o.kind, o.becomes)
				}
			}
		case t.kind == identifier && p.is(at+1, "(") && !slices.Contains(beforeParentheses, t.text):
			p.exchange(first, last, at+1)
		}
	}
}

// exchange makes the mutants in which two neighbours among the arguments of the call,
// whose bracket is at open, are exchanged.
func (p *cParser) exchange(first, last, open int) {
	end := p.closing(open)
	var starts, ends []int
	from := open + 1
	for at := open + 1; at <= end; at++ {
		switch p.tokens[at].text {
		case "(", "[", "{":
			at = p.closing(at)
		case ",", ")":
			if from < at {
				starts, ends = append(starts, p.tokens[from].start), append(ends, p.tokens[at-1].end)
			}
			from = at + 1
		}
	}
	for n := 0; n+1 < len(starts); n++ {
		a, b := p.text[starts[n]:ends[n]], p.text[starts[n+1]:ends[n+1]]
		// A value in place of a memory order has no meaning at all.
		if order := "memory_order_"; a != b && strings.HasPrefix(a, order) == strings.HasPrefix(b, order) {
			p.add(Exchanged, first, last, starts[n], ends[n+1], b+p.text[ends[n]:starts[n+1]]+a)
		}
	}
}

// concerns returns what a statement is about: the function that it is in, the functions that it calls, constants by
// their names, and registers.
func (p *cParser) concerns(first, last int) []string {
	names := []string{p.function}
	for at := first; at <= last; at++ {
		t := p.tokens[at]
		if t.kind != identifier {
			if t.text == "~" {
				names = append(names, Aligned)
			}
			continue
		}
		called := p.is(at+1, "(") &&
			!slices.Contains([]string{"if", "while", "for", "switch", "sizeof", "return", "volatile"}, t.text)
		switch {
		case called || strings.ToUpper(t.text) == t.text && len(t.text) > 2:
			names = append(names, t.text)
		case t.text == "arg":
			names = append(names, Argument)
		case t.text == "target":
			names = append(names, Body)
		case t.text == "top":
			names = append(names, StackPointer, machine.AMD64.SP, machine.ARM64.SP)
		}
		for _, a := range []*machine.Arch{machine.AMD64, machine.ARM64} {
			switch reg := a.Canonical(t.text); {
			case reg == "" || reg != t.text && t.text != "lr":
			case reg == a.SP:
				names = append(names, reg, StackPointer)
			case reg == a.PC || reg == a.Link:
				names = append(names, reg, ReturnAddress)
			case len(reg) > 1:
				names = append(names, reg)
			}
		}
	}
	return distinct(names)
}
