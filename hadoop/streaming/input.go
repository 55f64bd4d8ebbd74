package streaming

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// inputFormat says how a map reads records from its split: the class of -inputformat or
// -inputreader, and its properties.
type inputFormat struct {
	format     string // TextInputFormat, KeyValueTextInputFormat, NLineInputFormat or StreamXmlRecordReader
	key        Kind   // of the records' keys; their values are Text
	auto       bool   // AutoInputFormat, which reads sequence files too; they are refused
	ignoresKey bool   // by default, the command gets lines without their offsets
	separator  byte   // between key and value, of KeyValueTextInputFormat
	delimiter  []byte // ends a record; nil: LF, CR or CR LF
	maxBytes   int64  // a line of this many bytes is skipped (ReaderOptions); 0: no limit
	begin, end string // marks around a record of StreamXmlRecordReader
}

// chooseInput sets w.input from -inputformat and -inputreader (StreamJob.setJobConf).
func (w *Work) chooseInput() error {
	in := &w.input
	in.format, in.key = "TextInputFormat", Long
	switch name := w.args.InputFormat; name {
	case "", "TextInputFormat", "org.apache.hadoop.mapred.TextInputFormat":
		in.ignoresKey = true
		// Hadoop ignores a reader together with a named TextInputFormat. A reader without -inputformat
		// chooses StreamInputFormat.
		if name == "" && w.args.InputReader != "" {
			return w.chooseReader()
		}
	case "KeyValueTextInputFormat", "org.apache.hadoop.mapred.KeyValueTextInputFormat":
		if w.args.InputReader != "" {
			return w.chooseReader()
		}
		in.format, in.key = "KeyValueTextInputFormat", Text
		const name = "mapreduce.input.keyvaluelinerecordreader.key.value.separator"
		separator := w.separator(name)
		if len(separator) == 0 {
			return failed("%s: is empty", name)
		}
		in.separator = separator[0]
	case "AutoInputFormat", "org.apache.hadoop.streaming.AutoInputFormat": // TextInputFormat whose keys are not left out
		in.auto = true
	case "org.apache.hadoop.mapred.lib.NLineInputFormat":
		in.format = "NLineInputFormat"
	case "StreamInputFormat", "org.apache.hadoop.streaming.StreamInputFormat":
		return w.chooseReader()
	case "SequenceFileInputFormat", "SequenceFileAsTextInputFormat":
		return refuse(1, "-inputformat : class not built here : %s", name)
	default:
		return noClass("inputformat", name)
	}
	var err error
	if in.maxBytes, err = w.conf.Int("mapreduce.input.linerecordreader.line.maxlength", 0); err != nil {
		return failed("%v", err)
	}
	if d := w.conf.Get("textinputformat.record.delimiter", ""); d != "" && in.format == "TextInputFormat" {
		in.delimiter = []byte(d)
	}
	return nil
}

// chooseReader sets w.input from -inputreader, such as
// "StreamXmlRecordReader,begin=<a>,end=</a>". The text behind the name of the class becomes
// properties of the job.
func (w *Work) chooseReader() error {
	in := &w.input
	in.ignoresKey = false
	parts := strings.Split(w.args.InputReader, ",")
	switch simpleName(parts[0]) {
	case "":
		in.format, in.key = "KeyValueTextInputFormat", Text // StreamInputFormat without a reader
		in.separator = '\t'
		return nil
	case "StreamXmlRecordReader":
	default:
		return fail("-inputreader: class not found: %s", parts[0])
	}
	in.format, in.key = "StreamXmlRecordReader", Text
	for _, p := range parts[1:] {
		name, value, _ := strings.Cut(p, "=")
		w.conf.Set("stream.recordreader."+name, value)
	}
	in.begin, in.end = w.conf.Get("stream.recordreader.begin", ""), w.conf.Get("stream.recordreader.end", "")
	if w.conf.Bool("stream.recordreader.slowmatch", false) {
		return refuse(1, "-inputreader: slowmatch is not built here")
	}
	return nil
}

// isSequenceFile reports whether a file begins as Hadoop's sequence files do. It reports false for a file that
// cannot be read, so that its reader says why.
func isSequenceFile(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 3)
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == "SEQ"
}

// linesPerMap returns the number of lines of a split, or 0 if splits are cut by bytes.
func (in *inputFormat) linesPerMap(c Conf) (int, error) {
	if in.format != "NLineInputFormat" {
		return 0, nil
	}
	n, err := c.Int("mapreduce.input.lineinputformat.linespermap", 1)
	if err != nil {
		return 0, refuse(1, "%v", err)
	}
	return int(max(1, n)), nil
}

// each calls record with the key and value of each record of a split, in the form in which
// the engine stores them (package streaming). They are borrowed during the call.
//
// raw, if it is not nil, gets whole lines at once instead, each ending with LF, also
// borrowed. A command that gets lines unchanged runs much faster this way. Lines that need
// care still go to record. charge asks the run for bytes of memory. read gets the number
// of records since its last call, and the bytes of the split that were read so far. each
// returns the first error of the functions or of reading.
func (in *inputFormat) each(s FileSplit, charge func(int64) error, read func(records, done int64), raw func(lines []byte) error, record func(key, value []byte) error) error {
	if in.format == "StreamXmlRecordReader" {
		return in.eachXML(s, charge, read, record)
	}
	if in.auto && isSequenceFile(s.Path) {
		return fmt.Errorf("%s: sequence files are not read here", s.Path)
	}
	r, err := Open(s, ReaderOptions{Delimiter: in.delimiter, MaxBytes: in.maxBytes, Charge: charge})
	if err != nil {
		return err
	}
	defer r.Close()
	var key []byte
	for {
		if raw != nil {
			text, lines, err := r.Chunk()
			if err == nil && lines > 0 {
				err = raw(text)
			}
			if err != nil {
				return err
			}
			read(lines, r.Done()-s.Start)
		}
		line, offset, ok, err := r.Next()
		if err != nil || !ok {
			return err
		}
		if in.format == "KeyValueTextInputFormat" {
			k, v := line, line[len(line):]
			if at := bytes.IndexByte(line, in.separator); at >= 0 {
				k, v = line[:at], line[at+1:]
			}
			err = record(k, v)
		} else {
			key = AppendLong(key[:0], offset)
			err = record(key, line)
		}
		if err != nil {
			return err
		}
		read(1, r.Done()-s.Start)
	}
}

// eachXML is each for StreamXmlRecordReader. The key is the element with its marks, and the
// value is empty.
func (in *inputFormat) eachXML(s FileSplit, charge func(int64) error, read func(records, done int64), record func(key, value []byte) error) error {
	x, err := OpenXML(s, in.begin, in.end, ReaderOptions{Charge: charge})
	if err != nil {
		return err
	}
	defer x.Close()
	for {
		element, ok, err := x.Next()
		if err != nil || !ok {
			return err
		}
		if err := record(element, []byte{}); err != nil {
			return err
		}
		read(1, x.Done()-s.Start)
	}
}
