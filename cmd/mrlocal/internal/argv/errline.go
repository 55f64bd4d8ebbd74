package argv

import (
	"cmp"
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"mrlocal/errs"
)

// mostLineBytes bounds an error line, so that a word of a megabyte is not
// repeated.
const mostLineBytes = 4096

// ErrorLine returns err as the one line that a user sees, with its newline:
//
//	mrlocal: what: object: cause
//
// what is the command, or empty. Joined errors stand one after the other.
func ErrorLine(what string, err error) string {
	text := message(err)
	if what != "" {
		text = what + ": " + text
	}
	return "mrlocal: " + shorten(errs.OneLine(InFlags(text)), mostLineBytes) + "\n"
}

// message puts joined errors on one line; errors.Join puts each on a line of its
// own.
func message(err error) string {
	// An error without an object begins with its cause.
	if e, ok := err.(*errs.Error); ok {
		return strings.TrimPrefix(e.Object+": "+message(e.Cause), ": ")
	}
	// An error that wraps several and words them itself, as fmt.Errorf does, stays as it is.
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || errors.Join(joined.Unwrap()...).Error() != err.Error() {
		return err.Error()
	}
	var texts []string
	for _, part := range joined.Unwrap() {
		texts = append(texts, message(part))
	}
	return strings.Join(texts, "; ")
}

// Quote returns a word of the command line for a message: as it is if that is
// clear, otherwise in quotation marks. A long word is shortened.
func Quote(word string) string {
	// Bytes of a word in a message. A longer word hides the message.
	const most = 60
	escaped := shorten(errs.OneLine(word), most)
	if escaped == "" || escaped != word && len(word) <= most || strings.ContainsAny(word, " '\"") {
		return `"` + escaped + `"`
	}
	return escaped
}

// shorten cuts the middle out of a text that has more than most bytes.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	// The head gets more room than the tail, because words begin with what matters. Cuts are
	// moved to whole characters, so the line stays valid UTF-8.
	head, tail := text[:most*2/3], text[len(text)-most/4:]
	// The head loses bytes at its end until no character is cut in two.
	for len(head) > 0 && !utf8.ValidString(head) {
		head = head[:len(head)-1]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return head + "…" + tail
}

// InFlags translates the fields of options that a text of a library names, as
// Options.BlockBytes, to the flags that set them. Other fields stay as they are.
func InFlags(text string) string {
	if !strings.Contains(text, "Options.") {
		return text // most texts; to compile the expression takes time
	}
	return regexp.MustCompile(`\bOptions\.[A-Z]\w*(\.[A-Z]\w*)?`).ReplaceAllStringFunc(text, func(name string) string {
		return flagOf(strings.TrimPrefix(name, "Options."))
	})
}

// flagOf returns the flag of a field of mrlocal.Options, or of the options of a job, of package
// stream or of package submit.
func flagOf(field string) string {
	return cmp.Or(map[string]string{
		"Addr": "--addr", "AllowRemote": "--allow-remote", "Inputs": "--input", "All": "--all", "NoDecode": "--decode none", "OutputDir": "--output", "Overwrite": "--overwrite", "OutputFile": "--output-file", "CompressOutput": "--compress-output",
		"Reducers": "--reducers", "BlockBytes": "--block-size", "MapSlots": "--map-slots", "ReduceSlots": "--reduce-slots",
		"Trackers": "--trackers", "MaxSlots": "--max-slots", "Replicas": "--replicas", "LocalityDelay": "--locality-delay",
		"ShuffleBytesPerSecond": "--shuffle-bw", "Copiers.Parallel": "--parallel-copies", "Copiers.BytesPerSecond": "--copy-bw", "DiskBytesPerSecond": "--disk-bw", "RemotePenalty": "--remote-penalty",
		"Slow": "--slow", "MemoryBytes": "--memory", "SortBufferBytes": "--sort-buffer", "MaxTempBytes": "--max-temp", "TempDirs": "--tmp", "SpillPercent": "--spill-percent",
		"GrowthThreshold": "--growth-threshold", "MergeFactor": "--merge-factor", "Attempts": "--attempts", "ResumeDir": "--resume", "Codec": "--compress",
		"Side": "--centroids", "Record": "--record", "K": "--clusters", "Rounds": "--rounds", "Tolerance": "--tolerance",
		"KeepMap": "--keep-map", "KeepReduce": "--keep-reduce", "Stages": "--stages",
		"HDFS.Web": "--webhdfs", "HDFS.User": "--hdfs-user",
		"Output": "--output", "Binary": "--binary", "Queue": "--queue", "Properties": "--property", "Hadoop": "--hadoop", "Jar": "--streaming-jar",
		"Step": "--step", "Reduces": "--reduces", "Cuts": "--cuts", "Results": "--results",
		"Top": "--top", "Min": "--min", "Max": "--max", "Fields": "-f", "Delimiter": "-d", "Delimited": "-s", "Words": "-w",
		"ZeroEnded": "-z", "Alnum": "--alnum", "CSV": "--csv", "JSON": "--json", "Separator": "-t", "Keys": "-k", "Patterns": "-e",
	}[field], field)
}
