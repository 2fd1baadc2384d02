package guard

import "slices"

// ForbiddenPort reports whether no request may ever go to a port, whatever else
// is allowed: port 0; the "bad ports" of the Fetch standard, where protocols
// listen that a crafted HTTP request can speak; and those of data stores, queues
// and control planes that trust every client.
func ForbiddenPort(port uint16) bool {
	_, found := slices.BinarySearch(forbiddenPorts[:], port)
	return found
}

// forbiddenPorts is sorted. None may lie in the ephemeral range (from 32768 on
// Linux), where tests and local origins listen.
var forbiddenPorts = [...]uint16{
	// Below 1024: the Fetch standard's, rsync.
	0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95,
	101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179,
	389, 427, 445, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587,
	601, 636, 873, 989, 990, 993, 995,
	// SQL Server, Oracle, H.323, PPTP, NFS, Docker, etcd.
	1433, 1521, 1719, 1720, 1723, 2049, 2375, 2376, 2379, 2380,
	// MySQL, RDP, Apple SASL, lockd, Sieve.
	3306, 3389, 3659, 4045, 4190,
	// SIP, PostgreSQL, AMQP, VNC.
	5060, 5061, 5432, 5672, 5900,
	// X11, Redis, SANE, IRC.
	6000, 6379, 6380, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
	// Cassandra, Kafka, Amanda, kubelet, memcached, MongoDB.
	9042, 9092, 10080, 10250, 11211, 27017,
}
