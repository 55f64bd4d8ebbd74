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
		{"errors", []string{"internal/errs"}},
		{"internal", []string{"internal/..."}},
		{"ground", []string{"trace/...", "jobs", "internal/datagen", "internal/hdfs/..."}},
		{"jobs", []string{"jobs/...", "internal/guard"}},
		{"data and slots", []string{"slots", "input/...", "shuffle/...", "output/..."}},
		{"kvbuffer", []string{"spill"}},
		{"policies", []string{"slots/policy/...", "slots/setup", "slots/report"}},
		{"explanations", []string{"slots/explain"}},
		{"suite of policies", []string{"slots/policy/policytest"}},
		{"streaming", []string{"hadoop/streaming/...", "hadoop/stream"}},
		{"workload files", []string{"workload/...", "hadoop/submit"}},
		{"drivers", []string{"engine/...", "sim/..."}},
		{"pictures", []string{"view/...", "internal/term"}},
		{"page", []string{"view/web/..."}},
		{"front door", []string{""}},
		{"bench", []string{"bench/..."}},
		{"programs", []string{"cmd/mrlocal/...", "examples/..."}},
	}
}

// within are the imports inside a layer that are allowed: helpers of a neighbouring
// package.
func within() map[string][]string {
	return map[string][]string{
		"internal/...":           {"internal/..."}, // Go itself forbids circles
		"hadoop/streaming/...":   {"hadoop/streaming/..."},
		"sim/...":                {"sim/..."}, // the driver, its cost models and its event queue
		"bench/...":              {"bench/..."},
		"internal/hdfs/hdfstest": {"internal/hdfs"},
		"jobs/jobtest":           {"jobs/..."},
		"jobs/...":               {"jobs/internal/..."},
		"jobs/grep":              {"jobs/grep/internal/*"}, // what it searches with
		"slots/policy/...":       {"slots/policy/..."},
		"slots/report":           {"slots/setup"},                                  // the settings that it shows
		"slots/setup":            {"slots/policy/fifo"},                            // a run without a policy
		"input":                  {"input/codec"},                                  // how files are compressed
		"input/feed":             {"input", "input/codec", "output"},               // the job before has left its result in a spool
		"shuffle":                {"shuffle/record", "shuffle/rule"},               // records in memory; when a buffer spills or merges
		"engine":                 {"engine/*"},                                     // what it is made of
		"view/...":               {"view", "view/svg", "view/html", "view/export"}, // each renderer draws the model
		"view/web":               {"view/web/lab"},                                 // answers to the page's questions
		"view/web/wasm":          {"view/web/lab", "view/web/site"},                // the same without a server; it compiles itself
		"view/web/site":          {"view/web", "view/web/lab"},
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
	command := []string{"cmd/mrlocal", "internal/flags", "internal/term"}
	pure := []string{"slots", "slots/explain", "slots/setup", "slots/policy/...", "sim/...", "view", "view/svg", "view/html", "view/export", "view/lesson"}
	const between = "the shuffle lies between maps and reduces: it knows neither what runs them nor where their bytes come from and go to"
	return []ban{
		{"log/...", everywhere, []string{"view/web", "examples/...", "engine"}, "the engine writes to the Logger of its user; libraries return errors; programs print them, in one line"},
		{"flag", everywhere, []string{"cmd/mrlocal/...", "internal/testkit", "examples/..."}, "flags belong to programs; libraries take Options"},
		{"github.com/urfave/cli/v2", everywhere, command, "types of the flag library stay inside internal/flags, so that it can be replaced"},
		{"github.com/rivo/uniseg", everywhere, []string{"cmd/mrlocal", "internal/errs", "internal/flags", "internal/term"}, "only the command draws, and errs.Fit lays out what it prints; libraries append events"},
		{"github.com/dustin/go-humanize", everywhere, command, "only the command words things for people"},
		{"golang.org/x/term", everywhere, command, "only the command knows that there is a terminal"},
		{"os/signal", everywhere, command, "a library is stopped by its context"},
		{"github.com/pkg/errors", everywhere, nil, "errors and fmt wrap errors"},
		{"golang.org/x/exp/...", everywhere, nil, "the standard library has what is needed"},
		{"io/ioutil", everywhere, nil, "os and io have its functions"},
		{"reflect", everywhere, []string{"slots/setup", "slots/report", "jobs/typed"}, "nothing else needs types at run time; slots/setup looks for policies in the fields of a user's policy, slots/report adds and prints all counters, and jobs/typed takes the types of users apart, once an attempt"},
		{"os/exec", everywhere, []string{"jobs/jobtest", "hadoop/submit", "view/web/site"}, "mrlocal runs no other program, but hadoop, and Go to compile the simulator for browsers"},
		{"net/...", everywhere, []string{"view/web/...", "internal/hdfs/..."}, "mrlocal needs no network but for HDFS; its page is served by web"},
		{"testing/...", everywhere, []string{"internal/testkit", "slots/policy/policytest", "jobs/jobtest", "view/viewtest", "internal/hdfs/hdfstest"}, "only helpers of tests know about tests"},
		{"os", pure, nil, "decisions touch no file: they run in virtual time as well"},
		{"math/rand", pure, nil, "randomness is an argument of whatever decides"},
		{"math/rand/v2", pure, nil, "randomness is an argument of whatever decides"},
		{"sync/...", pure, []string{"slots/setup"}, "the Ledger has one owner and no lock; slots/setup sees that a policy serves one run at a time"},
		{"mrlocal/engine/...", []string{"cmd/mrlocal/...", "examples/..."}, nil, "programs run jobs through package mrlocal, as users do"},
		{"mrlocal/slots/policy/...", []string{"engine"}, nil, "the engine knows no policy by name"},
		{"mrlocal/jobs/*", []string{"engine"}, nil, "the engine knows no job by name"},
		{"mrlocal/slots/...", []string{"shuffle/..."}, nil, between},
		{"mrlocal/sim/...", []string{"shuffle/..."}, nil, between},
		{"mrlocal/trace/...", []string{"shuffle/..."}, nil, between},
		{"mrlocal/input/...", []string{"shuffle/..."}, nil, between},
		{"mrlocal/output/...", []string{"shuffle/..."}, nil, between},
		{"mrlocal/engine/...", []string{"shuffle/..."}, nil, between},
		{"mrlocal/slots/policy/policytest", everywhere, []string{"slots/policy/policytest"}, "only tests drive a policy by hand, and keep all events of a run in memory"},
		{"mrlocal/internal/testkit", everywhere, []string{"slots/policy/policytest"}, "only tests compare with golden files, and guard what they hand out"},
	}
}

// policyImporters are the packages that import a policy, with the reason. All others make
// policies by name (slots/policy/registry), and a policy gives its reasons and words itself.
func policyImporters() map[string]string {
	return map[string]string{
		"slots/policy/registry": "the table of policies",
		"slots/setup":           "a run without a policy has FIFO",
		"bench":                 "experiments use the watchers and the formulas of their papers",
		"cmd/mrlocal":           "explain --releases draws a figure of [OMO21]",
		"bench/study":           "tune compares with the guideline of [Split11]",
	}
}

// ownNouns are the packages with one importer, with the reason why they do not fold into it. Jobs,
// policies, pictures and helpers of tests need no reason (oneOfMany).
func ownNouns() map[string]string {
	return map[string]string{
		"internal/datagen":       "deterministic inputs; the command and tests of every layer write them",
		"bench/study":            "sweeps, tune, profile and validate, which know no flag",
		"hadoop/streaming":       "the protocol of Hadoop Streaming, which knows no flag",
		"internal/flags":         "the command line, which knows no command",
		"internal/term":          "what a terminal shows of a run, which knows no command",
		"bench":                  "the experiments of the papers and their language, for benchmarks too; cmd/mrlocal prints their results",
		"engine":                 "the root package is the front door of the library, for users to read",
		"engine/journal":         "a file with a format",
		"engine/pool":            "threads pinned to cores, which know no job",
		"input/feed":             "sources of maps, which know no slot",
		"jobs/grep/internal/dfa": "automata, which know no job",
		"sim/cost":               "one cost model; the driver of sim knows models by their interface",
		"hadoop/submit":          "knows no flag; it reads what Hadoop prints",
		"workload/source":        "makes workload files; workload reads them, for drivers that need none of this",
	}
}

// oneOfMany are packages of a kind of which there are many, each for a table or for tests.
func oneOfMany() []string {
	return []string{"jobs/*", "slots/policy/*", "view/*", "internal/testkit"}
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
	command := []string{"cmd/mrlocal", "examples/...", "hadoop/...", "view/web/wasm"}
	pure := []string{"slots", "slots/explain", "slots/setup", "slots/policy/...", "sim/...", "view", "view/svg", "view/html", "view/export", "view/lesson"}
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
		"engine/pool/thread.go",
		"engine/pool/pool.go",
		"engine/jobs.go", "internal/guard/guard.go",
		"input/walk.go",
		"internal/disk/tempfile.go",
		"output/compress.go",
		"input/codec/ahead.go",
		"internal/inorder/inorder.go",
		"engine/journal/journal.go",
		"cmd/mrlocal/signals.go", "cmd/mrlocal/orphans_linux.go",
		"internal/term/screen.go",
		"bench/study/probe.go",
		"cmd/mrlocal/demo.go",
		"jobs/sort/merge.go",
		"internal/hdfs/transfer.go",
		"shuffle/shuffle.go",
		"view/web/server.go",
		"view/web/live.go",
	}
}

// Budgets, in lines of code: comments, blank lines and tests do not count.
const (
	mostFunctionLines    = 70
	mostHotFunctionLines = 100 // marked "hot:" in the function's comment
	mostFileLines        = 600
	mostP90FunctionLines = 40 // over the whole module
	leastPackageDoc      = 80 // characters
)

// mostPairs bounds the pairs of folders at the top of which one imports the other. Tests, internal
// and examples do not count.
const mostPairs = 64

// mostTopFolders bounds the folders at the top, those that begin with a dot aside.
const mostTopFolders = 17
