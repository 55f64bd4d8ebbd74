package codec

import (
	"errors"
	"io"
	"testing"

	"mrlocal/internal/testkit"
)

// TestADamagedFileIsToldInWords: the words of Go and of its libraries stay out of the message, and the
// cause stays to be found.
func TestADamagedFileIsToldInWords(t *testing.T) {
	for _, c := range []Codec{Gzip, Bzip2, Zstd, S2, LZ4, XZ} {
		for _, cause := range []error{io.ErrUnexpectedEOF, errors.New("reflect: panic")} {
			d := &Decoders{codec: c}
			err := d.Explain(cause, 7)
			if raw := testkit.RawGo(err.Error()); raw != "" || !errors.Is(err, cause) || !errors.As(err, new(*FileError)) {
				t.Errorf("%v: %v has %q", c, err, raw)
			}
		}
	}
}
