package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"mrlocal/view"
)

//go:embed assets
var assets embed.FS

// asset is a file of the page with its headers.
type asset struct {
	kind, tag string // Content-Type, ETag
	text      []byte
}

// kindOf returns the Content-Type of a file of the page. It does not use the system's table of types,
// which may differ between machines.
func kindOf(name string) string {
	return map[string]string{
		".html": "text/html; charset=utf-8",
		".js":   "text/javascript; charset=utf-8",
		".css":  "text/css; charset=utf-8",
		".svg":  "image/svg+xml",
	}[path.Ext(name)]
}

// Files returns the files of the page by name, such as index.html or main.js. The map and the texts
// belong to the caller.
func Files() map[string][]byte {
	files := map[string][]byte{}
	_ = fs.WalkDir(assets, "assets", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[strings.TrimPrefix(name, "assets/")], err = assets.ReadFile(name)
		}
		return err // this never happens, because the files are in the program
	})
	files["signs.js"] = view.SignsScript()
	return files
}

// SiteIndex returns index.html for a page without a server. It has an attribute data-site, which the
// scripts look for, and the security policy that a Server would send as a header. A policy inside of
// a page cannot forbid frames; only a host can.
func SiteIndex() string {
	text, _ := assets.ReadFile("assets/index.html")
	meta := `<meta http-equiv="Content-Security-Policy" content="` + sitePolicy + "\">\n" + `<meta name="referrer" content="no-referrer">` + "\n"
	return strings.NewReplacer(`<html lang="en">`, `<html lang="en" data-site>`, "<title>", meta+"<title>").Replace(string(text))
}

// sitePolicy is the security policy of a page without a server: it may load its own files and run the
// compiled simulator.
const sitePolicy = "default-src 'self'; img-src 'self' blob:; script-src 'self' 'wasm-unsafe-eval'; base-uri 'none'; form-action 'none'"

// assetHandler returns a handler that serves the files of the page, and no lists of directories.
func assetHandler() http.Handler {
	files := map[string]asset{}
	for name, text := range Files() {
		sum := sha256.Sum256(text)
		files["/"+name] = asset{kindOf(name), `"` + hex.EncodeToString(sum[:12]) + `"`, text}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Path
		if name == "/" {
			name = "/index.html"
		}
		f, ok := files[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", f.kind)
		w.Header().Set("ETag", f.tag)
		w.Header().Set("Cache-Control", "no-cache") // browsers check the ETag each time, because a new program has a new page
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.text))
	})
}
