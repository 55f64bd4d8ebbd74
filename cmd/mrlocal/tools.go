package main

import (
	"context"
	"os"
	"slices"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/engineflags"
	"mrlocal/cmd/mrlocal/internal/tools"
	"mrlocal/slots/policy"
)

// toolCommands are the tools, for the list of commands. Their flags are read by
// package tools, which run calls.
func toolCommands() []command {
	var all []command
	for _, t := range tools.All() {
		all = append(all, namedFirst(t.Name, t.Usage, ""))
	}
	return all
}

// tool runs the tool that args name. It reports whether there is one.
func tool(ctx context.Context, args []string, e env) (code int, done bool) {
	if len(args) == 0 {
		return 0, false
	}
	// "mrlocal help sort" is the same as "mrlocal sort --help".
	if len(args) == 2 && (args[0] == "help" || args[0] == "--help") {
		args = []string{args[1], "--help"}
	}
	t, ok := tools.Named(args[0])
	if !ok {
		return 0, false
	}
	return tools.Main(ctx, t, args[1:], tools.Env{
		// The tool gets the streams of this call, so that tests can replace them.
		Stdin: e.stdin, Stdout: e.stdout, Stderr: e.stderr, Dumb: os.Getenv("TERM") == "dumb",
		EngineFlags: toolEngineFlags(), EngineOptions: toolEngineOptions,
	}), true
}

// toolEngineFlags are the flags of the engine that tools take.
func toolEngineFlags() []flagSpec {
	// A tool shows progress on its own terms, so --progress is left out.
	flags := slices.DeleteFunc(engineflags.Flags(), func(f flagSpec) bool { return f.Name == "progress" })
	return append(flags, compressOutputFlag(),
		value("decode", "decode compressed inputs and refuse other archives, or read all bytes as they are: `auto|none`", "auto"),
		value("sched", "slot policy `NAME`; mrlocal policies lists them", defaultPolicy),
		value("map-slots", "`N` home map slots", "the cores minus the reduce slots"),
		value("reduce-slots", "`N` home reduce slots", "a sixth of the cores, at least 1"),
		value("block-size", "`SIZE` of a split, at least 1KiB", "64MiB, less for small inputs"))
}

// toolEngineOptions reads toolEngineFlags. The slots of a tool are those of a run.
func toolEngineOptions(line argv.Line) (mrlocal.Options, error) {
	r := newReader(line)
	// The scheduling flags of a run are not read here: sort has a --seed with another meaning.
	// The error of a bad policy stays in r.Err, as those of all flags.
	o := mrlocal.Options{Policy: r.policy(&scheduling{policy: policy.DefaultOptions()})}
	// 0 slots stand for the default of a run.
	o.MapSlots, o.ReduceSlots = r.Count("map-slots", 1, mostSlots), r.Count("reduce-slots", 1, mostSlots)
	o.CompressOutput = r.compression()
	o.NoDecode = r.Choice("decode", "auto", "none") == "none"
	o.BlockBytes = r.Size("block-size", leastBlock)
	engineflags.Read(&r.Reader, &o)
	return o, r.Err
}
