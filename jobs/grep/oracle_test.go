package grep

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"mrlocal/jobs/jobtest"
)

// oracle does the work of the jobs of New in the simplest way. It matches each line with the
// standard library, and puts -w and -x into the text of the pattern. It returns the output and
// the number of selected lines or listed files.
func oracle(o Options, files []jobtest.File) (string, int64) {
	parts := []string{}
	for _, p := range o.Patterns {
		for p := range strings.SplitSeq(p, "\n") {
			if o.Fixed {
				p = regexp.QuoteMeta(p)
			}
			parts = append(parts, "(?:"+p+")")
		}
	}
	text := strings.Join(parts, "|")
	if o.IgnoreCase {
		text = "(?i:" + text + ")"
	}
	if o.Whole {
		text = `\A(?:` + text + `)\z`
	}
	match := regexp.MustCompile(text)
	if !o.selects() {
		return countOracle(match, files), 0
	}
	select_ := match.Match
	if o.Word && !o.Whole {
		select_ = regexp.MustCompile(`(?:\A|\W)(?:` + text + `)(?:\W|\z)`).Match
	}
	return selectOracle(o, match, select_, files)
}

func countOracle(match *regexp.Regexp, files []jobtest.File) string {
	counts := map[string]int{}
	for _, f := range files {
		for _, line := range splitLines(f.Data) {
			for _, m := range match.FindAll(line, -1) {
				if len(m) > 0 {
					counts[string(m)]++
				}
			}
		}
	}
	var keys []string
	for k := range counts {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	var out strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&out, "%d\t%s\n", counts[k], k)
	}
	return out.String()
}

func selectOracle(o Options, match *regexp.Regexp, selects func([]byte) bool, files []jobtest.File) (string, int64) {
	limit := int64(math.MaxInt64)
	if o.MaxCount != nil && *o.MaxCount >= 0 {
		limit = *o.MaxCount
	}
	if limit == 0 {
		return "", 0
	}
	var out strings.Builder
	total := int64(0)
	for _, f := range files {
		prefix := ""
		if o.Names == NamesAlways || o.Names == NamesAuto && len(files) > 1 {
			prefix = f.Path + ":"
		}
		selected := int64(0)
		for i, line := range splitLines(f.Data) {
			if selected == limit {
				break
			}
			if selects(line) == o.Invert {
				continue
			}
			selected++
			if o.Quiet {
				return "", 1
			}
			if o.ListFiles || o.Count {
				continue
			}
			texts := [][]byte{line}
			if o.OnlyMatched && o.Invert {
				texts = nil
			} else if o.OnlyMatched {
				texts = slices.DeleteFunc(match.FindAll(line, -1), func(p []byte) bool { return len(p) == 0 })
			}
			for _, text := range texts {
				out.WriteString(prefix)
				if o.LineNumbers {
					fmt.Fprint(&out, i+1, ":")
				}
				fmt.Fprintf(&out, "%s\n", text)
			}
		}
		switch {
		case o.Quiet:
		case o.ListFiles && selected > 0:
			selected = 1
			fmt.Fprintln(&out, f.Path)
		case o.Count && !o.ListFiles:
			fmt.Fprintf(&out, "%s%d\n", prefix, selected)
		}
		total += selected
	}
	return out.String(), total
}

func splitLines(data []byte) [][]byte {
	if len(data) == 0 {
		return nil
	}
	return bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
}
