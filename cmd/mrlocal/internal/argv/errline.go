package argv

import (
	"cmp"
	"errors"
	"regexp"
	"strings"

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
	return "mrlocal: " + errs.Shorten(errs.OneLine(InFlags(text)), mostLineBytes) + "\n"
}

// message returns the text of an error. errors.Join puts each of its errors on a line of its own;
// message puts them on one line, with semicolons between.
func message(err error) string {
	if e, ok := err.(*errs.Error); ok {
		return e.Where() + message(e.Cause)
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

// FieldsOf returns the fields that a flag sets, with blanks between.
func FieldsOf(name, short string) string {
	var all []string
	for field, flag := range flagsOf() {
		flag, value, _ := strings.Cut(flag, " ")
		if flag == "--"+name || short != "" && flag == "-"+short {
			all = append(all, strings.TrimSuffix(field+"="+value, "="))
		}
	}
	return strings.Join(all, " ")
}

// flagOf returns the flag that sets a field, or the field as it is.
func flagOf(field string) string {
	for _, f := range new(policy.Options).Fields() {
		if f.Field == field {
			return "--" + f.Name
		}
	}
	return cmp.Or(flagsOf()[field], field)
}

// flagsOf returns flags by the fields that they set.
func flagsOf() map[string]string {
	return map[string]string{
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
	}
}
