package class

import (
	"cmp"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"fiberlab/labs"
	"fiberlab/labs/grade"
)

// Pair is two submissions that have much in common beyond what all were given. It proves nothing: a teacher looks.
type Pair struct {
	A      string  `json:"a"`
	B      string  `json:"b"`
	Share  float64 `json:"share"`  // of the shorter one's fingerprints that the other one has too, from 0 to 1
	Common int     `json:"common"` // fingerprints that both have
}

// How likeness is found: by winnowing, as Schleimer, Wilkerson and Aiken describe it ("Winnowing: Local Algorithms for
// Document Fingerprinting", 2003). Each run of gramSize tokens has a hash. Of each window of as many hashes as
// windowSize, the least one is a fingerprint.
const (
	gramSize   = 12
	windowSize = 6
	leastShare = 0.5 // a pair is listed from here on
	leastSame  = 8   // and with so many fingerprints in common
	mostPairs  = 40
)

// fingerprints is the set of fingerprints of some files, such as a submission's.
type fingerprints map[uint64]bool

var (
	comments   = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	hashes     = regexp.MustCompile(`(?m)#.*$`) // a comment in assembly, and an arm64 constant, with the rest of the line
	directives = regexp.MustCompile(`(?m)^\s*(\.\w+.*|#.*)$`)
	nameOf     = regexp.MustCompile(`^[A-Za-z_]`)
	tokenOf    = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|%?[A-Za-z_]\w*|\d\w*|[^\s\w]`)
)

// kept are the names that say what a program in C does. Other names may be changed without a thought, and count the
// same.
var kept = regexp.MustCompile(
	`^(if|else|for|while|do|switch|case|default|break|continue|return|goto|struct|enum|union|static|const|void|int|` +
		`unsigned|long|short|char|bool|sizeof|true|false|NULL|atomic_\w+|memory_order_\w+|explore_\w+|malloc|free|m\w*map)$`,
)

// tokensOf are the tokens of a source, without comments, names and layout. Of assembly, instructions and registers
// remain; labels, constants and directives do not.
func tokensOf(name, text string) []string {
	assembly := filepath.Ext(name) == ".S"
	text = comments.ReplaceAllString(text, " ")
	if assembly {
		text = hashes.ReplaceAllString(directives.ReplaceAllString(text, ""), "")
	}
	var tokens []string
	for _, token := range tokenOf.FindAllString(text, -1) {
		switch first := token[0]; {
		case first == '"' || first == '\'':
			token = "text"
		case first >= '0' && first <= '9':
			token = "number"
		case !assembly && nameOf.MatchString(token) && !kept.MatchString(token):
			token = "name"
		case assembly && token != strings.ToLower(token):
			token = "constant"
		}
		tokens = append(tokens, token)
	}
	return tokens
}

// add adds the fingerprints of a source.
func (f fingerprints) add(name, text string) {
	if ext := filepath.Ext(name); ext != ".c" && ext != ".h" && ext != ".S" {
		return
	}
	tokens := tokensOf(name, text)
	var grams []uint64
	for i := 0; i+gramSize <= len(tokens); i++ {
		sum := fnv.New64a()
		for _, token := range tokens[i : i+gramSize] {
			sum.Write([]byte(token + "\x00"))
		}
		grams = append(grams, sum.Sum64())
	}
	for i := 0; i < len(grams); i++ {
		f[slices.Min(grams[i:min(i+windowSize, len(grams))])] = true
		if i+windowSize >= len(grams) {
			return
		}
	}
}

// fingerprintsOf returns the fingerprints of files, by their names.
func fingerprintsOf(files map[string][]byte) fingerprints {
	f := fingerprints{}
	for name, text := range files {
		f.add(name, string(text))
	}
	return f
}

// handedOut are the fingerprints of what students get with the lab.
func handedOut(l *grade.Lab) fingerprints {
	f := fingerprints{}
	var home fs.FS = os.DirFS(l.Home())
	if l.Folder == "" {
		home, _ = fs.Sub(labs.Sources, l.Number) // a copy without the lab has nothing there
	}
	entries, err := fs.ReadDir(home, ".")
	if err != nil {
		return f
	}
	for _, e := range entries {
		if text, err := fs.ReadFile(home, e.Name()); err == nil {
			f.add(e.Name(), string(text))
		}
	}
	for _, name := range slices.Concat(l.Fixed, l.Given) { // some stand in another folder
		if text, err := l.File(name); err == nil {
			f.add(filepath.Base(name), string(text))
		}
	}
	return f
}

// alike returns the pairs of students whose submissions have much in common, the likeliest first. What was handed out
// does not count, nor does what more than a third of a class of ten or more has.
func alike(given fingerprints, of map[string]fingerprints) []Pair {
	having := map[uint64][]string{}
	for _, student := range slices.Sorted(maps.Keys(of)) {
		for print := range of[student] {
			if !given[print] {
				having[print] = append(having[print], student)
			}
		}
	}
	counts, common := map[string]int{}, map[[2]string]int{}
	for _, students := range having {
		if len(of) >= 10 && 3*len(students) > len(of) {
			continue
		}
		for i, a := range students {
			counts[a]++
			for _, b := range students[i+1:] {
				common[[2]string{a, b}]++
			}
		}
	}
	pairs := []Pair{}
	for pair, n := range common {
		share := float64(n) / float64(min(counts[pair[0]], counts[pair[1]]))
		if n >= leastSame && share >= leastShare {
			pairs = append(pairs, Pair{pair[0], pair[1], share, n})
		}
	}
	slices.SortFunc(pairs, func(a, b Pair) int {
		return cmp.Or(
			cmp.Compare(b.Share, a.Share), cmp.Compare(b.Common, a.Common), strings.Compare(a.A, b.A),
			strings.Compare(a.B, b.B),
		)
	})
	return pairs[:min(len(pairs), mostPairs)]
}
