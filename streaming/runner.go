package streaming

import (
	"encoding/binary"
	"errors"
	"fmt"

	"mrlocal/internal/disk"
	"mrlocal/jobs"
	"mrlocal/streaming/child"
	"mrlocal/streaming/records"
	"mrlocal/streaming/wire"
)

// runner is one attempt at a stage, and runs its command if it has one. The engine calls
// it from one goroutine. Output and standard error of the command are read by goroutines
// of package child.
type runner struct {
	work    *Work
	stage   *stage
	combine bool
	attempt jobs.OwnAttempt
	process *child.Process // nil: none runs
	errors  *stderr        // of the command; nil: none has run
	temp    *disk.TempRoot // its working directory, if it has one of its own
	emit    func(key, value []byte)
	room    []byte // for one record
	key     []byte // for a sort key
	value   []byte
	emitted int64
	tally   tally
	closed  bool // the command wants no more
}

// Begin implements jobs.Attempter.
func (r *runner) Begin(a jobs.OwnAttempt) { r.attempt = a }

// Close implements io.Closer: it kills a command that is still there.
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

// leave removes the working directory.
func (r *runner) leave() {
	if r.temp != nil {
		_ = r.temp.Close() // what the command has left there is of no use
		r.temp = nil
	}
}

// errNoRoom fails an attempt whose records need more memory than there is.
var errNoRoom = errors.New("no memory is left within the bound of the run; raise Options.MemoryBytes")

// charge asks the run for memory.
func (r *runner) charge(bytes int64) error {
	if r.attempt.Charge != nil && !r.attempt.Charge(bytes) {
		return errNoRoom
	}
	return nil
}

// alive shows that the attempt makes progress.
func (r *runner) alive() { r.attempt.Progress(0, 0) }

// start runs the command of the stage, in its working directory and with its environment.
// kind is that of the task, m or r. split is nil in reduces. finish or Close ends the
// command.
func (r *runner) start(kind string, split *records.Split) error {
	// The pipes' buffers of an attempt, beside the kvbuffer. A combiner uses the room that its
	// map has asked for.
	if !r.combine {
		if err := r.charge(4*child.BufferBytes + records.BufferBytes); err != nil {
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
	env := w.environment(id, r.attempt.Number, dir, split)
	args, err := resolve(r.stage.words, dir, env)
	if err != nil {
		return fmt.Errorf("configuration exception: %w", err)
	}
	r.errors = newStderr(w, id, r.attempt.Number, &r.tally)
	r.errors.tell = r.attempt.Status
	r.process, err = child.Start(r.attempt.Context, child.Config{
		Args: args, Dir: dir, Env: env, Output: r.output, Error: r.errors.take, Alive: r.alive,
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

// output cuts what the command has written into records, and returns how many bytes of p
// it used. It is called while the attempt writes to the command or ends it, so emit needs
// no lock.
func (r *runner) output(p []byte, ended bool) (int, error) {
	return r.stage.out.Read(p, ended, r.emit)
}

// write sends a record to the command, in the format of the stage.
func (r *runner) write(key, value []byte) error {
	r.room = r.stage.in.Append(r.room[:0], key, value)
	return r.send(r.room)
}

// send writes to the command. Hadoop fails the task if a command stops reading while
// there is more than a buffer for it. A friendly job takes this as a choice of the
// command, as a shell does.
func (r *runner) send(p []byte) error {
	if r.closed {
		return nil
	}
	err := r.process.Write(p)
	if errors.Is(err, child.ErrClosed) {
		r.closed = true
		if r.work.o.Friendly {
			r.work.o.Warn(fmt.Sprintf("%s: the command has closed its input early; Hadoop fails the task where more than 128 KiB are left", r.stage.command))
			return nil
		}
		// The exit code of the command says more than the broken pipe.
		if _, failed := r.finish(); failed != nil {
			return failed
		}
		return fmt.Errorf("%s: %w: Broken pipe", r.stage.command, err)
	}
	return err
}

// finish closes the command's standard input, waits until its output has ended, and
// judges its exit code. It does nothing if no command runs.
func (r *runner) finish() (child.Exit, error) {
	if r.process == nil {
		return child.Exit{}, nil
	}
	exit, err := r.process.Close()
	r.process = nil
	r.errors.close()
	r.leave()
	if err == nil && !r.work.o.Friendly {
		err = r.errors.failed
	}
	if err != nil {
		return exit, fmt.Errorf("%s: %w", r.stage.command, err)
	}
	if failed := exit.Failed(); failed != nil {
		if r.work.conf.Bool("stream.non.zero.exit.is.failure", true) {
			return exit, fmt.Errorf("%s: PipeMapRed.waitOutputThreads(): %w%s", r.stage.command, failed, r.errors.last())
		}
	}
	return exit, nil
}

// mapper is a map: it reads its split and feeds the command.
type mapper struct {
	runner
	out jobs.Emitter
}

// Map reads the split of the attempt. The block of the engine is empty.
func (m *mapper) Map(_ jobs.Block, out jobs.Emitter) error {
	w := m.work
	split := &w.splits[m.attempt.Task]
	m.out = out
	flush := func() {}
	m.emit = m.emitter()
	if w.exact && w.o.ValueOrder == AsTheyAre {
		m.emit, flush = m.exactly(out)
	}
	if m.stage.kind != command {
		err := w.input.each(*split, m.charge, m.read(split), nil, func(key, value []byte) error {
			if m.stage.kind == inverse {
				key, value = value, key
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
	// The command gets lines as they are in the file, so whole runs of them are passed on without
	// a look at each.
	if m.stage.in.NoKey && w.input.key == wire.Long {
		raw = m.send
	}
	err := w.input.each(*split, m.charge, m.read(split), raw, func(key, value []byte) error { return m.write(key, value) })
	if err == nil {
		_, err = m.finish()
	}
	if err == nil {
		flush()
	}
	return m.judge(split, err)
}

// judge ends the map: it keeps what the map has counted, or says in which split it
// failed. Counters of an attempt that failed do not count.
func (m *mapper) judge(split *records.Split, err error) error {
	if err != nil {
		return fmt.Errorf("%s:%d+%d: %w", split.Path, split.Start, split.Length, err)
	}
	m.work.keep(taskID{"m", m.attempt.Task}, m.tally)
	return nil
}

// read returns a function that notes progress: new records, and the bytes of the split
// that are done.
func (m *mapper) read(split *records.Split) func(records, done int64) {
	before := int64(0)
	return func(records, done int64) {
		m.attempt.Read(records, done-before)
		before = done
		m.attempt.Progress(min(done, split.Length), max(split.Length, 1))
	}
}

// emitter returns what becomes of a record of a map.
func (m *mapper) emitter() func(key, value []byte) {
	if m.work.MapOnly {
		return m.work.texter(m.out, m.work.mapKinds, &m.tally)
	}
	return m.sorter(m.out)
}

// sorter returns what emits a record for reduces. If the job has an order of its
// own, the engine's key is the reduce, then what the order makes of the key. The
// value holds both key and value.
func (r *runner) sorter(out jobs.Emitter) func(key, value []byte) {
	if !r.work.paired() {
		return out.Emit
	}
	var place []byte
	return func(key, value []byte) {
		place = r.work.place(place[:0], key)
		r.emitPaired(out, place, key, value)
	}
}

// partOf returns the reduce that a key of sorter names.
func partOf(key []byte, parts int) int { return int(binary.BigEndian.Uint32(key)) % parts }

// pair returns the key and value that a value of sorter holds.
func pair(stored []byte) (key, value []byte) {
	n, size := binary.Uvarint(stored)
	return stored[size : size+int(n)], stored[size+int(n):]
}

// texter returns what writes a record as text (TextOutputFormat).
func (w *Work) texter(out jobs.Emitter, kinds [2]wire.Kind, t *tally) func(key, value []byte) {
	if w.drops {
		return func([]byte, []byte) { t.dropped++ }
	}
	if kinds == [2]wire.Kind{} && w.textSeparator == "\t" {
		return func(key, value []byte) {
			if value == nil { // nil would leave the TAB out
				value = []byte{}
			}
			out.Emit(key, value)
		}
	}
	var line []byte
	return func(key, value []byte) {
		line = line[:0]
		if kinds[0] != wire.Null {
			line = kinds[0].AppendString(line, key)
			if kinds[1] != wire.Null {
				line = append(line, w.textSeparator...)
			}
		}
		if kinds[1] != wire.Null {
			line = kinds[1].AppendString(line, value)
		}
		out.Emit(nil, line)
	}
}

// groups is a reduce or a combine: it feeds its command with the records of each group.
// One command gets all groups, and sees where a key ends by the next key, as in Hadoop. A
// combine is begun anew for each spill.
type groups struct {
	runner
	last    []byte // the key of the record before, where an order makes larger groups
	sums    *sums  // of aggregate
	ordered bool   // values hold the key too
	started bool
}

// newGroups makes one for an attempt.
func (w *Work) newGroups(s *stage, combine bool) jobs.Reducer {
	g := &groups{runner: runner{work: w, stage: s, combine: combine}, ordered: w.paired()}
	if s.kind == aggregate {
		g.sums = &sums{combine: combine}
	}
	return g
}

// reduceKinds returns the kinds of the keys and values that a reduce emits, which say how
// they become text.
func (g *groups) reduceKinds() [2]wire.Kind {
	switch g.stage.kind {
	case command:
		k, v := g.stage.out.Format.Kinds()
		return [2]wire.Kind{k, v}
	case aggregate:
		return [2]wire.Kind{}
	}
	return g.work.mapKinds
}

// open begins the attempt: it starts the command before the first group. A combine is
// opened again after each Flush.
func (g *groups) open(out jobs.Emitter) error {
	if g.started {
		return nil
	}
	g.started, g.closed = true, false
	if g.combine {
		g.emit = g.sorter(out)
	} else {
		g.emit = g.work.texter(out, g.reduceKinds(), &g.tally)
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

// Reduce feeds a group, in a combine.
func (g *groups) Reduce(key []byte, vs *jobs.Values, out jobs.Emitter) error {
	for vs.Next() {
		if err := g.ReduceRecord(key, vs.Value(), out); err != nil {
			return err
		}
	}
	return nil
}

// ReduceRecord feeds a record.
func (g *groups) ReduceRecord(key, value []byte, out jobs.Emitter) error {
	if !g.started {
		if err := g.open(out); err != nil {
			return err
		}
	}
	if g.ordered {
		key, value = pair(value)
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
	}
	g.emit(key, value)
	return nil
}

// roomBytes is how many bytes of records a reduce collects before it sends them.
const roomBytes = child.BufferBytes

// sendRoom sends what was collected, since a write to a pipe costs a system call.
func (g *groups) sendRoom() error {
	if len(g.room) == 0 {
		return nil
	}
	err := g.send(g.room)
	g.room = g.room[:0]
	return err
}

// Flush ends the command. A reduce without groups starts it all the same, and drops
// what it writes.
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
		_, err = g.finish()
	}
	g.started = false
	if err != nil {
		return err
	}
	if empty { // its counters are dropped as well
		g.tally = tally{}
	}
	if g.combine {
		g.work.add(taskID{"c", g.attempt.Task}, g.tally)
		g.tally = tally{}
		return nil
	}
	g.work.keep(taskID{"r", g.attempt.Task}, g.tally)
	return nil
}
