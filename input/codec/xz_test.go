package codec

import (
	"bufio"
	"bytes"
	"io"
	"testing"

	"github.com/ulikunitz/xz"
)

// If the decoder returns no error, its text is that of the library's own reader.
func FuzzXZ(f *testing.F) {
	var all []byte
	for _, c := range []xz.WriterConfig{{DictCap: 1 << 12}, {DictCap: 1 << 12, BlockSize: 10}, {DictCap: 1 << 12, CheckSum: xz.SHA256}, {DictCap: 1 << 12, NoCheckSum: true}} {
		var b bytes.Buffer
		w, err := c.NewWriter(&b)
		if err != nil {
			f.Fatal(err)
		}
		io.WriteString(w, "text that is compressed, text that is compressed")
		w.Close()
		f.Add(b.Bytes())
		f.Add(b.Bytes()[:b.Len()-5])
		all = append(append(all, b.Bytes()...), 0, 0, 0, 0)
	}
	f.Add(all)
	f.Add(append(all, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		var d Decoders
		defer d.Close()
		d.xz = &xzReader{window: func(bytes int64) error { return d.window(XZ, bytes) }}
		d.xz.reset(bufio.NewReader(bytes.NewReader(data)))
		got, err := io.ReadAll(io.LimitReader(d.xz, 1<<20))
		if err != nil || len(got) == 1<<20 {
			return
		}
		r, err := xz.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal("the library refuses it: ", err)
		}
		if want, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q, not %q, %v", got, want, err)
		}
	})
}
