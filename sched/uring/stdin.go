package uring

// Stdin is the standard input of the program: a terminal, a pipe, a file or whatever it was started with. It is the
// same File each time. Close of it ends its reads, and leaves descriptor 0 open.
func (s *Engines) Stdin() *File {
	s.openedStdin.Do(func() { s.stdin = &File{engines: s, name: "/dev/stdin", shared: true} })
	return s.stdin
}
