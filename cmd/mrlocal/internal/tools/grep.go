package tools

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/term"

	"mrlocal/input"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/jobs/grep"
	"mrlocal/jobs/grep/find"
)

// grepTool returns mrlocal grep: GNU grep on the engine. In directories it chooses files as ripgrep
// does.
func grepTool() Tool {
	return Tool{Name: "grep", Usage: "print the lines that match a pattern, as GNU grep does", Flags: grepFlags(), Forms: grepForms, Run: runGrep}
}

// runGrep is Tool.Run of mrlocal grep. The exit code is that of GNU grep. It is 0 if a line was
// selected, 1 if none was, and 2 if a file could not be read. With -q a selected line wins over such a file.
func runGrep(ctx context.Context, c *Call) (int, error) {
	words := c.Line.Words
	if c.Line.Has("files") {
		return c.listFiles(words)
	}
	o := c.grepOptions()
	// Without -e and -f the first word is the pattern, as in GNU grep.
	if len(c.Line.Values("regexp"))+len(c.Line.Values("file")) == 0 {
		if len(words) == 0 {
			return 0, errs.Optionf("", "name a PATTERN; mrlocal grep --help lists the flags")
		}
		// With -L -m 0, grepOptions has already set a pattern, which never matches.
		if len(o.Patterns) == 0 {
			o.Patterns = words[:1]
		}
		words = words[1:]
	}
	if c.Err == nil && o.SelectsNothing() {
		return 1, nil
	}
	roots := c.roots(words)
	// After a file that cannot be read, the search goes on. The walk and the engine call Missing from
	// several goroutines, so failed is atomic.
	var failed atomic.Bool
	f, output := c.choice(), c.regularOutput(o.Quiet)
	f.Missing = func(path string, cause error) {
		// With -l the output itself may be among the files. If it is still empty, it has no match, and
		// skipping it needs no message. GNU grep does the same.
		if cause == input.ErrOutput && o.ListFiles && !o.ListOthers && output.Size() == 0 {
			return
		}
		failed.Store(true)
		c.unreadable(path, cause)
	}
	if c.Err != nil {
		return 0, c.Err
	}
	// GNU grep prints names if there are two PATHs or a directory, even if the search then finds only
	// one file.
	o.Single = len(roots) == 1 && !find.IsDirectory(roots[0])
	action := c.directories()
	// A single file may also be the output. It is searched if the job writes only after reading, as
	// with these flags.
	if o.Single && (o.Count || o.ListFiles || o.ListOthers || o.MaxCount != nil && *o.MaxCount <= 1) {
		output = nil
	}
	roots = slices.DeleteFunc(slices.Clone(roots), func(root string) bool {
		return c.grows(root, output, f.Missing) || c.leavesOut(root, action, f.Missing)
	})
	if o.Names == grep.NamesAuto && !o.Single {
		o.Names = grep.NamesAlways
	} else if o.Names == grep.NamesAuto {
		o.Names = grep.NamesNever
	}
	temp := disk.NewTempRoot(c.Options.TempDirs, 0)
	defer temp.Close()
	if err := c.spoolPipes(temp, roots, &o); err != nil {
		return 0, err
	}
	// GNU grep does not decode compressed files. So the default of --decode is utf16 here, and auto in
	// mrlocal run.
	decode := c.Choice("decode", "utf16", "auto", "none")
	c.Options.NoDecode, c.Options.UTF16 = decode != "auto", decode != "none"
	matched, err := c.search(ctx, roots, o, f, output)
	return grepCode(matched, failed.Load(), o.Quiet), err
}

// search runs the job on the files of roots that f chooses, except output. It reports whether a line was selected. Then the output
// may still be empty, as with -q.
func (c *Call) search(ctx context.Context, roots []string, o grep.Options, f find.Options, output fs.FileInfo) (matched bool, err error) {
	for _, part := range c.parts(roots, &o) {
		chain, err := grep.New(o)
		if err != nil {
			return false, inLetters(err)
		}
		files, err := find.Files(part, f)
		if err != nil {
			return false, err
		}
		c.Options.Found = &input.Search{Paths: files, Missing: f.Missing, Except: output}
		done, err := c.RunChain(ctx, chain)
		if err != nil {
			return false, withLabels(err, o.Labels)
		}
		if matched = matched || done.Matched(); matched && o.Quiet {
			break
		}
		if o.Context != nil {
			o.Context.Continued = matched
		}
	}
	return matched, nil
}

// parts divides roots so that each part has standard input at most once, if that is a regular file and
// the flags may leave lines of it unread. A part then begins where the part before has left it. --sort
// orders each part by itself.
func (c *Call) parts(roots []string, o *grep.Options) (parts [][]string) {
	file, ok := c.Stdin.(*os.File)
	if !ok || o.JSON || o.MaxCount == nil && !o.ListFiles && !o.ListOthers {
		return [][]string{roots}
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return [][]string{roots}
	}
	start, named := 0, false
	for i, root := range roots {
		if root == "-" && named {
			parts, start = append(parts, roots[start:i]), i
		}
		named = named || root == "-"
	}
	return append(parts, roots[start:])
}

// labels returns the name of standard input by --label.
func (c *Call) labels() grep.Labels {
	if label, given := c.Line.Value("label"); given {
		return grep.Labels{grep.StdinPath: label}
	}
	return grep.Labels{}
}

// contextLines returns the value of a flag for lines of context, 0 if it is not given. As in GNU grep, a number
// that is too large means all lines.
func (c *Call) contextLines(flag string) int64 {
	if most := c.Limit(flag); most != nil {
		return min(*most, math.MaxInt32)
	}
	return int64(c.Count(flag, 0, math.MaxInt32)) // fails for a negative number
}

// grepCode returns the exit code of GNU grep: whether a line was selected, and whether a file could not be
// read. With -q a match wins over an error.
func grepCode(matched, failed, quiet bool) int {
	switch {
	case failed && !(quiet && matched):
		return exitTrouble
	case matched:
		return 0
	}
	return 1
}

// roots returns the PATHs of a search. Without one, GNU grep reads standard input, or with -r the
// working directory. The root of the working directory is "", so that the paths of its files have no
// leading "./".
func (c *Call) roots(paths []string) []string {
	switch {
	case len(paths) > 0:
		return paths
	case c.directories() == "recurse":
		return []string{""}
	}
	return []string{"-"}
}

// directories returns what to do with directories, as the last of -d, -r and -R says; "": none of them is
// given, and directories are searched.
func (c *Call) directories() string {
	action := ""
	for _, f := range c.Line.Flags {
		switch f.Flag.Name {
		case "recursive", "dereference-recursive":
			action = "recurse"
		case "directories":
			action = f.Value
		}
	}
	return action
}

// leavesOut reports whether -d or -D leaves out a PATH. action is that of directories. A directory that
// must be read calls missing.
func (c *Call) leavesOut(root, action string, missing func(path string, cause error)) bool {
	devices, _ := c.Line.Value("devices")
	if root == "-" || devices != "skip" && action != "skip" && action != "read" {
		return false
	}
	info, err := disk.Stat(root)
	switch {
	case err != nil: // the search names it
		return false
	case info.IsDir() && action == "read":
		missing(root, syscall.EISDIR)
		return true
	case info.IsDir():
		return action == "skip"
	}
	return devices == "skip" && info.Mode()&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0
}

// spoolPipes copies the pipes among the roots of a search with -U to temporary files. It sets roots to them, and
// o.Labels to the names of the pipes.
func (c *Call) spoolPipes(temp *disk.TempRoot, roots []string, o *grep.Options) error {
	for i, root := range roots {
		if !o.Multiline {
			break
		}
		if err := c.spool(temp, &roots[i]); err != nil {
			return errs.Inputf(root, "%w", errs.Cause(err))
		}
		if roots[i] != root {
			o.Labels[roots[i]] = root
		}
	}
	return nil
}

// withLabels returns err with the names of pipes instead of the paths of their copies.
func withLabels(err error, labels grep.Labels) error {
	for path, name := range labels {
		if path != grep.StdinPath && strings.Contains(err.Error(), path) {
			return errs.Inputf("", "%s", strings.ReplaceAll(err.Error(), path, name))
		}
	}
	return err
}

// spool copies standard input or a named pipe to a temporary file, and sets root or c.Stdin to it. With -U a
// file must be one split, but a pipe has many. spool does nothing for any other root.
func (c *Call) spool(temp *disk.TempRoot, root *string) error {
	in, info := c.Stdin, fs.FileInfo(nil)
	switch file, isFile := in.(*os.File); {
	case *root == "-" && isFile:
		info, _ = file.Stat()
	case *root != "-":
		info, _ = disk.Stat(*root)
		if info == nil || info.Mode()&fs.ModeNamedPipe == 0 { // the search names a root that is missing
			return nil
		}
		pipe, err := disk.OpenInput(*root)
		if err != nil {
			return err
		}
		defer pipe.Close()
		in = pipe
	}
	if info != nil && info.Mode().IsRegular() {
		return nil
	}
	path, err := temp.Keep(in)
	if err != nil {
		return err
	}
	if *root != "-" {
		*root = path
		return nil
	}
	c.Stdin, err = disk.OpenInput(path)
	return err
}

// unreadable names a path that cannot be read on standard error, unless -s is given.
func (c *Call) unreadable(path string, cause error) {
	// The message has the path already, so the cause must not repeat it.
	var pe *fs.PathError
	if errors.As(cause, &pe) {
		cause = pe.Err
	}
	if !c.Line.Has("no-messages") {
		c.complain(errs.Inputf(path, "%w", cause))
	}
}

// listFiles prints the paths of the files that a search of roots would read, one per line. As in ripgrep,
// no root is the working directory. It returns exit code 1 if there is no file.
func (c *Call) listFiles(roots []string) (int, error) {
	if len(roots) == 0 {
		roots = []string{""}
	}
	f := c.choice()
	var failed, listed bool
	f.Missing = func(path string, cause error) {
		failed = true
		c.unreadable(path, cause)
	}
	if c.Err != nil {
		return 0, c.Err
	}
	output := c.regularOutput(c.Line.Has("quiet"))
	files, err := find.Files(slices.DeleteFunc(roots, func(root string) bool { return c.grows(root, output, f.Missing) }), f)
	if err != nil {
		return 0, err
	}
	end := "\n"
	if c.Line.Has("null") || c.Line.Has("0") {
		end = "\x00"
	}
	out := bufio.NewWriter(c.Stdout)
	for path := range files {
		if listed = true; c.Line.Has("quiet") {
			break
		}
		if _, err := out.WriteString(path + end); err != nil {
			return 0, err
		}
	}
	switch err := out.Flush(); {
	case err != nil:
		return 0, err
	case failed:
		return exitTrouble, nil
	case listed:
		return 0, nil
	}
	return 1, nil
}

// inLetters replaces the field of grep.Options that an error names by the flag that sets this field.
func inLetters(err error) error {
	var e *errs.Error
	if errors.As(err, &e) {
		e.Object = strings.Replace(strings.Replace(e.Object, "Options.Patterns", "pattern", 1), "Options.Context", "-B, -C", 1)
	}
	return err
}

// grepOptions reads the flags of the tool into options of the job. c.Err has the first mistake. Without
// -e and -f the caller sets Patterns. If no flag sets Names, it is NamesAuto.
func (c *Call) grepOptions() grep.Options {
	on := c.Line.Has
	o := grep.Options{
		Lines:       true,
		LineNumbers: on("line-number"), Count: on("count"), ListFiles: on("files-with-matches"), ListOthers: on("files-without-match"),
		Invert: on("invert-match"), IgnoreCase: c.caseFlag() == "ignore-case", SmartCase: c.caseFlag() == "smart-case", Fixed: on("fixed-strings"), Word: on("word-regexp"), Whole: on("line-regexp"),
		OnlyMatched: on("only-matching"), Longest: on("fixed-strings"), Quiet: on("quiet") || on("silent"), NULNames: on("null") || on("0"), NULEnded: on("null-data"), JSON: on("json"),
		Offsets: on("byte-offset"), Tab: on("initial-tab"), Colors: c.Getenv("GREP_COLORS"), Labels: c.labels(),
	}
	if o.Multiline = on("multiline"); o.Multiline {
		c.Options.BlockBytes = math.MaxInt64 >> 2 // each file is one split
		if o.NULEnded {
			c.Keep(errs.Optionf("-U", "cannot be combined with -z"))
		}
	}
	c.binaryFiles(&o)
	c.Choice("directories", "read", "recurse", "skip")
	c.Choice("devices", "read", "skip")
	// As in GNU grep, the last of -H and -h decides, the last of -l and -L, and the last of both
	// spellings of --color.
	when := "auto"
	for _, f := range c.Line.Flags {
		switch f.Flag.Name {
		case "with-filename":
			o.Names = grep.NamesAlways
		case "no-filename":
			o.Names = grep.NamesNever
		case "files-with-matches":
			o.ListFiles, o.ListOthers = true, false
		case "files-without-match":
			o.ListFiles, o.ListOthers = false, true
		case "color", "colour":
			when = c.Choice(f.Flag.Name, "auto", "always", "never")
		}
	}
	// MaxCount is a pointer, because no bound differs from a bound of 0 lines.
	o.MaxCount = c.Limit("max-count")
	// As in GNU grep, -A and -B win over -C in any order.
	if on("after-context") || on("before-context") || on("context") {
		around := c.contextLines("context")
		o.Context = &grep.Context{Before: around, After: around}
		if on("before-context") {
			o.Context.Before = c.contextLines("before-context")
		}
		if on("after-context") {
			o.Context.After = c.contextLines("after-context")
		}
		o.Context.NoSeparator = c.last("group-separator", "no-group-separator") == "no-group-separator"
		if text, given := c.Line.Value("group-separator"); given {
			o.Context.Separator = &text
		}
	}
	// The value auto means colours on a terminal, unless the environment says that it is a dumb one.
	o.Color = when == "always"
	if when == "auto" {
		file, ok := c.Stdout.(*os.File)
		o.Color = ok && c.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
	}
	// As in GNU grep, neither of two syntaxes wins.
	if on("extended-regexp") && on("fixed-strings") {
		c.Keep(errs.Optionf("-E, -F", "give one of them, not both"))
	}
	for _, name := range []string{"count", "files-with-matches", "files-without-match"} {
		if on("json") && on(name) {
			c.Keep(errs.Optionf("--json", "cannot be combined with --%s", name))
		}
	}
	c.patterns(&o)
	// With -L and a bound of 0 no line is selected, so each file is listed.
	if o.ListOthers && o.MaxCount != nil && *o.MaxCount == 0 {
		o.Patterns = []string{grep.MatchNothing}
		o.Fixed, o.Invert = false, false
		o.MaxCount = nil
	}
	return o
}

// caseFlag returns the last flag that says whether case counts, or "".
func (c *Call) caseFlag() string { return c.last("ignore-case", "no-ignore-case", "smart-case") }

// binaryFiles reads what to do with binary files into o. As in GNU grep, the last flag decides.
func (c *Call) binaryFiles(o *grep.Options) {
	files := c.Choice("binary-files", "binary", "text", "without-match")
	switch c.last("text", "without-match", "binary-files") {
	case "text":
		files = "text"
	case "without-match":
		files = "without-match"
	}
	o.Text, o.NoBinary = files == "text", files == "without-match"
	if !o.NoBinary {
		o.BinaryMatch = func(path string) { c.complain(errs.Inputf(path, "binary file matches")) }
	}
}

// last returns the name of the flag that stands last among those with the given names, or "".
func (c *Call) last(names ...string) (name string) {
	for _, f := range c.Line.Flags {
		if slices.Contains(names, f.Flag.Name) {
			name = f.Flag.Name
		}
	}
	return name
}

// patterns adds each pattern of -e and the lines of each file of -f to o.Patterns, in their order. c.Err
// has the error of a file that cannot be read.
func (c *Call) patterns(o *grep.Options) {
	for _, f := range c.Line.Flags {
		switch f.Flag.Name {
		case "regexp":
			o.Patterns = append(o.Patterns, f.Value)
		case "file":
			// The newline at the end of the file ends the last pattern and does not begin an empty one.
			// Package jobs/grep splits the text into lines.
			if text := c.text("-f", f.Value); text != "" {
				o.Patterns = append(o.Patterns, strings.TrimSuffix(text, "\n"))
			}
		}
	}
	// As in GNU grep, an empty file of patterns matches no line.
	if c.Line.Has("file") && len(o.Patterns) == 0 {
		o.Patterns, o.Fixed = []string{grep.MatchNothing}, false
	}
}

// text returns the text of a file that a flag names. The name - is standard input, which is at its end
// after this and cannot be searched. c.Err has the error of a file that cannot be read.
func (c *Call) text(flag, name string) string {
	var data []byte
	var err error
	if name == "-" {
		data, err = io.ReadAll(c.Stdin)
	} else {
		data, err = os.ReadFile(name)
	}
	if err != nil {
		c.Keep(errs.Inputf(flag, "%w", err))
	}
	return string(data)
}

// choice reads the flags that choose files. The caller sets Missing.
func (c *Call) choice() find.Options {
	// As in ripgrep, -u stands for --no-ignore, and -uu for --no-ignore --hidden.
	more := len(c.Line.Values("unrestricted"))
	f := find.Options{
		Hidden: c.Line.Has("hidden") || more > 1, NoIgnore: c.Line.Has("no-ignore") || more > 0,
		Follow: c.last("dereference-recursive", "follow") != "",
		Globs:  c.Line.Values("glob"), Types: c.Line.Values("type"), Getenv: c.Getenv,
		Sort: c.Choice("sort", "path", "modified", "accessed", "created", "none"),
	}
	// As in GNU grep, a loop is not an error with -R.
	if c.Line.Has("dereference-recursive") {
		f.Loop = func(path string) { c.complain(errs.Inputf(path, "warning: recursive directory loop")) }
	}
	for _, s := range c.Line.Flags {
		switch s.Flag.Name {
		case "include":
			f.Names = append(f.Names, find.Name{Kind: find.Include, Glob: s.Value})
		case "exclude":
			f.Names = append(f.Names, find.Name{Kind: find.Exclude, Glob: s.Value})
		case "exclude-dir":
			f.Names = append(f.Names, find.Name{Kind: find.ExcludeDir, Glob: s.Value})
		case "exclude-from":
			for _, line := range find.PatternsOf(c.text("--exclude-from", s.Value)) {
				f.Names = append(f.Names, find.Name{Kind: find.Exclude, Glob: line})
			}
		}
	}
	return f
}

// regularOutput returns standard output if it is a regular file, and nil otherwise. As in GNU grep, such a
// file is not searched, because it would grow while it is read. With -q there is no output.
func (c *Call) regularOutput(quiet bool) fs.FileInfo {
	if info := fileInfo(c.Stdout); !quiet && info != nil && info.Mode().IsRegular() {
		return info
	}
	return nil
}

// grows reports whether a PATH is standard input that is also the output. It then calls missing.
func (c *Call) grows(root string, output fs.FileInfo, missing func(path string, cause error)) bool {
	stdin := fileInfo(c.Stdin)
	same := root == "-" && output != nil && stdin != nil && os.SameFile(stdin, output)
	if same {
		missing("(standard input)", input.ErrOutput)
	}
	return same
}

// fileInfo describes a stream that is a file. It returns nil for any other.
func fileInfo(stream any) fs.FileInfo {
	if file, ok := stream.(*os.File); ok {
		if info, err := file.Stat(); err == nil {
			return info
		}
	}
	return nil
}
