package wordcount

import (
	"unicode"
	"unicode/utf8"
)

// splitter cuts text that comes in chunks into words: longest runs without white space, as
// strings.Fields has it. A word, or a rune, may lie across any number of chunks.
type splitter struct {
	text  []byte
	start int // of the word at hand in text, or of the next one
	at    int // everything before is examined: white space before start, no white space after it
}

// feed appends chunk to the text; words that next returned before are overwritten.
func (s *splitter) feed(chunk []byte) {
	kept := copy(s.text, s.text[s.start:])
	s.text = append(s.text[:kept], chunk...)
	s.at -= s.start
	s.start = 0
}

// next returns the next word of the text. It returns nil if there is none, or if the word at its end
// may go on in the next chunk; if last is true there is no next chunk. The word is valid until the next
// call of feed.
func (s *splitter) next(last bool) []byte {
	for s.at < len(s.text) {
		size, space := 1, false
		if b := s.text[s.at]; b < utf8.RuneSelf {
			space = b == ' ' || '\t' <= b && b <= '\r'
		} else {
			if !last && !utf8.FullRune(s.text[s.at:]) {
				return nil
			}
			r, n := utf8.DecodeRune(s.text[s.at:])
			size, space = n, unicode.IsSpace(r)
		}
		end := s.at
		s.at += size
		if space {
			word := s.text[s.start:end]
			s.start = s.at
			if len(word) > 0 {
				return word
			}
		}
	}
	if last && s.at > s.start {
		word := s.text[s.start:s.at]
		s.start = s.at
		return word
	}
	return nil
}
