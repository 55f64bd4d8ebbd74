package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"mrlocal"
	"mrlocal/input"
	"mrlocal/internal/disk"
	"mrlocal/internal/errs"
	"mrlocal/internal/flags"
	"mrlocal/internal/setting"
	"mrlocal/internal/term"
	"mrlocal/jobs/grep"
	"mrlocal/jobs/grep/find"
)

// grepCommand is mrlocal grep: GNU grep on the engine. In directories it chooses files as ripgrep does. Of flags that
// contradict each other, the last one counts.
type grepCommand struct {
	tool
	job    grep.Options
	find   find.Options
	given  bool // there is a pattern, from -e or -f
	files  bool
	silent bool // -s: no messages

	around, before, after *int64 // lines of -C, -B and -A
	context               grep.Context
	languages             string // the letters of -G, -E, -P and -F that are given

	color, binary, decode, devices string // words of the flags
	directories                    string // of the last of -d, -r and -R; "": directories are searched
	unrestricted                   int    // times of -u

	except fs.FileInfo // the output, if it must not be searched; nil: it may be
	failed atomic.Bool // a file could not be read; the walk and the engine find that in several goroutines
}

// grepTool returns mrlocal grep. o has options of the engine that flags replace.
func grepTool(e Env, o mrlocal.Options) *flags.Command {
	c := &grepCommand{tool: tool{Env: e, name: "grep", engine: o}, job: grep.Options{Lines: true, Labels: grep.Labels{}}, color: "auto", decode: "utf16"}
	made := c.command("print the lines that match a pattern, as GNU grep does", slices.Concat(c.patternSettings(), c.outputSettings(), c.fileSettings(), whole(c.ripgrepSettings()...)), c.run)
	made.OldLetters = oldLetters
	return made
}

// patternSettings returns the flags of GNU grep that say which lines are selected.
func (c *grepCommand) patternSettings() []setting.Setting {
	o := &c.job
	language := func(name, letter string) setting.Setting {
		return does(name+","+letter, func() { c.languages += letter })
	}
	return []setting.Setting{
		reads("regexp,e,Patterns", c.addPattern), reads("file,f", c.readPatterns), own("max-count,m,MaxCount", setting.Limit(&o.MaxCount)),
		language("basic-regexp", "G"), language("extended-regexp", "E"), language("perl-regexp", "P"), language("fixed-strings", "F"),
		bareFlag("invert-match,v", &o.Invert), bareFlag("word-regexp,w", &o.Word), bareFlag("line-regexp,x", &o.Whole),
		does("ignore-case,i", func() { o.IgnoreCase, o.SmartCase = true, false }), does("no-ignore-case", func() { o.IgnoreCase, o.SmartCase = false, false }),
		bareFlag("null-data,z", &o.NULEnded), does("text,a", func() { c.binary = "text" }), own("binary-files", setting.Choice(&c.binary, "binary", "text", "without-match")),
	}
}

// outputSettings returns the flags of GNU grep that say what is printed. --line-buffered has no effect: lines appear as
// soon as the input pauses.
func (c *grepCommand) outputSettings() []setting.Setting {
	o := &c.job
	return []setting.Setting{
		bareFlag("count,c", &o.Count), bareFlag("quiet,q", &o.Quiet), bareFlag("silent", &o.Quiet), bareFlag("only-matching,o", &o.OnlyMatched), bareFlag("line-number,n", &o.LineNumbers),
		does("files-with-matches,l", func() { o.ListFiles, o.ListOthers = true, false }), does("files-without-match,L", func() { o.ListFiles, o.ListOthers = false, true }),
		does("with-filename,H", func() { o.Names = grep.NamesAlways }), does("no-filename,h", func() { o.Names = grep.NamesNever }),
		bareFlag("null,Z", &o.NULNames), bareFlag("byte-offset,b", &o.Offsets), bareFlag("initial-tab,T", &o.Tab), bareFlag("no-messages,s", &c.silent), does("line-buffered", func() {}),
		own("after-context,A", lineCount(&c.after)), own("before-context,B", lineCount(&c.before)), own("context,C,Context", lineCount(&c.around)),
		does("no-group-separator", func() { c.context.NoSeparator = true }),
		reads("group-separator", func(text string) error {
			c.context.Separator, c.context.NoSeparator = &text, false
			return nil
		}),
		reads("label", func(text string) error {
			o.Labels[grep.StdinPath] = text
			return nil
		}),
		// These are three names of one flag, because the beginning of a name may mean the first two.
		c.colorSetting("color"), whole(c.colorSetting("colour"))[0], whole(c.colorSetting("colou"))[0],
	}
}

// colorSetting returns --color, which may stand without a value.
func (c *grepCommand) colorSetting(name string) setting.Setting {
	choice := setting.Choice(&c.color, "auto", "always", "never")
	return own(name, setting.Value{Bare: true, Set: func(text string) error {
		if text == "true" {
			text = "auto"
		}
		return choice.Set(text)
	}})
}

// fileSettings returns the flags of GNU grep that choose files. --binary has no effect: there are no text files of
// Windows.
func (c *grepCommand) fileSettings() []setting.Setting {
	f := &c.find
	name := func(name string, kind find.NameKind) setting.Setting {
		return reads(name, func(glob string) error {
			f.Names = append(f.Names, find.Name{Kind: kind, Glob: glob})
			return nil
		})
	}
	return []setting.Setting{
		name("include", find.Include), name("exclude", find.Exclude), name("exclude-dir", find.ExcludeDir),
		reads("exclude-from", func(path string) error {
			text, err := c.readAll(path)
			for _, line := range find.PatternsOf(string(text)) {
				f.Names = append(f.Names, find.Name{Kind: find.Exclude, Glob: line})
			}
			return err
		}),
		own("directories,d", setting.Choice(&c.directories, "read", "recurse", "skip")), own("devices,D", setting.Choice(&c.devices, "read", "skip")),
		does("recursive,r", func() { c.directories = "recurse" }), does("binary", func() {}),
		does("dereference-recursive,R", func() {
			c.directories, f.Follow = "recurse", true
			// As in GNU grep, a loop is not an error.
			f.Loop = func(path string) { c.complain(errs.Inputf(path, "warning: recursive directory loop")) }
		}),
	}
}

// ripgrepSettings returns the flags that GNU grep does not have by these names.
func (c *grepCommand) ripgrepSettings() []setting.Setting {
	f := &c.find
	return []setting.Setting{
		own("glob,g,Globs", setting.List(&f.Globs)), own("type,t,Types", setting.List(&f.Types)), own("sort", setting.Choice(&f.Sort, "path", "modified", "none")),
		own("decode", setting.Choice(&c.decode, "utf16", "auto", "none")), does("without-match,I", func() { c.binary = "without-match" }), bareFlag("multiline,U,Multiline", &c.job.Multiline),
		does("smart-case,S", func() { c.job.IgnoreCase, c.job.SmartCase = false, true }), bareFlag("json", &c.job.JSON), bareFlag("hidden", &f.Hidden), bareFlag("no-ignore", &f.NoIgnore),
		does("unrestricted,u", func() { // as in ripgrep, -u stands for --no-ignore, and -uu for --no-ignore --hidden
			c.unrestricted++
			f.NoIgnore, f.Hidden = true, f.Hidden || c.unrestricted > 1
		}),
		bareFlag("follow", &f.Follow), bareFlag("files", &c.files),
	}
}

// oldLetters reads -NUM, -0, -y and -V, which may stand in a bundle of letters.
func oldLetters(letters string) (flag string, used int) {
	digits := len(letters) - len(strings.TrimLeft(letters, "0123456789"))
	switch {
	case letters[0] == 'y':
		return "--ignore-case", 1
	case letters[0] == 'V':
		return "--version", 1
	case letters[:digits] == "0":
		return "--null", 1
	}
	return "--context=" + letters[:digits], digits
}

// lineCount returns the value of a number of lines. As in GNU grep, one that is too large means all lines.
func lineCount(p **int64) setting.Value {
	return setting.Func(func(text string) error {
		var n *int64
		err := setting.Limit(&n).Set(text)
		switch {
		case err != nil:
			return err
		case n == nil:
			return fmt.Errorf("%s: too small; at least 0", errs.Quote(text))
		}
		*p = new(min(*n, math.MaxInt32))
		return nil
	})
}

// addPattern adds a pattern of -e.
func (c *grepCommand) addPattern(pattern string) error {
	c.given = true
	c.job.Patterns = append(c.job.Patterns, pattern)
	return nil
}

// readPatterns adds the lines of a file of -f. Package jobs/grep splits the text into lines.
func (c *grepCommand) readPatterns(path string) error {
	text, err := c.readAll(path)
	if c.given = true; len(text) > 0 {
		// The newline at the end of the file ends the last pattern and does not begin an empty one.
		c.job.Patterns = append(c.job.Patterns, strings.TrimSuffix(string(text), "\n"))
	}
	return err
}

// run searches. The exit code is that of GNU grep. It is 0 if a line was selected, 1 if none was, and 2 if a file could
// not be read. With -q a selected line wins over such a file.
func (c *grepCommand) run(ctx context.Context, line *flags.Line) (int, error) {
	c.find.Getenv, c.find.Missing = c.Getenv, c.missing
	if info := fileInfo(c.Stdout); !c.job.Quiet && info != nil && info.Mode().IsRegular() {
		c.except = info // as in GNU grep, it is not searched, because it would grow while it is read
	}
	if c.files {
		return c.listFiles(line.Words)
	}
	paths, err := c.setPatterns(line.Words)
	if err == nil {
		err = c.checkFlags()
	}
	if err != nil {
		return 0, err
	}
	o := &c.job
	c.setOutputForm()
	if o.SelectsNothing() {
		return 1, nil
	}
	if len(paths) == 0 && c.directories == "recurse" { // the paths of its files have no leading "./"
		paths = []string{""}
	} else if len(paths) == 0 {
		paths = []string{"-"}
	}
	// GNU grep prints names if there are two PATHs or a directory, even if the search then finds only
	// one file.
	o.Single = len(paths) == 1 && !find.IsDirectory(paths[0])
	switch {
	case o.Names == grep.NamesAuto && o.Single:
		o.Names = grep.NamesNever
	case o.Names == grep.NamesAuto:
		o.Names = grep.NamesAlways
	}
	// A single file may also be the output. It is searched if the job writes only after reading, as
	// with these flags.
	if o.Single && (o.Count || o.ListFiles || o.ListOthers || o.MaxCount != nil && *o.MaxCount <= 1) {
		c.except = nil
	}
	paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return c.grows(path) || c.leavesOut(path) })
	temp := disk.NewTempRoot(c.engine.TempDirs, 0)
	defer temp.Close()
	if err := c.spoolPipes(temp, paths); err != nil {
		return 0, err
	}
	matched, err := c.search(ctx, paths)
	return c.exitCode(matched), err
}

// setPatterns sets the patterns, and returns the words that are paths. Without -e and -f the first word is the pattern,
// as in GNU grep.
func (c *grepCommand) setPatterns(words []string) (paths []string, err error) {
	o := &c.job
	if !c.given {
		if len(words) == 0 {
			return nil, errs.Optionf("", "name a PATTERN; mrlocal grep --help lists the flags")
		}
		o.Patterns, words = words[:1], words[1:]
	}
	// As in GNU grep, neither of two languages wins.
	language := cmp.Or(c.languages, "G")[:1]
	if other := strings.TrimLeft(c.languages, language); other != "" {
		return nil, errs.Optionf("-"+language+", -"+other[:1], "give one of them, not both")
	}
	o.Fixed, o.Longest = language == "F", language != "P"
	o.Syntax = map[string]grep.Syntax{"G": grep.Basic, "E": grep.Extended}[language]
	o.Warn = func(text string) { c.complain(errs.Inputf("", "warning: %s", text)) }
	// With -L and a bound of 0 no line is selected, so each file is listed.
	all := o.ListOthers && o.MaxCount != nil && *o.MaxCount == 0
	if all {
		o.Invert, o.MaxCount = false, nil
	}
	if all || len(o.Patterns) == 0 { // as in GNU grep, an empty file of patterns matches no line
		o.Patterns = []string{grep.MatchNothing}
		o.Fixed, o.Syntax = false, grep.RE2
	}
	return words, nil
}

// checkFlags refuses flags that contradict each other.
func (c *grepCommand) checkFlags() error {
	switch o := &c.job; {
	case o.Multiline && o.NULEnded:
		return errs.Optionf("-U", "cannot be combined with -z")
	case o.JSON && o.Count:
		return errs.Optionf("--json", "cannot be combined with --count")
	case o.JSON && (o.ListFiles || o.ListOthers):
		return errs.Optionf("--json", "cannot be combined with -l or -L")
	}
	return nil
}

// setOutputForm sets how files are read and what the output looks like.
func (c *grepCommand) setOutputForm() {
	o := &c.job
	if o.Text, o.NoBinary = c.binary == "text", c.binary == "without-match"; !o.NoBinary {
		o.BinaryMatch = func(path string) { c.complain(errs.Inputf(path, "binary file matches")) }
	}
	// As in GNU grep, -A and -B win over -C in any order.
	if cmp.Or(c.around, c.before, c.after) != nil {
		o.Context = &c.context
		o.Context.Before, o.Context.After = *cmp.Or(c.before, c.around, new(int64(0))), *cmp.Or(c.after, c.around, new(int64(0)))
	}
	// The value auto means colours on a terminal, unless the environment says that it is a dumb one.
	o.Colors = c.Getenv("GREP_COLORS")
	o.Color = c.color == "always" || c.color == "auto" && c.Getenv("TERM") != "dumb" && term.IsTerminal(c.Stdout)
	if o.Multiline {
		c.engine.BlockBytes = math.MaxInt64 >> 2 // each file is one split
	}
	// GNU grep does not decode compressed files. So the default of --decode is utf16 here, and auto in
	// mrlocal run.
	c.engine.NoDecode, c.engine.UTF16 = c.decode != "auto", c.decode != "none"
}

// search runs the job on the files of roots. It reports whether a line was selected. Then the output
// may still be empty, as with -q.
func (c *grepCommand) search(ctx context.Context, roots []string) (matched bool, err error) {
	o := &c.job
	for _, part := range c.parts(roots) {
		chain, err := grep.New(*o)
		if err != nil {
			return false, err
		}
		o.Warn = nil // only once
		files, err := find.Files(part, c.find)
		if err != nil {
			return false, err
		}
		c.engine.Found = &input.Search{Paths: files, Missing: c.missing, Except: c.except}
		done, err := c.runChain(ctx, chain)
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

// parts divides roots so that each part has standard input at most once. It does so only if standard input is a
// regular file and the flags may leave lines of it unread. A part then begins where the part before has left it. --sort
// orders each part by itself.
func (c *grepCommand) parts(roots []string) (parts [][]string) {
	o, info := &c.job, fileInfo(c.Stdin)
	if o.JSON || o.MaxCount == nil && !o.ListFiles && !o.ListOthers || info == nil || !info.Mode().IsRegular() {
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

// leavesOut reports whether -d or -D leaves out a PATH. A directory that must be read cannot be.
func (c *grepCommand) leavesOut(root string) bool {
	if root == "-" || c.devices != "skip" && c.directories != "skip" && c.directories != "read" {
		return false
	}
	info, err := disk.Stat(root)
	switch {
	case err != nil: // the search names it
		return false
	case info.IsDir() && c.directories == "read":
		c.missing(root, syscall.EISDIR)
		return true
	case info.IsDir():
		return c.directories == "skip"
	}
	return c.devices == "skip" && info.Mode()&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0
}

// With -U a file must be one split, but a pipe has many. So spoolPipes copies pipes to temporary files. It sets roots
// to the copies, whose labels are the names of the pipes.
func (c *grepCommand) spoolPipes(temp *disk.TempRoot, roots []string) error {
	if !c.job.Multiline {
		return nil
	}
	for i, root := range roots {
		path, err := temp.Spool(root, c.Stdin)
		if err == nil && path != "" && root == "-" {
			c.Stdin, err = disk.OpenInput(path)
		} else if err == nil && path != "" {
			roots[i], c.job.Labels[path] = path, root
		}
		if err != nil {
			return errs.Inputf(root, "%w", errs.Cause(err))
		}
	}
	return nil
}

// withLabels returns err with the names of pipes instead of the paths of their copies.
func withLabels(err error, labels grep.Labels) error {
	for path, name := range labels {
		if path != grep.StdinPath && strings.Contains(err.Error(), path) {
			return errs.Inputf("", "%s", strings.ReplaceAll(errs.Word(err, flagOf(nil)), path, name))
		}
	}
	return err
}

// missing takes a path that cannot be read. The search goes on. It names the path unless -s is given.
func (c *grepCommand) missing(path string, cause error) {
	// With -l the output itself may be among the files. If it is still empty, it has no match, and
	// skipping it needs no message. GNU grep does the same.
	if cause == input.ErrOutput && c.job.ListFiles && !c.job.ListOthers && c.except.Size() == 0 {
		return
	}
	c.failed.Store(true)
	if !c.silent {
		c.complain(errs.Inputf(path, "%w", errs.Cause(cause)))
	}
}

// exitCode returns the exit code. selected says whether there is a line, or with --files a file.
func (c *grepCommand) exitCode(selected bool) int {
	switch {
	case c.failed.Load() && !(c.job.Quiet && selected):
		return Usage
	case selected:
		return 0
	}
	return 1
}

// listFiles prints the paths of the files that a search of roots would read, one per line. As in ripgrep,
// no root is the working directory. The exit code is 1 if there is no file.
func (c *grepCommand) listFiles(roots []string) (int, error) {
	if len(roots) == 0 {
		roots = []string{""}
	}
	files, err := find.Files(slices.DeleteFunc(roots, c.grows), c.find)
	if err != nil {
		return 0, err
	}
	end, listed := "\n", false
	if c.job.NULNames {
		end = "\x00"
	}
	out := bufio.NewWriter(c.Stdout)
	for path := range files {
		if listed = true; c.job.Quiet {
			break
		}
		if _, err := out.WriteString(path + end); err != nil { // Flush returns it
			break
		}
	}
	err = out.Flush()
	return c.exitCode(listed), err
}

// grows reports whether a PATH is standard input that is also the output, and so cannot be read.
func (c *grepCommand) grows(root string) bool {
	stdin := fileInfo(c.Stdin)
	same := root == "-" && c.except != nil && stdin != nil && os.SameFile(stdin, c.except)
	if same {
		c.missing("(standard input)", input.ErrOutput)
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
