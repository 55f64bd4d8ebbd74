package arch

// A layer is a set of packages that do not import one another; imports go
// from later layers to earlier ones only (ARCHITECTURE.md,
// "Imports").
type layer struct {
	name     string
	packages []string // path below the module; "x/..." is x and everything below it, "x/*" only what is below
}

func layers() []layer {
	return []layer{
		{"errors", []string{"errs"}},
		{"internal", []string{"internal/..."}},
		{"ground", []string{"trace/...", "jobs", "datagen", "hdfs/..."}},
		{"data and slots", []string{"slots", "slots/fifo", "slots/demand", "slots/blacklist", "slots/meter", "slots/replay", "input", "input/codec", "spill/...", "output/...", "jobs/..."}},
		{"policies", []string{"slots/policy/...", "slots/setup", "slots/claim", "report"}},
		{"streaming", []string{"streaming/...", "stream"}},
		{"workload files", []string{"workload/...", "submit"}},
		{"drivers", []string{"engine/...", "sim/...", "slots/explain"}},
		{"pictures", []string{"view/...", "lesson"}},
		{"page", []string{"web/..."}},
		{"bench", []string{"bench/..."}},
		{"front door", []string{""}},
		{"programs", []string{"cmd/mrlocal/...", "examples/...", "hack/..."}},
	}
}

// within are the imports inside a layer that are allowed: helpers of a neighbouring
// package.
func within() map[string][]string {
	return map[string][]string{
		"internal/...":     {"internal/..."}, // Go itself forbids circles
		"cmd/mrlocal/...":  {"cmd/mrlocal/..."},
		"jobs/jobtest":     {"jobs/..."},
		"streaming/...":    {"streaming/..."}, // Go itself forbids circles
		"hdfs/hdfstest":    {"hdfs"},
		"trace/tracetest":  {"trace"},
		"slots/policy/...": {"slots/policy/..."},
		"slots":            {"slots/demand", "slots/blacklist", "slots/meter"}, // needs and weights of tasks, places of inputs; failures by tracker; slot time: packages of their own, because the Ledger fills its budget
		"report":           {"slots/setup"},                                    // the settings that it shows
		"slots/fifo":       {"slots", "slots/demand"},                          // the policy that is there before all others
		"slots/replay":     {"slots", "slots/demand"},                          // a second Ledger
		"input":            {"input/codec"},                                    // how files are compressed
		"jobs/...":         {"jobs/internal/..."},
		"jobs/grep":        {"jobs/grep/*"},   // what it searches with
		"engine":           {"engine/*"},      // what it is made of
		"engine/task":      {"engine/source"}, // attempts read sources
		"sim/...":          {"sim/..."},       // the driver, its cost models and its event queue; Go itself forbids circles
		"spill":            {"spill/*"},       // the kvbuffer, the runs it leaves and the records in memory that both read
		"spill/runs":       {"spill/record", "spill/rule"},
		"output":           {"output/*"}, // where text waits, and how it is compressed
		"output/compress":  {"output/spool"},
		"bench/...":        {"bench/..."},
		"view/...":         {"view/..."},            // each renderer draws the model
		"lesson":           {"view"},                // whose events it finds
		"web":              {"web/lab"},             // answers to the page's questions
		"web/wasm":         {"web/lab", "web/site"}, // the same without a server; it compiles itself
		"web/site":         {"web", "web/lab"},
	}
}

// A ban keeps an import out of the packages named, with the reason.
type ban struct {
	imports string // a path, or "path/..."
	from    []string
	except  []string
	reason  string
}

func bans() []ban {
	everywhere := []string{"..."}
	command := []string{"cmd/mrlocal/..."}
	pure := []string{"slots", "slots/fifo", "slots/demand", "slots/blacklist", "slots/meter", "slots/replay", "slots/setup", "slots/policy/...", "sim/...", "view/...", "lesson"}
	return []ban{
		{"log/...", everywhere, []string{"web"}, "libraries return errors; the command prints them, in one line"},
		{"flag", everywhere, []string{"cmd/mrlocal/...", "internal/testkit"}, "flags belong to the command; libraries take Options"},
		{"github.com/urfave/cli/v2", everywhere, command, "types of the flag library stay inside cmd/mrlocal, so that it can be replaced"},
		{"github.com/rivo/uniseg", everywhere, command, "only the command draws; libraries append events"},
		{"github.com/dustin/go-humanize", everywhere, command, "only the command words things for people"},
		{"golang.org/x/term", everywhere, command, "only the command knows that there is a terminal"},
		{"os/signal", everywhere, command, "a library is stopped by its context"},
		{"github.com/pkg/errors", everywhere, nil, "errors and fmt wrap errors"},
		{"golang.org/x/exp/...", everywhere, nil, "the standard library has what is needed"},
		{"io/ioutil", everywhere, nil, "os and io have its functions"},
		{"reflect", everywhere, []string{"slots/claim"}, "nothing else needs types at run time; slots/claim looks for policies in the fields of a user's policy"},
		{"os/exec", everywhere, []string{"jobs/jobtest", "hack/...", "submit", "web/site"}, "mrlocal runs no other program, but hadoop, and Go to compile the simulator for browsers"},
		{"net/...", everywhere, []string{"web/...", "hdfs/..."}, "mrlocal needs no network but for HDFS; its page is served by web"},
		{"testing/...", everywhere, []string{"internal/testkit", "slots/policy/policytest", "jobs/jobtest", "view/viewtest", "hdfs/hdfstest"}, "only helpers of tests know about tests"},
		{"os", pure, nil, "decisions touch no file: they run in virtual time as well"},
		{"math/rand", pure, nil, "randomness is an argument of whatever decides"},
		{"math/rand/v2", pure, nil, "randomness is an argument of whatever decides"},
		{"sync/...", pure, nil, "the Ledger has one owner and no lock"},
		{"mrlocal/engine/...", []string{"cmd/mrlocal/...", "examples/..."}, nil, "programs run jobs through package mrlocal, as users do"},
		{"mrlocal/slots/policy/...", []string{"engine"}, nil, "the engine knows no policy by name"},
		{"mrlocal/jobs/*", []string{"engine"}, nil, "the engine knows no job by name"},
		{"mrlocal/trace/tracetest", everywhere, []string{"slots/policy/policytest"}, "only tests keep all events of a run in memory"},
		{"mrlocal/internal/testkit", everywhere, []string{"slots/policy/policytest"}, "only tests compare with golden files, and guard what they hand out"},
	}
}

// policyImporters are the packages that import a policy, with the reason. All others make
// policies by name (slots/policy/registry), and a policy gives its reasons and words itself.
func policyImporters() map[string]string {
	return map[string]string{
		"slots/policy/registry":        "the table of policies",
		"bench":                        "experiments use the watchers and the formulas of their papers",
		"cmd/mrlocal":                  "explain --releases draws a figure of [OMO21]",
		"cmd/mrlocal/internal/measure": "tune compares with the guideline of [Split11]",
	}
}

// ownNouns are the packages with one importer, with the reason why they do not fold into it. Jobs,
// policies, pictures and helpers of tests need no reason (oneOfMany).
func ownNouns() map[string]string {
	const commands = "one group of commands; cmd/mrlocal has the tree of all"
	return map[string]string{
		"bench":                          "the experiments of the papers and their language, for benchmarks too; cmd/mrlocal prints their results",
		"cmd/mrlocal/internal/find":      "which files a search reads: it knows no flag of the tools, and tools fills its budget",
		"cmd/mrlocal/internal/glob":      "languages of globs: pure, without files",
		"cmd/mrlocal/internal/hadoop":    commands,
		"cmd/mrlocal/internal/predict":   "measures and predicts; knows no flag",
		"cmd/mrlocal/internal/teach":     commands,
		"cmd/mrlocal/internal/tools":     commands,
		"cmd/mrlocal/internal/workloads": commands,
		"engine":                         "the root package is the front door of the library, for users to read",
		"engine/journal":                 "a file with a format; engine fills its budget",
		"jobs/grep/dfa":                  "automata, which know no job; jobs/grep fills its budget",
		"sim/shared":                     "one cost model; the driver of sim knows models by their interface",
		"slots/blacklist":                "where attempts failed; slots fills its budget",
		"slots/meter":                    "what slot time went to; slots fills its budget",
		"streaming/child":                "processes and pipes, by operating system",
		"streaming/wire":                 "a protocol: pure, without processes and jobs",
		"submit":                         "knows no flag; it reads what Hadoop prints",
		"workload/source":                "makes workload files; workload reads them, for drivers that need none of this",
	}
}

// oneOfMany are packages of a kind of which there are many, each for a table or for tests.
func oneOfMany() []string {
	return []string{"jobs/*", "slots/policy/*", "view/*", "internal/testkit", "trace/tracetest"}
}

// A call that only some packages may make.
type callBan struct {
	pkg, name string // "fmt", "Print*"
	from      []string
	except    []string
	reason    string
}

func callBans() []callBan {
	everywhere := []string{"..."}
	command := []string{"cmd/mrlocal", "examples/...", "hack/...", "web/wasm"}
	pure := []string{"slots", "slots/fifo", "slots/demand", "slots/blacklist", "slots/meter", "slots/replay", "slots/setup", "slots/policy/...", "sim/...", "view/...", "lesson"}
	bare := []string{"slots/policy/dhfs"}
	const layered = "the algorithms of the paper stand bare; dynamicmr layers weights and copies around them"
	return []callBan{
		{"fmt", "Print*", everywhere, nil, "results go to the writer that was handed in"},
		{"os", "Exit", everywhere, command, "only main ends the process"},
		{"os", "Stdout", everywhere, command, "writers are handed in"},
		{"os", "Stderr", everywhere, command, "writers are handed in"},
		{"os", "Stdin", everywhere, command, "readers are handed in"},
		{"os", "Args", everywhere, command, "only main sees the command line"},
		{"os", "Getenv", everywhere, command, "behaviour is chosen by Options, never by the environment"},
		{"os", "LookupEnv", everywhere, command, "behaviour is chosen by Options, never by the environment"},
		{"time", "Now", pure, nil, "time is an argument of whatever decides"},
		{"time", "Since", pure, nil, "time is an argument of whatever decides"},
		{"time", "Sleep", pure, nil, "time is an argument of whatever decides"},
		{"time", "After*", pure, nil, "time is an argument of whatever decides"},
		{"time", "NewT*", pure, nil, "time is an argument of whatever decides"},
		{"v", "Weights", bare, nil, layered}, // v is the View that a policy reads
		{"v", "RoomAt", bare, nil, layered},
		{"policy", "Copies", bare, nil, layered},
		{"policy", "NewCopies", bare, nil, layered},
	}
}

// goroutineFiles are the files that may start goroutines. docs/goroutines.md has
// a row for each, with who owns it and how it ends.
func goroutineFiles() []string {
	return []string{
		"engine/task/thread.go",
		"engine/task/pool.go",
		"engine/arrivals.go", "engine/task/apart.go",
		"input/tree.go",
		"internal/disk/tempdir.go",
		"output/compress/queue.go",
		"input/codec/ahead.go",
		"datagen/datagen.go",
		"engine/journal/journal.go",
		"cmd/mrlocal/internal/process/signals.go", "cmd/mrlocal/internal/process/orphans_linux.go",
		"cmd/mrlocal/internal/show/follow.go",
		"cmd/mrlocal/internal/measure/parallel.go",
		"cmd/mrlocal/internal/predict/probe.go",
		"cmd/mrlocal/internal/tools/check.go",
		"cmd/mrlocal/internal/tools/merge.go",
		"cmd/mrlocal/internal/teach/ask.go",
		"hdfs/writer.go",
		"web/server.go",
		"web/live.go",
		"web/events.go",
	}
}

// Budgets, in lines of code: comments, blank lines and tests do not count.
const (
	mostFunctionLines    = 70
	mostHotFunctionLines = 100 // marked "hot:" in the function's comment
	mostFileLines        = 600
	mostPackageLines     = 2500
	mostInputLines       = 2600 // of package input, which reads local files and HDFS through one handle
	mostP90FunctionLines = 40   // over the whole module
	leastPackageDoc      = 80   // characters
)
