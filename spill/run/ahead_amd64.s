//go:build amd64 && !safe

#include "go_asm.h"
#include "textflag.h"

// func ahead(sums []Sum, bases []*slots, shift uint64)
TEXT ·ahead(SB), NOSPLIT, $0-56
	MOVQ sums_base+0(FP), SI
	MOVQ sums_len+8(FP), DX
	MOVQ bases_base+24(FP), DI
	MOVQ shift+48(FP), CX
	TESTQ DX, DX
	JZ   done

loop:
	MOVL Sum_Meta(SI), AX
	MOVL AX, BX
	SHRQ CX, AX
	MOVQ (DI)(AX*8), AX
	ANDL $const_SlotMask, BX
	SHLL $5, BX
	PREFETCHT0 (AX)(BX*1)
	ADDQ $Sum__size, SI
	DECQ DX
	JNZ  loop

done:
	RET
