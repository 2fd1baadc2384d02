package fetcher

import "golang.org/x/sys/windows"

// fionread is FIONREAD of winsock2.h: how many bytes can be read at once.
const fionread = 0x4004667f

// nothingToRead reports that a socket has nothing to read. That its other end has
// closed it shows in the next request only, which is then sent again.
func nothingToRead(fd uintptr, _ []byte) bool {
	var waiting [4]byte
	var size uint32
	err := windows.WSAIoctl(windows.Handle(fd), fionread, nil, 0, &waiting[0], uint32(len(waiting)), &size, nil, 0)
	return err == nil && waiting == [4]byte{}
}
