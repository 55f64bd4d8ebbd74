package streaming

import (
	"bytes"
	"strings"

	"mrlocal/streaming/parse"
	"mrlocal/streaming/records"
	"mrlocal/streaming/wire"
)

// inputFormat is how splits become records: the classes of -inputformat and -inputreader,
// with their properties.
type inputFormat struct {
	format     string // TextInputFormat, KeyValueTextInputFormat, NLineInputFormat or StreamXmlRecordReader
	key        wire.Kind
	ignoresKey bool // the offset of a line is not written to the command
	separator  byte // of KeyValueTextInputFormat
	delimiter  []byte
	maxBytes   int64  // of a line; 0: any number
	begin, end string // of XML
}

// chooseInput reads -inputformat and -inputreader (StreamJob.setJobConf).
func (w *Work) chooseInput() error {
	in := &w.input
	in.format, in.key = "TextInputFormat", wire.Long
	switch name := w.args.InputFormat; name {
	case "", "TextInputFormat", "org.apache.hadoop.mapred.TextInputFormat":
		in.ignoresKey = true
		// Without -inputformat a reader alone chooses Hadoop's StreamInputFormat.
		if name == "" && w.args.InputReader != "" {
			return w.chooseReader()
		}
	case "KeyValueTextInputFormat", "org.apache.hadoop.mapred.KeyValueTextInputFormat":
		if w.args.InputReader != "" {
			return w.chooseReader()
		}
		in.format, in.key = "KeyValueTextInputFormat", wire.Text
		in.separator = w.conf.Get("mapreduce.input.keyvaluelinerecordreader.key.value.separator", "\t")[0]
	case "org.apache.hadoop.mapred.lib.NLineInputFormat":
		in.format = "NLineInputFormat"
	case "StreamInputFormat", "org.apache.hadoop.streaming.StreamInputFormat":
		return w.chooseReader()
	case "SequenceFileInputFormat", "SequenceFileAsTextInputFormat":
		return refuse(1, "-inputformat : class not built here : %s", name)
	default:
		if isClass(name) {
			return refuse(1, "-inputformat : class not built here : %s", name)
		}
		return &parse.Error{Exit: 1, Lines: []string{"-inputformat : class not found : " + name, "Try -help for more information"}}
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

// chooseReader reads -inputreader, such as
// "StreamXmlRecordReader,begin=<a>,end=</a>".
func (w *Work) chooseReader() error {
	in := &w.input
	in.ignoresKey = false
	parts := strings.Split(w.args.InputReader, ",")
	switch last(parts[0]) {
	case "":
		in.format, in.key = "KeyValueTextInputFormat", wire.Text // StreamInputFormat without a reader
		in.separator = '\t'
		return nil
	case "StreamXmlRecordReader":
	default:
		return &parse.Error{Exit: 1, Lines: []string{"-inputreader: class not found: " + parts[0], "Try -help for more information"}}
	}
	in.format, in.key = "StreamXmlRecordReader", wire.Text
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

// linesPerMap returns how many lines a split has; 0: splits are cut by bytes.
func (in *inputFormat) linesPerMap(c parse.Conf) (int, error) {
	if in.format != "NLineInputFormat" {
		return 0, nil
	}
	n, err := c.Int("mapreduce.input.lineinputformat.linespermap", 1)
	if err != nil {
		return 0, refuse(1, "%v", err)
	}
	return int(max(1, n)), nil
}

// each calls record with each record of a split, its key and value as they are stored;
// both are borrowed until the next record. raw, if it is not nil, gets runs of whole
// lines instead, each line ending with LF. That is much faster where a command gets lines
// as they are. charge asks for memory. read gets how many records were read since its
// last call, and how many bytes of the split in all.
func (in *inputFormat) each(s records.Split, charge func(int64) error, read func(records, done int64), raw func(lines []byte) error, record func(key, value []byte) error) error {
	if in.format == "StreamXmlRecordReader" {
		return in.eachXML(s, charge, read, record)
	}
	r, err := records.Open(s, records.ReaderOptions{Delimiter: in.delimiter, MaxBytes: in.maxBytes, Charge: charge})
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
			key = wire.AppendLong(key[:0], offset)
			err = record(key, line)
		}
		if err != nil {
			return err
		}
		read(1, r.Done()-s.Start)
	}
}

// eachXML is each for elements of XML: the element is the key, the value is empty.
func (in *inputFormat) eachXML(s records.Split, charge func(int64) error, read func(records, done int64), record func(key, value []byte) error) error {
	x, err := records.OpenXML(s, in.begin, in.end, records.ReaderOptions{Charge: charge})
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
