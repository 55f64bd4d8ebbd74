package disk

import "mrlocal/internal/machine"

const (
	// writebackBytes is the number of bytes after which writing to the disk is started. They make
	// one large request, and leave little for the sync at the end.
	writebackBytes = 1 << 20

	// windowBytes is half of the bytes of a file that may wait for the disk within a memory
	// control group.
	windowBytes = 4 << 20
)

// Writeback starts writing a file to the disk while the file is being made. When the file is synced
// in the end, most of it is on the disk already. Writing and syncing 1 GiB took 0.3 s less on a
// disk, and as long as without it on a tmpfs.
//
// A memory control group counts the pages of files. Within such a group, Writeback also bounds the
// pages of the file that wait for the disk. It waits for the window before the last one, and drops
// the pages of that window. Elsewhere that would only take time.
//
// Writeback makes nothing durable: only a sync does. The zero value is that of a new file.
type Writeback struct {
	From int64 // offset from which writing to the disk was not started yet
	Lazy bool  // the file may never have to reach the disk: start only within a control group

	kept    int64 // offset from which pages were not dropped yet
	begun   bool  // kept is set
	asked   bool  // limited is set
	limited bool  // a control group limits the memory
}

// Wrote notes that f was written up to offset end, and starts writing if there is enough.
func (w *Writeback) Wrote(f *File, end int64) {
	if !w.begun {
		w.kept, w.begun = w.From, true
	}
	if end < w.kept { // the file was cut off
		w.kept = end
	}
	if !w.Lazy && end-w.From >= writebackBytes {
		startWriteback(f, w.From, end-w.From)
		w.From = end
	}
	if end-w.kept >= 2*windowBytes {
		w.bound(f, end)
	}
}

// bound drops the pages before the last window, if a control group limits the memory.
func (w *Writeback) bound(f *File, end int64) {
	if !w.asked {
		w.asked, w.limited = true, machine.MemoryLimited()
	}
	if !w.limited {
		w.kept = end
		return
	}
	if w.Lazy {
		startWriteback(f, w.From, end-w.From)
		w.From = end
	}
	dropPages(f, w.kept, end-windowBytes-w.kept)
	w.kept = end - windowBytes
}
