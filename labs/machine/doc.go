// Package machine runs a program under full control: one instruction at a time, with all registers and all memory in
// the hands of the caller.
//
// A program of this machine's own architecture is controlled by ptrace(2). A program of the other one runs under
// qemu-user and is controlled by the stub that qemu has for debuggers, which speaks the remote protocol of GDB. The
// caller sees no difference.
//
// What to read, in this order:
//
//	arch.go         the registers of each architecture, and which of them survive a call
//	registers.go    their values at one moment
//	program.go      an executable: its symbols and source lines
//	machine.go      a running program
//	instruction.go  what must be known of instructions; disassemble.go their text
//	step.go         what is the same for all programs: one whole instruction, and a run that begins at a breakpoint
//	process.go      how a program is started, and what it prints
//	ptrace.go       control by ptrace(2): tracer.go its thread and requests, ptrace_ARCH.go its registers,
//	                memory.go its memory
//	gdb.go          control by the stub of qemu-user: gdb_start.go how it begins, gdb_run.go steps and runs,
//	                gdb_packet.go the protocol, gdb_registers.go and gdb_signal.go its numbers
//	strace.go       the system calls of a program in qemu-user, which may not reach the stub
package machine
