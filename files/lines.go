package files

import "strconv"

// appendLine appends "name:number:line\n".
func appendLine(text []byte, name string, number int, line []byte) []byte {
	text = append(text, name...)
	text = append(text, ':')
	text = strconv.AppendInt(text, int64(number), 10)
	text = append(text, ':')
	text = append(text, line...)
	return append(text, '\n')
}
