package tools

import (
	"slices"

	"mrlocal"
	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
	"mrlocal/slots/policy"
)

// engineFlags are the flags of the engine that tools take.
func engineFlags() []argv.Spec {
	// A tool shows progress on its own terms, so --progress is left out.
	flags := slices.DeleteFunc(command.EngineFlags(), func(f argv.Spec) bool { return f.Name == "progress" })
	return append(flags, command.CompressOutputFlag(),
		argv.ValueSpec("decode", "decode compressed inputs and refuse other archives, or read all bytes as they are: `auto|none`", "auto"),
		argv.ValueSpec("sched", "slot policy `NAME`; mrlocal policies lists them", mrlocal.DefaultPolicy),
		argv.ValueSpec("map-slots", "`N` home map slots", "the cores minus the reduce slots"),
		argv.ValueSpec("reduce-slots", "`N` home reduce slots", "a sixth of the cores, at least 1"),
		argv.ValueSpec("block-size", "`SIZE` of a split, at least 1KiB", "64MiB, less for small inputs"))
}

// engineOptions reads engineFlags. The slots of a tool are those of a run.
func engineOptions(line argv.Line) (mrlocal.Options, error) {
	r := command.NewReader(line)
	// The scheduling flags of a run are not read here: sort has a --seed with another meaning.
	// The error of a bad policy stays in r.Err, as those of all flags.
	o := mrlocal.Options{Policy: r.Policy(&command.Scheduling{PolicyOptions: policy.DefaultOptions()})}
	// 0 slots stand for the default of a run.
	o.MapSlots, o.ReduceSlots = r.Count("map-slots", 1, command.MostSlots), r.Count("reduce-slots", 1, command.MostSlots)
	o.CompressOutput = r.Compression()
	o.NoDecode = r.Choice("decode", "auto", "none") == "none"
	o.BlockBytes = r.Size("block-size", command.LeastBlock)
	command.ReadEngine(&r.Reader, &o)
	return o, r.Err
}
