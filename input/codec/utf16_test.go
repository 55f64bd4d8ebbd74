package codec

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// decodeUTF16 is the slow model of UTF16Reader.
func decodeUTF16(text []byte) []byte {
	if !IsUTF16(text) {
		return text
	}
	high := 0
	if text[0] == 0xff {
		high = 1
	}
	var units []uint16
	for i := 2; i+1 < len(text); i += 2 {
		units = append(units, uint16(text[i+high])<<8|uint16(text[i+1-high]))
	}
	// A last byte without its unit and half a pair before it are one wrong character.
	if len(text)%2 == 1 && (len(units) == 0 || units[len(units)-1]&0xfc00 != 0xd800) {
		units = append(units, 0xfffd)
	}
	return []byte(string(utf16.Decode(units)))
}

// pauses is a reader that sometimes reads nothing.
type pauses struct {
	r    io.Reader
	read bool
}

func (p *pauses) Read(buf []byte) (int, error) {
	if p.read = !p.read; p.read {
		return 0, nil
	}
	return p.r.Read(buf)
}

func TestUTF16ReaderIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', '\n', 0x20, 0xd8, 0xdb, 0xdc, 0xdf, 0xfe, 0xff}), 0, 50).Draw(t, "text")
		text = append([]byte(rapid.SampledFrom([]string{"", "\xff\xfe", "\xfe\xff", "\xff", "\xef\xbb\xbf"}).Draw(t, "mark")), text...)
		text = append(text, bytes.Repeat([]byte("x\x00\xe9\x00"), rapid.SampledFrom([]int{0, 0, 5000}).Draw(t, "more"))...)
		wrap := rapid.SampledFrom([]func(io.Reader) io.Reader{
			func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.DataErrReader, func(r io.Reader) io.Reader { return &pauses{r: r} },
		}).Draw(t, "wrap")
		var u UTF16Reader
		u.Reset(wrap(bytes.NewReader(text)))
		var got []byte
		for {
			ready := u.Ready()
			buf := make([]byte, rapid.SampledFrom([]int{1, 2, 3, 4, 7, 100, 40_000}).Draw(t, "buf"))
			n, err := u.Read(buf)
			if ready && n == 0 {
				t.Fatal("no text, although the reader was ready")
			}
			if got = append(got, buf[:n]...); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if want := decodeUTF16(text); !bytes.Equal(got, want) {
			t.Fatalf("got %q\nwant %q of %x", got, want, text)
		}
		if u.Stored() != int64(len(text)) {
			t.Fatalf("%d bytes are stored of %d", u.Stored(), len(text))
		}
	})
}

// An error that is not the end of the text does not make up a character.
func TestUTF16ReaderKeepsErrors(t *testing.T) {
	for _, text := range []string{"", "\xff", "\xff\xfe", "\xff\xfea\x00", "\xff\xfea\x00b", "\xff\xfea\x00\x00\xd8"} {
		var u UTF16Reader
		u.Reset(io.MultiReader(bytes.NewReader([]byte(text)), iotest.ErrReader(io.ErrUnexpectedEOF)))
		got, err := io.ReadAll(&u)
		want := ""
		if len(text) > 2 {
			want = "a"
		} else if len(text) == 1 {
			want = text
		}
		if string(got) != want || err != io.ErrUnexpectedEOF {
			t.Errorf("%q: %q and %v; want %q", text, got, err, want)
		}
	}
}

func BenchmarkUTF16(b *testing.B) {
	text := append([]byte{0xff, 0xfe}, bytes.Repeat([]byte("t\x00e\x00x\x00t\x00 \x00"), 1<<18)...)
	b.SetBytes(int64(len(text)))
	buf := make([]byte, 1<<20)
	for b.Loop() {
		var u UTF16Reader
		u.Reset(bytes.NewReader(text))
		for err := error(nil); err == nil; {
			_, err = u.Read(buf)
		}
	}
}
