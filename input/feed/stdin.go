package feed

import (
	"io"
	"os"
	"sync/atomic"

	"mrlocal/input/codec"
	"mrlocal/internal/guard"
	"mrlocal/jobs"
)

// SharedStdin is standard input, if it is among the inputs and a regular file. Other processes may
// share its offset. The zero value is another standard input.
type SharedStdin struct {
	user    jobs.PartUser // nil: the job uses all of the file
	ran     bool          // a job of the chain has run
	planned atomic.Pointer[sharedStdin]
}

// sharedStdin has the arguments of input.Options.OnStdin.
type sharedStdin struct {
	f         *os.File
	at, bytes int64
	file      int32
}

// Planned is input.Options.OnStdin.
func (s *SharedStdin) Planned(f *os.File, at, bytes int64, file int32) {
	s.planned.Store(&sharedStdin{f, at, bytes, file})
}

// Keep notes that a job has run, and keeps its Releaser for Leave if it may need only a part of the file.
func (s *SharedStdin) Keep(r jobs.Releaser) {
	s.ran = true
	if user, ok := r.(jobs.PartUser); ok {
		s.user = user
	}
}

// Leave sets the offset behind what the job has used, also if it has failed. A process that shares the
// file reads on from there (POSIX.1-2017, XCU 1.4). The result is complete, so errors do not matter.
func (s *SharedStdin) Leave(noDecode, utf16 bool) {
	in := s.planned.Load()
	if in == nil || !s.ran {
		return
	}
	file, used := io.NewSectionReader(in.f, in.at, in.bytes), int64(-1)
	// The text of a compressed file has other offsets than the file.
	if s.user != nil && (noDecode || !codec.Compressed(file)) {
		_ = guard.Own("used", func() (err error) {
			if !utf16 {
				used, err = s.user.Used(in.file, file)
				return err
			}
			var text codec.UTF16Reader
			text.Reset(file)
			if used, err = s.user.Used(in.file, &text); used <= 0 || err != nil {
				return err
			}
			// Used may have read more than it has used. The used text is decoded again to learn its length in the file.
			text.Reset(io.NewSectionReader(in.f, in.at, in.bytes))
			_, err = io.CopyN(io.Discard, &text, used)
			used = text.Stored()
			return err
		})
	}
	if used < 0 || used > in.bytes {
		used = in.bytes
	}
	_, _ = in.f.Seek(in.at+used, io.SeekStart)
}
