package streaming

import (
	"encoding/binary"
	"errors"
	"fmt"

	"mrlocal/internal/disk"
	"mrlocal/internal/membudget"
	"mrlocal/jobs"
)

// runner is one attempt at a stage, and runs the command of the stage if there is one. The
// engine calls it from one goroutine. That goroutine also reads the output and standard
// error of the command, inside the calls of process.
type runner struct {
	work    *Work
	stage   *stage
	combine bool // the attempt is a map's combiner
	attempt jobs.OwnAttempt
	process *Process                // nil: no command runs
	errors  *stderr                 // of the last command; nil: none has run
	temp    *disk.TempRoot          // holds the working directory; nil: that of this process is used
	emit    func(key, value []byte) // gets each record of the stage; both slices are borrowed
	room    []byte                  // records in the form for the command
	key     []byte                  // reused by emitPaired, as is value
	value   []byte
	emitted int64 // records that emitPaired has numbered
	tally   tally
	closed  bool // the command has closed its standard input
}

// Begin implements jobs.Attempter.
func (r *runner) Begin(a jobs.OwnAttempt) { r.attempt = a }

// Close implements io.Closer. It kills a command that still runs.
func (r *runner) Close() error {
	if r.process != nil {
		r.process.Abandon()
		r.process = nil
	}
	if r.errors != nil {
		r.errors.close()
	}
	r.leave()
	return nil
}

// leave removes the working directory of the attempt.
func (r *runner) leave() {
	if r.temp != nil {
		_ = r.temp.Close() // an error leaves temporary files, but the results are whole
		r.temp = nil
	}
}

// charge asks the run for bytes of memory, until the end of the attempt. If the run has none left,
// the engine starts the attempt again with all memory that it may have.
func (r *runner) charge(bytes int64) error {
	if r.attempt.Charge != nil && !r.attempt.Charge(bytes) {
		return membudget.ErrNoRoom
	}
	return nil
}

// alive reports progress, so that the attempt does not time out.
func (r *runner) alive() { r.attempt.Progress(0, 0) }

// start starts the command of the stage, in its working directory and with its
// environment. kind is the kind of the task, m or r. split is nil in reduces and combines.
// finish or Close ends the command.
func (r *runner) start(kind string, split *FileSplit) error {
	// These are the buffers of the pipes, of records on their way, and of the reader of the split.
	// A combiner is not charged, because it runs within the memory of its map.
	if !r.combine {
		if err := r.charge(4*PipeBytes + 2*RecordBufferBytes); err != nil {
			return err
		}
	}
	w := r.work
	id := taskID{kind, r.attempt.Task}
	dir, temp, err := w.workDir(id, r.attempt.Number)
	if err != nil {
		return err
	}
	r.temp = temp
	files := ""
	if r.attempt.Dir != nil {
		if files, err = r.attempt.Dir(); err != nil {
			return err
		}
	}
	env := w.environment(id, r.attempt.Number, dir, files, split)
	args, err := resolve(r.stage.words, dir, env)
	if err != nil {
		return fmt.Errorf("configuration exception: %w", err)
	}
	r.errors = newStderr(w, id, r.attempt.Number, &r.tally)
	r.errors.status = r.attempt.Status
	r.process, err = Start(r.attempt.Context, Config{
		Args: args, Dir: dir, Env: env, Output: r.output, Error: r.errors.read, Alive: r.alive,
		Charge: func(n int64) error {
			if r.combine {
				return nil
			}
			return r.charge(n)
		},
	})
	if err != nil {
		return fmt.Errorf("configuration exception: Cannot run program %q: %w", r.stage.words[0], err)
	}
	return nil
}

// output emits the records in p, which the command has written. It returns the number of
// bytes that they take; see Config.Output. Package streaming calls it on the goroutine
// of the attempt, so emit needs no lock.
func (r *runner) output(p []byte, ended bool) (int, error) {
	return r.stage.out.Read(p, ended, r.emit)
}

// write sends a record to the command, in the format of the stage. It borrows key and
// value during the call.
func (r *runner) write(key, value []byte) error {
	r.room = r.stage.in.Append(r.room[:0], key, value)
	return r.send(r.room)
}

// send writes p to the command, and borrows it during the call. If the command has closed
// its standard input, a friendly job warns once and drops the rest, as a shell does. A
// strict job fails, as Hadoop does when more than a buffer is left.
func (r *runner) send(p []byte) error {
	if r.closed {
		return nil
	}
	err := r.process.Write(p)
	if errors.Is(err, ErrClosed) {
		r.closed = true
		if r.work.o.Friendly {
			r.work.o.Warn(fmt.Sprintf("%s: the command has closed its input early; Hadoop fails the task where more than 128 KiB are left", r.stage.command))
			return nil
		}
		// A failed exit of the command explains more than its broken pipe.
		if failed := r.finish(); failed != nil {
			return failed
		}
		return fmt.Errorf("%s: %w: Broken pipe", r.stage.command, err)
	}
	return err
}

// finish closes the command's standard input, reads its output to the end, and waits for
// it. The error includes an exit code other than 0, unless the job allows it, and in a
// strict job too many counters. It does nothing if no command runs.
func (r *runner) finish() error {
	if r.process == nil {
		return nil
	}
	code, err := r.process.Close()
	r.process = nil
	r.errors.close()
	r.leave()
	if err == nil && !r.work.o.Friendly {
		err = r.errors.failed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.stage.command, err)
	}
	if code != 0 && r.work.conf.Bool("stream.non.zero.exit.is.failure", true) {
		return fmt.Errorf("%s: PipeMapRed.waitOutputThreads(): subprocess failed with code %d%s", r.stage.command, code, r.errors.last())
	}
	return nil
}

// mapper is an attempt at a map. It reads its split and sends the records to its command.
type mapper struct {
	runner
	out jobs.Emitter
}

// Map reads the split of the attempt. The engine's block is empty, because the job has no
// input.
func (m *mapper) Map(_ jobs.Block, out jobs.Emitter) error {
	w := m.work
	split := &w.splits[m.attempt.Task]
	m.out = out
	flush := func() {}
	m.emit = m.emitter()
	if w.exact && w.o.ValueOrder == DefaultOrder {
		m.emit, flush = m.inHadoopOrder(out)
	}
	// A class that is built in needs no process.
	if m.stage.kind != command {
		err := w.input.each(*split, m.charge, m.read(split), nil, func(key, value []byte) error {
			switch m.stage.kind {
			case inverse:
				key, value = value, key
			case selection:
				if !m.stage.fields.withoutKey {
					key = w.input.key.AppendString(nil, key)
				}
				key, value = m.stage.fields.choose(key, value, true)
			}
			m.emit(key, value)
			return m.attempt.Context.Err()
		})
		flush()
		return m.judge(split, err)
	}
	if err := m.start("m", split); err != nil {
		return err
	}
	var raw func([]byte) error
	// Lines that the command gets as they are in the file need no change, so it gets many of them at once.
	if m.stage.in.NoKey && w.input.key == Long {
		raw = m.send
	}
	err := w.input.each(*split, m.charge, m.read(split), raw, func(key, value []byte) error { return m.write(key, value) })
	if err == nil {
		err = m.finish()
	}
	if err == nil {
		flush()
	}
	return m.judge(split, err)
}

// judge ends the map. If err is nil, it keeps the counters of the attempt. Otherwise it
// returns err with the split, and the counters are lost, as in Hadoop.
func (m *mapper) judge(split *FileSplit, err error) error {
	if err != nil {
		return fmt.Errorf("%s:%d+%d: %w", split.Path, split.Start, split.Length, err)
	}
	m.work.keep(taskID{"m", m.attempt.Task}, m.tally)
	return nil
}

// read returns a function that reports progress to the engine. Its arguments are the number
// of new records, and the bytes of the split that were read so far.
func (m *mapper) read(split *FileSplit) func(records, done int64) {
	before := int64(0)
	return func(records, done int64) {
		m.attempt.Read(records, done-before)
		before = done
		// The last line may end behind the split.
		m.attempt.Progress(min(done, split.Length), max(split.Length, 1))
	}
}

// emitter returns the function that emits a record of a map: as text in a map-only job,
// for the reduces in others.
func (m *mapper) emitter() func(key, value []byte) {
	if m.work.MapOnly {
		return m.work.textEmitter(m.out, m.work.mapKinds, &m.tally)
	}
	return m.sortEmitter(m.out)
}

// sortEmitter returns the function that emits a record for the reduces. In a paired job
// the engine's key is the sortKey of the key, and its value holds both key and value.
func (r *runner) sortEmitter(out jobs.Emitter) func(key, value []byte) {
	if !r.work.paired() {
		return out.Emit
	}
	var sortKey []byte
	return func(key, value []byte) {
		sortKey = r.work.sortKey(sortKey[:0], key)
		r.emitPaired(out, sortKey, key, value)
	}
}

// partOf is the partitioner of a paired job. A sortKey begins with its reduce.
func partOf(key []byte, parts int) int { return int(binary.BigEndian.Uint32(key)) % parts }

// pair returns the key and value in stored, the engine's value in a paired job. They are
// parts of stored.
func pair(stored []byte) (key, value []byte) {
	n, size := binary.Uvarint(stored)
	return stored[size : size+int(n)], stored[size+int(n):]
}

// textEmitter returns the function that emits a record of the output as text
// (TextOutputFormat). kinds are those of the key and the value. Without output, or if both are Null, it only
// counts records in t.
func (w *Work) textEmitter(out jobs.Emitter, kinds [2]Kind, t *tally) func(key, value []byte) {
	if w.drops || kinds == [2]Kind{Null, Null} {
		return func([]byte, []byte) { t.dropped++ }
	}
	// The line is built here, because an Emitter writes no TAB next to an empty key or value.
	var line []byte
	return func(key, value []byte) {
		line = line[:0]
		if kinds[0] != Null {
			line = kinds[0].AppendString(line, key)
			if kinds[1] != Null {
				line = append(line, w.textSeparator...)
			}
		}
		// A Null value leaves the separator out too.
		if kinds[1] != Null {
			line = kinds[1].AppendString(line, value)
		}
		out.Emit(nil, line)
	}
}

// groups is an attempt at a reduce or a combine. It sends the records of all groups to one
// command. As in Hadoop, the command sees the end of a group by the next key. A combine
// starts a new command for each spill.
type groups struct {
	runner
	last    []byte // the key of the record before, in a paired job
	sums    *sums  // nil: the stage is not aggregate
	ordered bool   // the job is paired, so the engine's values hold the keys too
	started bool   // since the last Flush
}

// newGroups makes the reducer or combiner of an attempt.
func (w *Work) newGroups(s *stage, combine bool) jobs.Reducer {
	g := &groups{runner: runner{work: w, stage: s, combine: combine}, ordered: w.paired()}
	if s.kind == aggregate {
		g.sums = &sums{combine: combine}
	}
	return g
}

// reduceKinds returns the kinds of the keys and values that a reduce emits.
func (g *groups) reduceKinds() [2]Kind {
	switch g.stage.kind {
	case command:
		return g.stage.out.Format.Kinds()
	case aggregate:
		return [2]Kind{}
	case selection:
		return g.stage.fields.kinds()
	}
	return g.work.mapKinds
}

// open sets emit and starts the command, before the first record. After a Flush it does so
// again.
func (g *groups) open(out jobs.Emitter) error {
	if g.started {
		return nil
	}
	g.started, g.closed = true, false
	if g.combine {
		g.emit = g.sortEmitter(out)
	} else {
		g.emit = g.work.textEmitter(out, g.reduceKinds(), &g.tally)
	}
	if g.stage.kind != command {
		return nil
	}
	kind := "r"
	if g.combine {
		kind = "m"
	}
	return g.start(kind, nil)
}

// Reduce takes a group. The engine calls it in combines, and ReduceRecord in reduces.
func (g *groups) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	return jobs.ReduceRecords(g, key, vs, out)
}

// ReduceRecord takes a record. It borrows key and value during the call.
func (g *groups) ReduceRecord(key, value []byte, out jobs.Emitter) error {
	if !g.started {
		if err := g.open(out); err != nil {
			return err
		}
	}
	if g.ordered {
		key, value = pair(value)
		// The engine's keys are sort keys, so the groups of the job are counted here. A group has
		// equal whole keys, even if the order compares only a part of them.
		if g.tally.groups == 0 || string(key) != string(g.last) {
			g.last = append(g.last[:0], key...)
			g.tally.groups++
		}
	}
	switch g.stage.kind {
	case command:
		if g.room = g.stage.in.Append(g.room, key, value); len(g.room) < roomBytes {
			return nil
		}
		return g.sendRoom()
	case aggregate:
		return g.sums.add(key, value, g.emit)
	case selection:
		key, value = g.stage.fields.choose(g.work.keyText(key), g.work.mapKinds[1].AppendString(nil, value), false)
	}
	g.emit(key, value)
	return nil
}

// roomBytes is the number of bytes that groups collects before it sends them.
const roomBytes = PipeBytes

// sendRoom sends the collected records. They are collected because each write to a pipe is
// a system call.
func (g *groups) sendRoom() error {
	if len(g.room) == 0 {
		return nil
	}
	err := g.send(g.room)
	g.room = g.room[:0]
	return err
}

// Flush ends the command after the last record. A reduce without groups runs the command
// all the same, as Hadoop does, and drops its output and its counters.
func (g *groups) Flush(out jobs.Emitter) error {
	empty := !g.started && !g.combine
	if empty {
		if err := g.open(out); err != nil {
			return err
		}
		g.emit = func([]byte, []byte) {}
	}
	if g.sums != nil {
		if err := g.sums.end(g.emit); err != nil {
			return err
		}
	}
	err := g.sendRoom()
	if err == nil {
		err = g.finish()
	}
	g.started = false
	if err != nil {
		return err
	}
	if empty {
		g.tally = tally{}
	}
	// A map may combine several times, so the counters of its combines are added up.
	if g.combine {
		g.work.add(taskID{"c", g.attempt.Task}, g.tally)
		g.tally = tally{}
		return nil
	}
	g.work.keep(taskID{"r", g.attempt.Task}, g.tally)
	return nil
}
