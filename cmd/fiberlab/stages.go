package main

import (
	"bytes"
	"context"
	"errors"
	"io"

	"fiberlab/sched"
	"fiberlab/sched/mixed"
)

// readTask reads files, each time the next one that no lane has begun. It waits at the gate first, and after
// each file it lets the other fibers of its worker go first. The reading itself blocks the worker's thread.
func (p *pipeline) readTask(ctx context.Context, l *lane) error {
	defer l.chunks.Close()
	if err := p.gate.WaitContext(ctx); err != nil {
		return err
	}
	var buffers chunkBuffers
	for {
		i := int(p.nextFile.Add(1)) - 1
		if i >= len(p.files) {
			return nil
		}
		if err := p.readFile(ctx, l, i, &buffers); err != nil {
			return err
		}
		sched.Yield()
	}
}

// readFile hands on the file of index i. It returns ctx's error if that is over. An error of the file
// ends the file, not the work.
func (p *pipeline) readFile(ctx context.Context, l *lane, i int, buffers *chunkBuffers) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := p.open(p.files[i].path)
	if err != nil {
		p.failed(i, err)
		return nil
	}
	defer f.Close()
	buffer := buffers.next()
	for ctx.Err() == nil {
		n, end := f.Read(buffer)
		l.bytes.Add(int64(n))
		if n > 0 {
			if err := l.chunks.SendContext(ctx, chunk{file: i, data: buffer[:n]}); err != nil {
				return err
			}
			buffer = buffers.next()
		}
		if end != nil {
			if end != io.EOF {
				p.failed(i, end)
			}
			return l.chunks.SendContext(ctx, chunk{file: i, last: true})
		}
	}
	return ctx.Err()
}

func (p *pipeline) failed(file int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally.failures[file] = err
}

// chunkBuffers is what a lane's chunks lie in, in turn: as many as can be in the channel, one that is being
// filled and one that is being split.
type chunkBuffers struct {
	buffers [chunksAhead + 2][]byte
	turn    int
}

func (b *chunkBuffers) next() []byte {
	b.turn = (b.turn + 1) % len(b.buffers)
	if b.buffers[b.turn] == nil {
		b.buffers[b.turn] = make([]byte, chunkSize)
	}
	return b.buffers[b.turn]
}

// splitTask cuts a lane's chunks into words.
func (p *pipeline) splitTask(ctx context.Context, l *lane) error {
	var s splitter
	var held batch
	for {
		c, err := p.nextChunk(ctx, l, &held)
		if errors.Is(err, mixed.ErrClosedChannel) {
			return nil
		}
		if err != nil {
			return err
		}
		held.file = c.file
		s.feed(c.data)
		for word := s.next(c.last); word != nil; word = s.next(c.last) {
			held.text = append(append(held.text, word...), '\n')
			if len(held.text) >= batchSize {
				if err := p.handOn(ctx, &held); err != nil {
					return err
				}
			}
		}
		if c.last {
			if err := p.handOn(ctx, &held); err != nil {
				return err
			}
		}
	}
}

// nextChunk receives a lane's next chunk. While words are held back it waits with a deadline, if it has to
// wait at all; if no chunk has come by then, it hands them on.
func (p *pipeline) nextChunk(ctx context.Context, l *lane, held *batch) (chunk, error) {
	if len(held.text) > 0 && l.chunks.Len() == 0 {
		patience, cancel := context.WithTimeout(ctx, linger)
		c, err := l.chunks.ReceiveContext(patience)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			return c, err
		}
		if err := p.handOn(ctx, held); err != nil {
			return chunk{}, err
		}
	}
	return l.chunks.ReceiveContext(ctx)
}

// handOn gives the words that are held back to the count task.
func (p *pipeline) handOn(ctx context.Context, held *batch) error {
	if len(held.text) == 0 {
		return nil
	}
	full := batch{file: held.file, text: bytes.Clone(held.text)}
	held.text = held.text[:0]
	return p.batches.SendContext(ctx, full)
}

// countTask counts the words of all lanes. But first it opens the gate, as soon as all other tasks are seen
// blocked at once: the read tasks at the gate, the split tasks for chunks, the clock until its next tick.
func (p *pipeline) countTask(ctx context.Context) {
	defer p.counted.Signal()
	for p.activity.blocked < p.activity.tasks-1 && ctx.Err() == nil {
		sched.Yield()
		p.activity.blocked = p.sched.Stats().Blocked
	}
	p.gate.CountDown()
	for b := range p.batches.All() {
		for len(b.text) > 0 {
			end := bytes.IndexByte(b.text, '\n')
			p.tally.add(b.file, b.text[:end])
			b.text = b.text[end+1:]
		}
	}
}
