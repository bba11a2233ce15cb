package main

import (
	"bytes"
	"io"

	"fiberlab/sched"
)

// readTask reads files, each time the next one that no lane has begun. After each it lets the other fibers
// of its worker go first. The reading itself blocks the worker's thread.
func (p *pipeline) readTask(l *lane) {
	defer l.chunks.end(false)
	var buffers chunkBuffers
	for {
		i := int(p.nextFile.Add(1)) - 1
		if i >= len(p.files) || !p.readFile(l, i, &buffers) {
			return
		}
		sched.Yield()
	}
}

// readFile hands on the file of index i. It returns false if the work is stopped. An error of the file
// ends the file, not the work.
func (p *pipeline) readFile(l *lane, i int, buffers *chunkBuffers) bool {
	if err := p.ctx.Err(); err != nil {
		p.stop(err)
		return false
	}
	f, err := p.open(p.files[i].path)
	if err != nil {
		p.failed(i, err)
		return true
	}
	defer f.Close()
	for p.ctx.Err() == nil {
		buffer := buffers.next()
		n, err := f.Read(buffer)
		l.bytes.Add(int64(n))
		if n > 0 && !l.chunks.put(chunk{file: i, data: buffer[:n]}) {
			return false
		}
		if err != nil {
			if err != io.EOF {
				p.failed(i, err)
			}
			return l.chunks.put(chunk{file: i, last: true})
		}
	}
	p.stop(p.ctx.Err())
	return false
}

func (p *pipeline) failed(file int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally.failures[file] = err
}

// chunkBuffers is what a lane's chunks lie in, in turn: as many as can be in the queue, one that is being
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

// splitTask cuts a lane's chunks into words. While words are held back it waits for the next chunk with a
// deadline.
func (p *pipeline) splitTask(l *lane) {
	defer func() {
		if p.splitting.Add(-1) == 0 {
			p.batches.end(false)
		}
	}()
	var s splitter
	var held batch
	for {
		patience := forEver
		if len(held.text) > 0 {
			patience = linger
		}
		c, came := l.chunks.take(patience)
		switch came {
		case gotEnd:
			return
		case gotNothing:
			if !p.handOn(&held) {
				return
			}
			continue
		}
		held.file = c.file
		s.feed(c.data)
		for word := s.next(c.last); word != nil; word = s.next(c.last) {
			held.text = append(append(held.text, word...), '\n')
			if len(held.text) >= batchSize && !p.handOn(&held) {
				return
			}
		}
		if c.last && !p.handOn(&held) {
			return
		}
	}
}

// handOn gives the words that are held back to the count task. It returns false if the work is stopped.
func (p *pipeline) handOn(held *batch) bool {
	if len(held.text) == 0 {
		return true
	}
	full := batch{file: held.file, text: bytes.Clone(held.text)}
	held.text = held.text[:0]
	return p.batches.put(full)
}

// countTask counts the words of all lanes.
func (p *pipeline) countTask() {
	for {
		b, came := p.batches.take(forEver)
		if came == gotEnd {
			break
		}
		for len(b.text) > 0 {
			end := bytes.IndexByte(b.text, '\n')
			p.tally.add(b.file, b.text[:end])
			b.text = b.text[end+1:]
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished = true
	p.wakeClock()
}
