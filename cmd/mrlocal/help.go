package main

import (
	"slices"
	"strings"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/cmd/mrlocal/internal/command"
)

// documented is a command as completion scripts and manual pages describe it.
type documented struct {
	Path  []string // the words that name it: "run", "sort"
	Usage string   // one line
	Args  string   // the positional words
	Long  string   // paragraphs about the command
	Flags []argv.Spec
}

// below returns those of commands that are directly below c.
func (c documented) below(commands []documented) (list []documented) {
	for _, o := range commands {
		if n := len(c.Path); len(o.Path) == n+1 && slices.Equal(o.Path[:n], c.Path) {
			list = append(list, o)
		}
	}
	return list
}

// synopsis returns what follows the name of a command in its line of usage. args are the
// positional words.
func synopsis(args string) string {
	if strings.Contains(args, "FLAGS") {
		return args
	}
	return strings.TrimSpace("[FLAGS] " + args)
}

// mostFlagsAtOnce is the largest number of flags that --help shows in full. A command with more
// flags is a long one.
const mostFlagsAtOnce = 16

// commonFlags has the names of the flags that the help of a long command shows first, separated by
// blanks.
const commonFlags = "input output output-file overwrite sched map-slots reduce-slots memory gantt events cost compare total-slots real"

// flagGroups returns the headings of --help-all, each with the names of its flags, separated by
// blanks. A flag that is in no group belongs to one command only. A test checks that each flag of
// several commands is in a group.
func flagGroups() [][2]string {
	policies := "sched"
	for _, f := range command.PolicyFlags() {
		policies += " " + f.Name
	}
	return [][2]string{
		{"INPUT AND OUTPUT", "input decode all output overwrite output-file compress-output reducers block-size events report verbose quiet progress gantt step width profile resume csv svg html trace metrics"},
		{"PAGE", "ui addr allow-remote"},
		{"SLOTS", "map-slots reduce-slots trackers max-slots total-slots slowstart pin heartbeat replicas seed real cost compare"},
		{"POLICIES", policies},
		{"MEMORY", "memory sort-buffer task-memory spill-percent buffer-growth growth-threshold merge-factor compress tmp max-temp"},
		{"FAULTS AND EFFECTS", "attempts task-timeout fault slow remote-penalty shuffle-bw parallel-copies copy-bw disk-bw"},
	}
}

// groupOf returns the heading of the group of a flag, or "" if the flag is in no group.
func groupOf(flag string) string {
	for _, g := range flagGroups() {
		if slices.Contains(strings.Fields(g[1]), flag) {
			return g[0]
		}
	}
	return ""
}

// headingOf returns the heading below which a flag stands in the help of a command with these
// flags. It is "" for common flags, and for all flags of a command that is not long.
func headingOf(flag string, flags []argv.Spec) string {
	switch group := groupOf(flag); {
	case !isLong(flags) || slices.Contains(strings.Fields(commonFlags), flag):
		return ""
	case group == "":
		return "OF THIS COMMAND"
	default:
		return group
	}
}

// isLong reports whether a command with these flags is a long one, whose --help shows only some of
// them.
func isLong(flags []argv.Spec) bool { return len(flags) > mostFlagsAtOnce }

// shownFlags returns the flags that the help shows. If all is true, as with --help-all, these are
// all flags. Otherwise a long command shows the common flags, then the flags that no other command
// has.
func shownFlags(flags []argv.Spec, all bool) []argv.Spec {
	if all || !isLong(flags) {
		return flags
	}
	var first, own []argv.Spec
	for _, f := range flags {
		switch {
		case slices.Contains(strings.Fields(commonFlags), f.Name):
			first = append(first, f)
		case groupOf(f.Name) == "":
			own = append(own, f)
		}
	}
	return append(first, own...)
}

// examplesOf returns the examples in the help of the command at path. Many commands have none.
func examplesOf(path []string) []string {
	if example := command.Example(path[len(path)-1]); example != "" && path[0] == "run" {
		return []string{"mrlocal run " + path[len(path)-1] + " " + example}
	}
	return map[string][]string{
		"run wordcount": {"mrlocal run wordcount wiki/ -o words.txt", "mrlocal run wordcount --top 10 --alnum --ignore-case wiki/"},
		"run sort":      {"mrlocal run sort -k2,2nr words.txt -o by-count.txt", "mrlocal run sort --memory 64MiB words.txt --output sorted/"},
		"run grep":      {"mrlocal run grep --input wiki/ --sched pi-dhfs", "mrlocal run grep -n -e '== .* ==' wiki/"},
		"batch":         {"mrlocal batch two.yaml --sched fair,pi-dhfs --gantt", "mrlocal batch two.yaml --events run.jsonl"},
		"sim":           {"mrlocal sim bench/workloads/table1-5.yaml --sched all", "mrlocal sim two.yaml --sched fair,pi-dhfs --gantt --compare"},
		"sweep":         {"mrlocal sweep two.yaml --borrow-map 0..1/0.5 --sched pi-dhfs", "mrlocal sweep two.yaml --total-slots 4 --map-slots 1..3 --svg curve.svg"},
		"profile":       {"mrlocal profile wordcount wiki/", "mrlocal profile two.yaml -o measured.yaml"},
		"validate":      {"mrlocal validate measured.yaml --sched fair,pi-dhfs --runs 5"},
		"tune":          {"mrlocal tune wordcount wiki/"},
		"reproduce":     {"mrlocal reproduce fig4", "mrlocal reproduce --format csv"},
		"explain":       {"mrlocal explain run.jsonl --slot 1 --at 5.3s", "mrlocal explain run.jsonl --lent"},
		"compare":       {"mrlocal compare run.jsonl.fair run.jsonl.pi-dhfs"},
		"replay":        {"mrlocal replay run.jsonl"},
		"show":          {"mrlocal show run.jsonl --svg run.svg", "mrlocal show run.jsonl.fair.zst run.jsonl.pi-dhfs.zst --html runs.html"},
		"ui":            {"mrlocal ui run.jsonl", "mrlocal ui"},
		"demo":          {"mrlocal demo", "mrlocal demo --list", "mrlocal demo borrow", "mrlocal demo pools --ui"},
		"gen":           {"mrlocal gen wiki --size 256MiB wiki", "mrlocal gen records --size 1GiB -"},
		"clean":         {"mrlocal clean"},
		"completion":    {"source <(mrlocal completion bash)", "mrlocal completion zsh > ~/.zfunc/_mrlocal", "mrlocal completion fish > ~/.config/fish/completions/mrlocal.fish"},
		"man":           {"mrlocal man | man -l -", "mrlocal man ~/.local/share/man/man1"},
	}[strings.Join(path, " ")]
}
