package wordcount

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// split cuts text into chunks of the given lengths and a last chunk for the rest, and returns the words
// that a splitter finds in them.
func split(text string, lengths []int) []string {
	words := []string{}
	var s splitter
	feed := func(chunk string, last bool) {
		s.feed([]byte(chunk))
		for word := s.next(last); word != nil; word = s.next(last) {
			words = append(words, string(word))
		}
	}
	for _, n := range lengths {
		n = min(n, len(text))
		feed(text[:n], false)
		text = text[n:]
	}
	feed(text, false)
	feed("", true)
	return words
}

// pieces try the borders between words and chunks: words, white space of one to three bytes, runes that
// begin like white space, and bytes that are no UTF-8.
var pieces = []string{
	"a", "word", "é", "世界", "😀", " ", "\n", "\t", "\v", "\r\n", "\u0085", "\u00a0", "\u1680", "\u2003", "\u2028", "\u3000",
	"\u200b", "\x85", "\xa0", "\xe2", "\xe2\x80", "\xe3\x80", "\xf0\x9f\x98", "\xff", "\x00",
}

func TestSplitterFindsFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "pieces"), "")
		lengths := rapid.SliceOf(rapid.IntRange(0, 7)).Draw(t, "lengths")
		require.Equal(t, append([]string{}, strings.Fields(text)...), split(text, lengths), "%q", text)
	})
}

func TestSplitterKeepsNoMoreThanItNeeds(t *testing.T) {
	var s splitter
	line := []byte(strings.Repeat("word ", 1000))
	for range 1000 {
		s.feed(line)
		for s.next(false) != nil {
		}
	}
	require.LessOrEqual(t, cap(s.text), 4*len(line))
}
