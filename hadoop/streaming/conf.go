package streaming

import (
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Conf is the configuration of a job. It maps the current name of each property to its value.
// Methods take old names too. Values are texts, as in Hadoop, and Int and Bool convert them at
// each call. Several goroutines may use a Conf as long as none calls Set.
type Conf map[string]string

// renamed lists properties that were renamed, with the old name first. It has those of Hadoop's
// DeprecatedProperties that a streaming job may set or see.
var renamed = [...][2]string{
	{"mapred.reduce.tasks", "mapreduce.job.reduces"},
	{"mapred.map.tasks", "mapreduce.job.maps"},
	{"mapred.job.name", "mapreduce.job.name"},
	{"mapred.job.id", "mapreduce.job.id"},
	{"mapred.tip.id", "mapreduce.task.id"},
	{"mapred.task.id", "mapreduce.task.attempt.id"},
	{"mapred.task.is.map", "mapreduce.task.ismap"},
	{"mapred.task.partition", "mapreduce.task.partition"},
	{"mapred.task.timeout", "mapreduce.task.timeout"},
	{"mapred.task.profile", "mapreduce.task.profile"},
	{"mapred.job.priority", "mapreduce.job.priority"},
	{"mapred.job.queue.name", "mapreduce.job.queuename"},
	{"mapred.job.tracker", "mapreduce.jobtracker.address"},
	{"mapred.local.dir", "mapreduce.cluster.local.dir"},
	{"mapred.temp.dir", "mapreduce.cluster.temp.dir"},
	{"mapred.input.dir", "mapreduce.input.fileinputformat.inputdir"},
	{"mapred.input.dir.recursive", "mapreduce.input.fileinputformat.input.dir.recursive"},
	{"mapred.min.split.size", "mapreduce.input.fileinputformat.split.minsize"},
	{"mapred.max.split.size", "mapreduce.input.fileinputformat.split.maxsize"},
	{"mapred.output.dir", "mapreduce.output.fileoutputformat.outputdir"},
	{"mapred.output.compress", "mapreduce.output.fileoutputformat.compress"},
	{"mapred.output.compression.codec", "mapreduce.output.fileoutputformat.compress.codec"},
	{"mapred.output.compression.type", "mapreduce.output.fileoutputformat.compress.type"},
	{"mapred.compress.map.output", "mapreduce.map.output.compress"},
	{"mapred.work.output.dir", "mapreduce.task.output.dir"},
	{"mapred.working.dir", "mapreduce.job.working.dir"},
	{"mapred.textoutputformat.separator", "mapreduce.output.textoutputformat.separator"},
	{"mapred.line.input.format.linespermap", "mapreduce.input.lineinputformat.linespermap"},
	{"mapred.linerecordreader.maxlength", "mapreduce.input.linerecordreader.line.maxlength"},
	{"key.value.separator.in.input.line", "mapreduce.input.keyvaluelinerecordreader.key.value.separator"},
	{"map.input.file", "mapreduce.map.input.file"},
	{"map.input.start", "mapreduce.map.input.start"},
	{"map.input.length", "mapreduce.map.input.length"},
	{"map.output.key.field.separator", "mapreduce.map.output.key.field.separator"},
	{"mapred.text.key.partitioner.options", "mapreduce.partition.keypartitioner.options"},
	{"mapred.text.key.comparator.options", "mapreduce.partition.keycomparator.options"},
	{"mapred.output.key.comparator.class", "mapreduce.job.output.key.comparator.class"},
	{"mapred.output.value.groupfn.class", "mapreduce.job.output.group.comparator.class"},
	{"mapred.binary.partitioner.left.offset", "mapreduce.partition.binarypartitioner.left.offset"},
	{"mapred.binary.partitioner.right.offset", "mapreduce.partition.binarypartitioner.right.offset"},
	{"mapred.mapoutput.key.class", "mapreduce.map.output.key.class"},
	{"mapred.mapoutput.value.class", "mapreduce.map.output.value.class"},
	{"mapred.output.key.class", "mapreduce.job.output.key.class"},
	{"mapred.output.value.class", "mapreduce.job.output.value.class"},
	{"mapred.data.field.separator", "mapreduce.fieldsel.data.field.separator"},
	{"map.output.key.value.fields.spec", "mapreduce.fieldsel.map.output.key.value.fields.spec"},
	{"reduce.output.key.value.fields.spec", "mapreduce.fieldsel.reduce.output.key.value.fields.spec"},
	{"mapred.map.max.attempts", "mapreduce.map.maxattempts"},
	{"mapred.reduce.max.attempts", "mapreduce.reduce.maxattempts"},
	{"mapred.reduce.slowstart.completed.maps", "mapreduce.job.reduce.slowstart.completedmaps"},
	{"mapred.map.tasks.speculative.execution", "mapreduce.map.speculative"},
	{"mapred.reduce.tasks.speculative.execution", "mapreduce.reduce.speculative"},
	{"mapred.skip.on", "mapreduce.job.skiprecords"},
	{"io.sort.mb", "mapreduce.task.io.sort.mb"},
	{"io.sort.factor", "mapreduce.task.io.sort.factor"},
	{"io.sort.spill.percent", "mapreduce.map.sort.spill.percent"},
	{"user.name", "mapreduce.job.user.name"},
	{"fs.default.name", "fs.defaultFS"},
	{"job.end.notification.url", "mapreduce.job.end-notification.url"},
}

// Current returns the current name of a property that was renamed. It returns any other name as it
// is.
func Current(name string) string {
	if i := slices.IndexFunc(renamed[:], func(r [2]string) bool { return r[0] == name }); i >= 0 {
		return renamed[i][1]
	}
	return name
}

// OldName returns the old name of a property, if it had one.
func OldName(name string) (string, bool) {
	if i := slices.IndexFunc(renamed[:], func(r [2]string) bool { return r[1] == name }); i >= 0 {
		return renamed[i][0], true
	}
	return "", false
}

// Set sets a property, by any of its names.
func (c Conf) Set(name, value string) { c[Current(name)] = value }

// Get returns the value of a property, by any of its names. It returns otherwise if the property is
// not set. A property that is set to "" counts as set.
func (c Conf) Get(name, otherwise string) string {
	if v, ok := c[Current(name)]; ok {
		return v
	}
	return otherwise
}

// Has reports whether a property is set.
func (c Conf) Has(name string) bool {
	_, ok := c[Current(name)]
	return ok
}

// Int returns the value of a property that is a whole number, or otherwise if it is not set. Spaces
// around the number are allowed. It fails if the value is not a whole number of 64 bits.
func (c Conf) Int(name string, otherwise int64) (int64, error) {
	v, ok := c[Current(name)]
	if !ok {
		return otherwise, nil
	}
	// Hadoop takes hexadecimal numbers with 0x too (Configuration.getLong).
	n, err := strconv.ParseInt(strings.TrimSpace(v), 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not a whole number", name, v)
	}
	return n, nil
}

// Bool returns the value of a property that is true or false, in any case of letters. It returns
// otherwise for any other text, or if the property is not set (Configuration.getBoolean).
func (c Conf) Bool(name string, otherwise bool) bool {
	switch strings.ToLower(strings.TrimSpace(c[Current(name)])) {
	case "true":
		return true
	case "false":
		return false
	}
	return otherwise
}

// Names returns the current names of all properties, sorted.
func (c Conf) Names() []string { return slices.Sorted(maps.Keys(c)) }

// read adds the properties of a configuration file in XML, as hadoop -conf does. A property
// replaces an earlier one of the same name. The mark final has no effect; in Hadoop it protects a
// property from later files.
func (c Conf) read(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var file struct {
		Property []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"property"`
	}
	if err := xml.Unmarshal(text, &file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, p := range file.Property {
		c.Set(strings.TrimSpace(p.Name), p.Value)
	}
	return nil
}

// Split divides a command into its words at spaces outside of quotes, as PipeMapRed.splitArgs
// does. The rules are not those of a shell. A quote also divides, so a'b c'd is three words,
// and an empty pair of quotes is not a word. A backslash is an ordinary character. A quote that
// is not closed lasts to the end of the command.
func SplitCommand(command string) []string {
	var texts []string
	for _, w := range Words(command) {
		texts = append(texts, w.Text)
	}
	return texts
}

// Word is a word of a command.
type Word struct {
	Text   string // without the quotes
	Quoted bool   // the word stood between quotes
}

// Words divides a command as Split does, and says which words were quoted.
func Words(command string) []Word {
	var words []Word
	// quote is the quote that is open, or 0. from is the index of the first byte of the current word.
	quote, from := byte(0), 0
	// One round more than there are bytes: the end of the command ends the last word.
	for i := 0; i <= len(command); i++ {
		// quoted is read before the switch, because the byte that closes a quote resets it.
		ends, quoted := i == len(command), quote != 0
		if !ends {
			switch c := command[i]; {
			case c == ' ' && quote == 0:
				ends = true
			case (c == '\'' || c == '"') && quote == 0:
				quote, ends = c, true
			case c == quote && quote != 0:
				quote, ends = 0, true
			}
		}
		if ends {
			if i > from {
				words = append(words, Word{command[from:i], quoted})
			}
			from = i + 1
		}
	}
	return words
}
