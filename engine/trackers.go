package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"mrlocal/input"
	"mrlocal/internal/errs"
	"mrlocal/internal/hdfs"
	"mrlocal/slots"
)

// Trackers are the trackers of a run. Each stands for some hosts of HDFS, so that maps on one
// machine have the locality that they have on a cluster.
type Trackers struct {
	Count int
	hosts map[string]int // in the order in which Place saw them; host i is tracker i % Count
}

// Hosts returns, for each split of a plan, the hosts that have most of its bytes. It returns nil if
// there is one tracker only, if no input is on HDFS, or if some inputs are streams. It sends one
// request for each file. If a request fails, it calls note and returns nil.
func (t *Trackers) Hosts(p *input.Plan, fs *hdfs.FS, note func(string)) [][]string {
	if t.Count < 2 || len(p.Streams) > 0 || !slices.ContainsFunc(p.Files, func(f input.File) bool { return hdfs.Is(f.Path) }) {
		return nil
	}
	hosts := make([][]string, len(p.Splits))
	of, blocks := int32(-1), []hdfs.Block(nil)
	for i := range p.Splits {
		bytes := map[string]int64{} // of the split, by host
		for _, piece := range p.Splits[i].Pieces {
			path := p.Files[piece.File].Path
			if !hdfs.Is(path) {
				continue
			}
			if piece.File != of { // the splits of a file follow each other
				var err error
				if blocks, err = fs.Blocks(path); err != nil {
					note(fmt.Sprintf("%s: the hosts of its blocks are not known, so no map is local: %s", path, errs.OneLine(err.Error())))
					return nil
				}
				of = piece.File
			}
			for b := range blocks {
				n := min(blocks[b].Offset+blocks[b].Length, piece.End) - max(blocks[b].Offset, piece.Start)
				for _, host := range blocks[b].Hosts {
					bytes[host] += max(n, 0)
				}
			}
		}
		// The 1 keeps out hosts without a byte, and Max of an empty slice from a panic.
		most := slices.Max(append(slices.Collect(maps.Values(bytes)), 1))
		for _, host := range slices.Sorted(maps.Keys(bytes)) {
			if bytes[host] == most {
				hosts[i] = append(hosts[i], host)
			}
		}
	}
	return hosts
}

// mostNamed bounds the hosts that a note of Place names.
const mostNamed = 8

// Place reports to the Ledger which trackers have the input of the maps of a job. hosts has the
// hosts of each map (Hosts). New hosts are assigned to trackers in the order of their names, and
// note gets a text with these trackers.
func (t *Trackers) Place(l *slots.Ledger, now time.Duration, id slots.JobID, hosts [][]string, note func(string)) {
	known, text := len(t.hosts), ""
	for _, host := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(hosts...)))) {
		n := len(t.hosts)
		if _, is := t.hosts[host]; is {
			continue
		}
		if n-known < mostNamed {
			text += fmt.Sprintf(", %s (tracker %d)", host, n%t.Count)
		}
		if t.hosts == nil {
			t.hosts = map[string]int{}
		}
		t.hosts[host] = n
	}
	if more := len(t.hosts) - known - mostNamed; more > 0 {
		text += fmt.Sprintf(", %d more", more)
	}
	if text != "" {
		note("blocks of the input are on " + text[2:])
	}
	for i, of := range hosts {
		for _, host := range of {
			l.Place(now, id, slots.TaskID(i), slots.TrackerID(t.hosts[host]%t.Count))
		}
	}
}
