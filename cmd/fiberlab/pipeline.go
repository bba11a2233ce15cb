package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"fiberlab/fiber"
)

// chunkSize is how many bytes the read stage asks for at a time.
const chunkSize = 64 << 10

// pipeline counts words on three fibers of one backend:
//
//	read  -- chunk -->  split  -- word -->  count
//
// A stage that wants an item switches to the stage before it and is resumed when the item is there; a
// stage that has an item switches to the stage that asked. So every item moves with one switch, nothing
// is queued, and each stage is a plain loop that keeps its place in local variables.
type pipeline struct {
	ctx   context.Context
	files []textFile
	open  opener
	done  *atomic.Int64

	read, split, count *fiber.Fiber

	chunk   chunk // handed from read to split
	word    word  // handed from split to count
	stopped bool  // a stage that is resumed and sees it returns
	err     error // why the work was stopped early

	tally    *tally
	switches int
}

// chunk is a piece of one file. The last one of a file is empty.
type chunk struct {
	file int // index in files; len(files) says that there are no more
	data []byte
	last bool
}

// word is nil text if there are no more.
type word struct {
	file int
	text []byte
}

// countOnFibers counts the words of files on a pipeline of fibers of backend b and returns the count
// and how many switches the stages made. It adds the bytes read to done. The fibers are gone when it
// returns, also when ctx ended the work early.
func countOnFibers(ctx context.Context, b fiber.Backend, files []textFile, open opener,
	done *atomic.Int64) (*tally, int, error) {
	p := &pipeline{ctx: ctx, files: files, open: open, done: done, tally: newTally(len(files))}
	finished := make(chan error)
	go func() { finished <- p.run(b) }() // its own goroutine, because the root fiber may be bound to its thread
	if err := <-finished; err != nil {
		return nil, 0, err
	}
	return p.tally, p.switches, nil
}

func (p *pipeline) run(b fiber.Backend) (err error) {
	root, err := fiber.Attach(b)
	if err != nil {
		return fmt.Errorf("pipeline on %v: %w", b, err)
	}
	defer func() { err = errors.Join(err, root.Detach()) }()
	for _, stage := range []struct {
		name string
		at   **fiber.Fiber
		body func()
	}{{"read", &p.read, p.readStage}, {"split", &p.split, p.splitStage}, {"count", &p.count, p.countStage}} {
		f, err := fiber.New(fiber.Config{Name: stage.name, Backend: b}, stage.body)
		if err != nil {
			return fmt.Errorf("pipeline on %v: %w", b, err)
		}
		defer func() { err = errors.Join(err, p.end(root, f)) }()
		*stage.at = f
	}
	return errors.Join(root.SwitchTo(p.count), p.err)
}

// end lets f run to its end, if it was entered, and closes it.
func (p *pipeline) end(root, f *fiber.Fiber) error {
	p.stopped = true
	if f.State() == fiber.Suspended {
		if err := root.SwitchTo(f); err != nil {
			return err
		}
	}
	return f.Close()
}

// hand switches from one stage to another and counts it. It reports whether the work goes on; if not,
// the caller must return.
func (p *pipeline) hand(from, to *fiber.Fiber) bool {
	p.switches++
	if err := from.SwitchTo(to); err != nil {
		p.stop(err)
	}
	return !p.stopped
}

func (p *pipeline) stop(err error) {
	p.stopped = true
	p.err = errors.Join(p.err, err)
}

func (p *pipeline) readStage() {
	buffer := make([]byte, chunkSize)
	for i := range p.files {
		if !p.readFile(i, buffer) {
			return
		}
	}
	p.chunk = chunk{file: len(p.files)}
	p.hand(p.read, p.split)
}

// readFile hands on the file of index i. An error of the file ends the file, not the work.
func (p *pipeline) readFile(i int, buffer []byte) bool {
	f, err := p.open(p.files[i].path)
	if err != nil {
		p.tally.failures[i] = err
		return true
	}
	defer f.Close()
	for {
		if err := p.ctx.Err(); err != nil {
			p.stop(err)
			return false
		}
		n, err := f.Read(buffer)
		p.done.Add(int64(n))
		if n > 0 {
			p.chunk = chunk{file: i, data: buffer[:n]}
			if !p.hand(p.read, p.split) {
				return false
			}
		}
		if err != nil {
			if err != io.EOF {
				p.tally.failures[i] = err
			}
			p.chunk = chunk{file: i, last: true}
			return p.hand(p.read, p.split)
		}
	}
}

func (p *pipeline) splitStage() {
	var s splitter
	for p.hand(p.split, p.read) {
		c := p.chunk
		if c.file == len(p.files) {
			p.word = word{}
			p.hand(p.split, p.count)
			return
		}
		s.feed(c.data)
		for text := s.next(c.last); text != nil; text = s.next(c.last) {
			p.word = word{file: c.file, text: text}
			if !p.hand(p.split, p.count) {
				return
			}
		}
	}
}

func (p *pipeline) countStage() {
	for p.hand(p.count, p.split) && p.word.text != nil {
		p.tally.add(p.word.file, p.word.text)
	}
}
