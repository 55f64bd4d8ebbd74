package streaming

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"mrlocal/internal/errs"
	"mrlocal/output"
)

// separator returns the bytes of a property that is a separator, by default a TAB. It is
// empty if the property is set to "".
func (w *Work) separator(name string) []byte { return []byte(w.conf.Get(name, "\t")) }

// chooseStages sets the kinds and commands of the three stages (StreamJob.setJobConf). A
// job with -reducer NONE, or with 0 reduces, is map-only and runs no combiner.
func (w *Work) chooseStages() error {
	a := w.args
	if a.Reducer.Given && a.Reducer.Text == "NONE" {
		w.Reducers = 0
	}
	w.MapOnly = w.Reducers == 0
	if err := w.mapper.choose("mapper", a.Mapper, identity); err != nil {
		return err
	}
	if err := w.combiner.choose("combiner", a.Combiner, absent); err != nil {
		return err
	}
	if w.MapOnly {
		w.combiner.kind = absent
	} else if err := w.reducer.choose("reducer", a.Reducer, identity); err != nil {
		return err
	}
	// The reducer aggregate is also the combiner, whatever -combiner says.
	if !w.MapOnly && strings.EqualFold(a.Reducer.Text, "aggregate") {
		w.reducer.kind, w.combiner.kind = aggregate, aggregate
	}
	for _, s := range []*stage{&w.mapper, &w.combiner, &w.reducer} {
		if s.kind != command {
			continue
		}
		if s.words = SplitCommand(s.command); len(s.words) == 0 {
			return failed("an empty command")
		}
		w.unqualify(s.words)
	}
	for _, name := range []string{"mapdebug", "reducedebug"} {
		if slices.Contains(a.Debugs, name) {
			w.o.Warn("-" + name + ": debug scripts are not run here")
		}
	}
	return nil
}

// unqualify replaces the path of a program by its name in the working directory, if -file
// ships the program (StreamJob.unqualifyIfLocalPath).
func (w *Work) unqualify(words []string) {
	abs, err := filepath.Abs(words[0])
	if err != nil {
		return
	}
	for _, f := range w.args.Files {
		if f.Packed && f.Path == abs {
			words[0] = f.Link
		}
	}
}

// choose sets the kind and the command of the stage that -mapper, -combiner or -reducer names. what is
// the option without its hyphen. otherwise is the kind if the option is not given. It refuses a class
// of Hadoop that is not built in.
func (s *stage) choose(what string, c Command, otherwise stageKind) error {
	if s.kind = otherwise; !c.Given {
		return nil
	}
	kinds := map[string]stageKind{
		"IdentityMapper": identity, "IdentityReducer": identity, "InverseMapper": inverse,
		"aggregate.ValueAggregatorReducer": aggregate, "aggregate.ValueAggregatorCombiner": aggregate,
		"FieldSelectionMapReduce": selection,
	}
	if kind, known := kinds[strings.TrimPrefix(c.Text, "org.apache.hadoop.mapred.lib.")]; known && isClass(c.Text) {
		s.kind = kind
		return nil
	}
	if isClass(c.Text) {
		return noClass(what, c.Text)
	}
	s.kind, s.command = command, c.Text
	return nil
}

// isClass reports whether text is the name of a class of Hadoop. Hadoop takes any other
// name for a command too, unless a class of that name is on its class path.
func isClass(text string) bool { return strings.HasPrefix(text, "org.apache.hadoop.") }

// noClass returns the error for a class that an option names and that is not built in. Hadoop does not find
// classes of other packages either.
func noClass(option, class string) error {
	if isClass(class) {
		return refuse(1, "-%s : class not built here : %s", option, class)
	}
	return fail("-%s : class not found : %s", option, class)
}

// formatOf returns the format of records on their way to or from a command. name is
// map.input, map.output, reduce.input or reduce.output.
func (w *Work) formatOf(name string) Format {
	return FormatNamed(w.conf.Get("stream."+name, ""))
}

// chooseKinds finds the kinds of keys and values between the stages. It sets in and out of
// each stage.
func (w *Work) chooseKinds() error {
	in := [2]Kind{w.input.key, Text}
	w.mapKinds = in
	switch w.mapper.kind {
	case command:
		w.mapper.out.Format, w.mapper.out.Separator = w.formatOf("map.output"), w.separator("stream.map.output.field.separator")
		w.mapKinds = w.mapper.out.Format.Kinds()
		w.mapper.in = Writer{Format: w.formatOf("map.input"), Separator: w.separator("stream.map.input.field.separator"), Key: in[0], Value: in[1]}
		w.mapper.in.NoKey = w.mapper.in.Format == TextLines && w.conf.Bool("stream.map.input.ignoreKey", w.input.ignoresKey)
	case inverse:
		w.mapKinds = [2]Kind{in[1], in[0]}
	case selection:
		w.mapKinds = [2]Kind{Text, Text}
	case aggregate:
		return refuse(1, "-mapper : %s is not a mapper", w.args.Mapper.Text)
	}
	if err := w.chooseFields(); err != nil {
		return err
	}
	for _, s := range []*stage{&w.combiner, &w.reducer} {
		s.in = Writer{Format: w.formatOf("reduce.input"), Separator: w.separator("stream.reduce.input.field.separator"), Key: w.mapKinds[0], Value: w.mapKinds[1]}
		s.out.Format, s.out.Separator = w.formatOf("reduce.output"), w.separator("stream.reduce.output.field.separator")
	}
	// If the mapper is not a command, Hadoop gives the map's output the classes of the reducer's
	// output. Each map then fails if it emits another class (MapTask, "Type mismatch").
	if !w.MapOnly && w.mapper.kind != command {
		for i, what := range []string{"key", "value"} {
			declared := w.declared(i, what)
			// A friendly job goes on. The engine moves bytes, which have no class.
			if received := className(w.mapKinds[i]); declared != received && !w.o.Friendly {
				return failed("java.lang.Exception: java.io.IOException: Type mismatch in %s from map: expected %s, received %s", what, declared, received)
			}
		}
	}
	return nil
}

// declared returns the class that Hadoop expects of what a map without a command emits: of its keys (i 0, what
// "key") or of its values (1, "value").
func (w *Work) declared(i int, what string) string {
	if w.conf.Has("stream.map.output") {
		return className(w.formatOf("map.output").Kinds()[i])
	}
	output := w.conf.Get("mapreduce.job.output."+what+".class", className([...]Kind{Long, Text}[i]))
	if w.reducer.kind == command || w.conf.Has("stream.reduce.output") {
		output = className(w.formatOf("reduce.output").Kinds()[i])
	}
	return w.conf.Get("mapreduce.map.output."+what+".class", output)
}

// className returns the full name of Hadoop's class for a kind.
func className(k Kind) string {
	return [...]string{"org.apache.hadoop.io.Text", "org.apache.hadoop.io.LongWritable", "org.apache.hadoop.io.BytesWritable", "org.apache.hadoop.typedbytes.TypedBytesWritable", "org.apache.hadoop.io.NullWritable"}[k]
}

// simpleName returns the part of a class name behind its package.
func simpleName(class string) string { return class[strings.LastIndexByte(class, '.')+1:] }

// chooseOrder reads the comparator of keys. Only KeyFieldBasedComparator changes the
// order; that of Text compares bytes, as the engine does.
func (w *Work) chooseOrder() error {
	class := w.conf.Get("mapreduce.job.output.key.comparator.class", "")
	if group := w.conf.Get("mapreduce.job.output.group.comparator.class", ""); group != "" && simpleName(group) != "KeyFieldBasedComparator" {
		return refuse(1, "mapreduce.job.output.group.comparator.class : class not built here : %s", group)
	}
	switch {
	case class == "" || class == "org.apache.hadoop.io.Text$Comparator":
		return nil
	case simpleName(class) == "KeyFieldBasedComparator" && isClass(class):
		s, err := Parse(w.conf.Get("mapreduce.partition.keycomparator.options", ""), w.conf.Get("mapreduce.map.output.key.field.separator", "\t"))
		if err != nil {
			return failed("mapreduce.partition.keycomparator.options: %v", err)
		}
		w.order = &Order{Specs: s}
		return nil
	}
	return refuse(1, "mapreduce.job.output.key.comparator.class : class not built here : %s", class)
}

// choosePartition sets w.partition, a function of the bytes of a key and the number of
// reduces. It gives the same reduce as Hadoop's class of that name.
func (w *Work) choosePartition() error {
	class := cmp.Or(w.args.Partitioner, w.conf.Get("mapred.partitioner.class", ""))
	w.partition = w.mapKinds[0].Partition
	switch class {
	case "", "org.apache.hadoop.mapred.lib.HashPartitioner":
	case "org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner":
		separator := w.conf.Get("mapreduce.map.output.key.field.separator", "\t")
		s, err := Parse(w.conf.Get("mapreduce.partition.keypartitioner.options", ""), separator)
		if err != nil {
			return failed("mapreduce.partition.keypartitioner.options: %v", err)
		}
		if w.conf.Has("num.key.fields.for.partition") {
			n, err := w.conf.Int("num.key.fields.for.partition", 0)
			if err != nil {
				return refuse(1, "%v", err)
			}
			s = First(int(n), separator)
		}
		w.partition = func(key []byte, parts int) int { return ByFields(&s, w.keyText(key), parts) }
	case "org.apache.hadoop.mapred.lib.BinaryPartitioner":
		left, err := w.conf.Int("mapreduce.partition.binarypartitioner.left.offset", 0)
		right, err2 := w.conf.Int("mapreduce.partition.binarypartitioner.right.offset", -1)
		if err != nil || err2 != nil {
			return refuse(1, "mapreduce.partition.binarypartitioner: an offset is not a number")
		}
		w.partition = func(key []byte, parts int) int {
			p, ok := BySlice(key, int(left), int(right), parts)
			if !ok {
				// A partitioner has no error to return. The engine turns the panic into a failed
				// attempt, as Hadoop's exception is.
				panic(errs.Optionf("BinaryPartitioner", "/ by zero: an empty key, or an offset outside of it"))
			}
			return p
		}
	default:
		return noClass("partitioner", class)
	}
	if w.Reducers <= 1 { // Hadoop does not call the partitioner then
		w.partition = func([]byte, int) int { return 0 }
	}
	return nil
}

// keyText returns a key as text, as toString of its class gives it. It may be key itself.
func (w *Work) keyText(key []byte) []byte {
	if w.mapKinds[0] == Text {
		return key
	}
	return w.mapKinds[0].AppendString(nil, key)
}

// chooseOutput reads the output format: whether the job writes records, the style of its
// output directory, and the compression of its parts.
func (w *Work) chooseOutput() error {
	switch w.args.OutputFormat {
	case "", "org.apache.hadoop.mapred.TextOutputFormat":
	case "org.apache.hadoop.mapred.lib.NullOutputFormat":
		w.drops = true
	default:
		return noClass("outputformat", w.args.OutputFormat)
	}
	w.Style = output.DirStyle{PlainNames: true, OmitEmpty: w.args.LazyOutput || w.drops, NoSuccess: !w.conf.Bool("mapreduce.fileoutputcommitter.marksuccessfuljobs", true)}
	if !w.conf.Bool("mapreduce.output.fileoutputformat.compress", false) {
		w.Compress = output.None
		return nil
	}
	class := w.conf.Get("mapreduce.output.fileoutputformat.compress.codec", "org.apache.hadoop.io.compress.DefaultCodec")
	codecs := map[string]output.Format{"DefaultCodec": output.Deflate, "DeflateCodec": output.Deflate, "GzipCodec": output.Gzip, "ZStandardCodec": output.Zstd, "BZip2Codec": output.Bzip2}
	if w.Compress = codecs[strings.TrimPrefix(class, "org.apache.hadoop.io.compress.")]; w.Compress == output.BySuffix || !isClass(class) {
		return failed("mapreduce.output.fileoutputformat.compress.codec : class not built here : %s", class)
	}
	return nil
}
