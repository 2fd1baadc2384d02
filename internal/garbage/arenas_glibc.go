//go:build cgo && linux

package garbage

// #include <malloc.h>
//
// static void one_arena(void) {
// #ifdef __GLIBC__
// 	mallopt(M_ARENA_MAX, 1);
// #endif
// }
import "C"

// oneArena has all threads take memory from one arena. What stores take from malloc,
// memtables and cached blocks, glibc gives each thread that asks from an arena of its own,
// of eight for each core, and what is freed in one is of no use to the others.
func oneArena() { C.one_arena() }
