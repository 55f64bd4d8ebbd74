package process

import (
	"os"
	"os/user"
	"strconv"
)

// UserName returns the name of the user that runs the process, or the number where there is none.
func UserName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}
