package argv

import (
	"cmp"
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"mrlocal/internal/errs"
	"mrlocal/slots/policy"
)

// mostLineBytes is the largest number of bytes of an error line, because a word in it may be very long.
const mostLineBytes = 4096

// ErrorLine returns err as the one line that a user sees, with its newline:
//
//	mrlocal: what: object: cause
//
// what is the command, or "". Joined errors follow one another in the line.
func ErrorLine(what string, err error) string {
	text := message(err)
	if what != "" {
		text = what + ": " + text
	}
	return "mrlocal: " + shorten(errs.OneLine(InFlags(text)), mostLineBytes) + "\n"
}

// message returns the text of an error. errors.Join puts each of its errors on a line of its own;
// message puts them on one line, with semicolons between.
func message(err error) string {
	// The text of an error without an object begins with its cause.
	if e, ok := err.(*errs.Error); ok {
		return strings.TrimPrefix(e.Object+": "+message(e.Cause), ": ")
	}
	// An error may wrap several others and have a text of its own, as that of fmt.Errorf. It stays
	// as it is.
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

// Quote returns a word of the command line for a message. It puts the word in quotation marks if
// the word is empty, or has blanks, quotes or characters that cannot be shown. It shortens a long
// word.
func Quote(word string) string {
	// most is the largest number of bytes of a word. A longer word would hide the message.
	const most = 60
	escaped := shorten(errs.OneLine(word), most)
	if escaped == "" || escaped != word && len(word) <= most || strings.ContainsAny(word, " '\"") {
		return `"` + escaped + `"`
	}
	return escaped
}

// shorten replaces the middle of a text by … if the text has more than most bytes. The result is
// valid UTF-8 if the text is.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	// The head is longer than the tail, because the beginning of a text says more.
	head, tail := text[:most*2/3], text[len(text)-most/4:]
	// Both ends of the cut move until no character is cut in two.
	for len(head) > 0 && !utf8.ValidString(head) {
		head = head[:len(head)-1]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return head + "…" + tail
}

// InFlags replaces the names of option fields in a text by the flags that set them, such as
// Options.BlockBytes by --block-size. It replaces the fields of a Submission by the keys of workload
// files. Libraries name fields in their errors. A field without a flag loses only "Options.".
func InFlags(text string) string {
	if !strings.Contains(text, "Options.") && !strings.Contains(text, "Submission.") {
		return text // compiling the expression takes time, and most texts need none
	}
	text = regexp.MustCompile(`\bSubmission\.[A-Z]\w*`).ReplaceAllStringFunc(text, func(name string) string {
		return strings.ToLower(strings.TrimPrefix(name, "Submission.")) // a key of workload files
	})
	return regexp.MustCompile(`\bOptions\.[A-Z]\w*(\.[A-Z]\w*)?`).ReplaceAllStringFunc(text, func(name string) string {
		return flagOf(strings.TrimPrefix(name, "Options."))
	})
}

// flagOf returns the flag that sets a field of mrlocal.Options, or of the options of a job, of
// package policy, sim, stream or submit. It returns an unknown field as it is. A new option needs an
// entry here, and one of a policy its line in policy.Options.Fields.
func flagOf(field string) string {
	for _, f := range new(policy.Options).Fields() {
		if f.Field == field {
			return "--" + f.Name
		}
	}
	return cmp.Or(map[string]string{
		"Addr": "--addr", "AllowRemote": "--allow-remote", "Inputs": "--input", "All": "--all", "NoDecode": "--decode none", "UTF16": "--decode", "OutputDir": "--output", "Overwrite": "--overwrite", "OutputFile": "--output-file", "CompressOutput": "--compress-output",
		"Reducers": "--reducers", "BlockBytes": "--block-size", "MapSlots": "--map-slots", "ReduceSlots": "--reduce-slots", "NoReduces": "--reduce-slots", "MapOnly": "--reducers",
		"Events": "--events", "Trackers": "--trackers", "GroupTrackers": "group_trackers", "TaskTimeout": "--task-timeout", "ReducersPerSlot": "--reducers", "Slowstart": "--slowstart", "Pools": "pools", "Users": "users", "Capacities": "capacities", "Faults": "faults", "MaxSlots": "--max-slots", "Replicas": "--replicas", "LocalityDelay": "--locality-delay", "Policy": "--sched", "Arrivals": "--arrivals", "Sizes": "--sizes", "Every": "--every",
		"Cost": "--cost", "Heartbeat": "--heartbeat", "BufferGrowth": "--buffer-growth", "TaskMemoryBytes": "--task-memory",
		"ShuffleBytesPerSecond": "--shuffle-bw", "Copiers.Parallel": "--parallel-copies", "Copiers.BytesPerSecond": "--copy-bw", "DiskBytesPerSecond": "--disk-bw", "RemotePenalty": "--remote-penalty",
		"Slow": "--slow", "MemoryBytes": "--memory", "SortBufferBytes": "--sort-buffer", "MaxTempBytes": "--max-temp", "TempDirs": "--tmp", "SpillPercent": "--spill-percent",
		"GrowthThreshold": "--growth-threshold", "MergeFactor": "--merge-factor", "Attempts": "--attempts", "ResumeDir": "--resume", "Codec": "--compress",
		"Side": "--centroids", "Record": "--record", "K": "--clusters", "Rounds": "--rounds", "Tolerance": "--tolerance",
		"KeepMap": "--keep-map", "KeepReduce": "--keep-reduce", "Stages": "--stages",
		"HDFS.Web": "--webhdfs", "HDFS.User": "--hdfs-user",
		"Output": "--output", "Binary": "--binary", "Queue": "--queue", "Properties": "--property", "Hadoop": "--hadoop", "Jar": "--streaming-jar",
		"Step": "--step", "Reduces": "--reduces", "Cuts": "--cuts", "Results": "--results",
		"Top": "--top", "Min": "--min", "Max": "--max", "Fields": "-f", "Delimiter": "-d", "Delimited": "-s", "Words": "-w",
		"ZeroEnded": "-z", "Alnum": "--alnum", "CSV": "--csv", "JSON": "--json", "Separator": "-t", "Keys": "-k", "Patterns": "-e", "Globs": "-g", "Types": "-t",
	}[field], field)
}
