package argv

import (
	"regexp"
	"strings"
)

// InFlags translates the fields of options that a text of a library names, as
// Options.BlockBytes, to the flags that set them. Other fields stay as they are.
func InFlags(text string) string {
	if !strings.Contains(text, "Options.") {
		return text // most texts; to compile the expression takes time
	}
	return regexp.MustCompile(`\bOptions\.[A-Z]\w*`).ReplaceAllStringFunc(text, func(name string) string {
		return flagOf(strings.TrimPrefix(name, "Options."))
	})
}

// flagOf returns the flag of a field of mrlocal.Options, or of the options of a job.
func flagOf(field string) string {
	for _, p := range [...][2]string{
		{"Inputs", "--input"}, {"All", "--all"}, {"NoDecode", "--decode none"}, {"OutputDir", "--output"}, {"Overwrite", "--overwrite"}, {"OutputFile", "--output-file"},
		{"Reducers", "--reducers"}, {"BlockBytes", "--block-size"}, {"MapSlots", "--map-slots"}, {"ReduceSlots", "--reduce-slots"},
		{"Trackers", "--trackers"}, {"MaxSlots", "--max-slots"}, {"Replicas", "--replicas"}, {"LocalityDelay", "--locality-delay"},
		{"ShuffleBytesPerSecond", "--shuffle-bw"}, {"DiskBytesPerSecond", "--disk-bw"}, {"RemotePenalty", "--remote-penalty"},
		{"Slow", "--slow"}, {"MemoryBytes", "--memory"}, {"SortBufferBytes", "--sort-buffer"}, {"SpillPercent", "--spill-percent"},
		{"GrowthThreshold", "--growth-threshold"}, {"MergeFactor", "--merge-factor"}, {"Attempts", "--attempts"},
		{"Top", "--top"}, {"Separator", "-t"}, {"Keys", "-k"}, {"Patterns", "-e"},
	} {
		if p[0] == field {
			return p[1]
		}
	}
	return field
}
