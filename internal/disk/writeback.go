package disk

// writebackBytes are written before the disk is asked to begin with them: enough for one
// large request, and so few that little is left for the sync at the end.
const writebackBytes = 1 << 20

// Writeback keeps the disk busy while a file is written that is synced in the end. So the sync
// finds most of the data on the disk already. Where it was measured, writing and syncing 1 GiB
// took 0.3 s less on a disk, and as long as without it on a tmpfs.
// It only asks: it promises nothing about durability. The zero value is that of a new file.
type Writeback struct{ From int64 } // offset from which the disk was not asked yet

// Wrote says that f was written up to offset end.
func (w *Writeback) Wrote(f *File, end int64) {
	if end-w.From >= writebackBytes {
		startWriteback(f, w.From, end-w.From)
		w.From = end
	}
}
