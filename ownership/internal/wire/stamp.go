package wire

import "google.golang.org/protobuf/encoding/protowire"

// UpdateStamp reads the stamp of an encoded [Update], without its data.
func UpdateStamp(update []byte) (stamp uint64, err error) {
	const field = 2
	for len(update) > 0 {
		number, kind, n := protowire.ConsumeTag(update)
		if n < 0 {
			return 0, protowire.ParseError(n)
		}
		update = update[n:]
		if number == field && kind == protowire.VarintType {
			stamp, n = protowire.ConsumeVarint(update)
			if n < 0 {
				return 0, protowire.ParseError(n)
			}
			return stamp, nil
		}
		if n = protowire.ConsumeFieldValue(number, kind, update); n < 0 {
			return 0, protowire.ParseError(n)
		}
		update = update[n:]
	}
	return 0, nil
}
