package settings

import (
	"os"
	"os/user"
	"strconv"

	"mrlocal/cmd/mrlocal/internal/argv"
	"mrlocal/hdfs"
)

// HDFSFlags say how HDFS is reached.
func HDFSFlags() []argv.Spec {
	return []argv.Spec{
		argv.ValueSpec("webhdfs", "the web interface of the NameNode is at `HOST:PORT`", "the host of the path, port 9870"),
		argv.ValueSpec("hdfs-user", "read and write HDFS as the user `NAME`", "who runs mrlocal"),
	}
}

// ReadHDFS reads HDFSFlags, for a command that has these paths.
func ReadHDFS(r *argv.Reader, paths []string) hdfs.Options {
	o := hdfs.Options{Web: r.Path("webhdfs"), User: r.Path("hdfs-user")}
	for _, p := range paths {
		if hdfs.Is(p) && o.User == "" {
			o.User = userName()
		}
	}
	return o
}

// userName returns the name of the user that runs the process, or the number where there is none.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}
