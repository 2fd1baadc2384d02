package wire

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Strict refuses a message with fields, at any depth, that this version does not know.
func Strict(m proto.Message) (err error) {
	if len(m.ProtoReflect().GetUnknown()) > 0 {
		return fmt.Errorf("%s has fields that are not known to this version", m.ProtoReflect().Descriptor().Name())
	}
	m.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() == nil:
		case field.IsList():
			for i := 0; i < value.List().Len() && err == nil; i++ {
				err = Strict(value.List().Get(i).Message().Interface())
			}
		default:
			err = Strict(value.Message().Interface())
		}
		return err == nil
	})
	return err
}
