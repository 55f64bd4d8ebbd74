//go:build amd64 && !safe

#include "textflag.h"

// STEP walks one byte of a stream: the byte at offset K of the block, in TEXT, from STATE. Finding
// the column of the byte's class does not depend on the state, so the chain from state to state has
// only one load. BTL moves the lowest bit of the state, which is set for odd states, to the carry,
// and ADCL counts it.
#define STEP(TEXT, STATE, K) \
	MOVBLZX K(TEXT)(BX*1), AX  \
	MOVBLZX (CX)(AX*1), AX     \
	LEAQ    (DX)(AX*4), AX     \
	MOVL    (AX)(STATE*4), STATE \
	BTL     $0, STATE          \
	ADCL    $0, R15

#define STEPS(K) \
	STEP(DI, R10, K) \
	STEP(SI, R11, K) \
	STEP(R8, R12, K) \
	STEP(R9, R13, K)

// func walkBlocks(w *walkers)
TEXT ·walkBlocks(SB), NOSPLIT, $32-8
	MOVQ w+0(FP), AX
	MOVQ 0(AX), DI
	MOVQ 8(AX), SI
	MOVQ 16(AX), R8
	MOVQ 24(AX), R9
	MOVL 32(AX), R10
	MOVL 36(AX), R11
	MOVL 40(AX), R12
	MOVL 44(AX), R13
	MOVQ 48(AX), DX
	MOVQ 56(AX), CX
	MOVQ 64(AX), R14
	XORL BX, BX
	XORL R15, R15

loop:
	MOVL R10, 0(SP)
	MOVL R11, 4(SP)
	MOVL R12, 8(SP)
	MOVL R13, 12(SP)
	MOVL R15, 16(SP)
	STEPS(0)
	STEPS(1)
	STEPS(2)
	STEPS(3)
	STEPS(4)
	STEPS(5)
	STEPS(6)
	STEPS(7)

	// The unknown state leads to itself, so it is enough to check at the end of the block.
	TESTL R10, R10
	JZ    unknown
	TESTL R11, R11
	JZ    unknown
	TESTL R12, R12
	JZ    unknown
	TESTL R13, R13
	JZ    unknown
	ADDQ  $8, BX
	CMPQ  BX, R14
	JLT   loop
	JMP   done

unknown:
	MOVL 0(SP), R10
	MOVL 4(SP), R11
	MOVL 8(SP), R12
	MOVL 12(SP), R13
	MOVL 16(SP), R15

done:
	MOVQ w+0(FP), AX
	MOVL R10, 32(AX)
	MOVL R11, 36(AX)
	MOVL R12, 40(AX)
	MOVL R13, 44(AX)
	MOVQ BX, 72(AX)
	MOVQ R15, 80(AX)
	RET
