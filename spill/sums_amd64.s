//go:build amd64 && !safe

#include "go_asm.h"
#include "textflag.h"

// func pack(dst []keySum, data []byte, keys []jobs.Span, delta uint64, long []jobs.Span, bases []*slots, shift, seedA, seedB uint64) (used, sums, longs int)
//
//	DI dst   R9 its end    SI data   R8 the last offset with two words behind it
//	BX keys  R10 their end R12 long  R13 masks, one entry early
//	R15 bases CX shift     R14 seedA
TEXT ·pack(SB), NOSPLIT, $0-176
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), R9
	SHLQ $5, R9
	ADDQ DI, R9
	MOVQ data_base+24(FP), SI
	MOVQ data_len+32(FP), R8
	SUBQ $const_inlineKey, R8
	MOVQ keys_base+48(FP), BX
	MOVQ keys_len+56(FP), R10
	LEAQ (BX)(R10*8), R10
	MOVQ long_base+80(FP), R12
	MOVQ bases_base+104(FP), R15
	MOVQ shift+128(FP), CX
	LEAQ ·masks(SB), R13
	SUBQ $16, R13
	MOVQ seedA+136(FP), R14

next:
	CMPQ BX, R10
	JAE  end
	CMPQ DI, R9
	JAE  end
	MOVL (BX), DX
	MOVL 4(BX), R11
	CMPQ DX, R8
	JGT  end
	CMPL R11, $const_inlineKey
	JHI  longer
	ADDQ $8, BX
	INCL R11
	SHLQ $4, R11
	MOVQ (SI)(DX*1), AX
	MOVQ 8(SI)(DX*1), DX
	ANDQ (R13)(R11*1), AX
	ANDQ 8(R13)(R11*1), DX
	MOVQ AX, keySum_a(DI)
	MOVQ DX, keySum_b(DI)
	XORQ R14, AX
	XORQ seedB+144(FP), DX
	MULQ DX
	XORQ DX, AX
	IMULQ R14, AX
	SHRQ $32, AX
	SHLQ $28, R11
	ORQ  AX, R11
	MOVQ R11, keySum_meta(DI)
	MOVQ delta+72(FP), R11
	MOVQ R11, keySum_delta(DI)
	MOVQ AX, DX
	SHRQ CX, DX
	MOVQ (R15)(DX*8), DX
	ANDL $const_slotMask, AX
	SHLL $5, AX
	PREFETCHT0 (DX)(AX*1)
	ADDQ $keySum__size, DI
	JMP  next

longer:
	MOVQ (BX), AX
	MOVQ AX, (R12)
	ADDQ $8, R12
	ADDQ $8, BX
	JMP  next

end:
	SUBQ keys_base+48(FP), BX
	SHRQ $3, BX
	MOVQ BX, used+152(FP)
	SUBQ dst_base+0(FP), DI
	SHRQ $5, DI
	MOVQ DI, sums+160(FP)
	SUBQ long_base+80(FP), R12
	SHRQ $3, R12
	MOVQ R12, longs+168(FP)
	RET

// func addSums(sums []keySum, bases []*slots, shift uint64) int
TEXT ·addSums(SB), NOSPLIT, $0-64
	MOVQ sums_base+0(FP), SI
	MOVQ sums_len+8(FP), DX
	SHLQ $5, DX
	ADDQ SI, DX
	MOVQ bases_base+24(FP), DI
	MOVQ shift+48(FP), CX

sum:
	CMPQ SI, DX
	JAE  absent
	MOVQ keySum_meta(SI), R8
	MOVL R8, AX
	MOVL R8, BX
	SHRQ CX, AX
	MOVQ (DI)(AX*8), R9
	MOVQ keySum_a(SI), R10
	MOVQ keySum_b(SI), R11

probe:
	ANDL $const_slotMask, BX
	MOVL BX, AX
	SHLL $5, AX
	LEAQ (R9)(AX*1), R12
	MOVQ const_slotMeta(R12), R13
	MOVQ R13, AX
	XORQ R8, AX
	MOVQ (R12), R15
	XORQ R10, R15
	ORQ  R15, AX
	MOVQ 8(R12), R15
	XORQ R11, R15
	ORQ  R15, AX
	JNZ  other
	MOVQ keySum_delta(SI), AX
	ADDQ AX, const_slotAcc(R12)
	ADDQ $keySum__size, SI
	JMP  sum

other:
	INCL  BX
	TESTQ R13, R13
	JNZ   probe

absent:
	SUBQ sums_base+0(FP), SI
	SHRQ $5, SI
	MOVQ SI, ret+56(FP)
	RET

// func prefetch(sums []keySum, bases []*slots, shift uint64)
TEXT ·prefetch(SB), NOSPLIT, $0-56
	MOVQ sums_base+0(FP), SI
	MOVQ sums_len+8(FP), DX
	MOVQ bases_base+24(FP), DI
	MOVQ shift+48(FP), CX

ask:
	MOVL keySum_meta(SI), AX
	MOVL AX, BX
	SHRQ CX, AX
	MOVQ (DI)(AX*8), AX
	ANDL $const_slotMask, BX
	SHLL $5, BX
	PREFETCHT0 (AX)(BX*1)
	ADDQ $keySum__size, SI
	DECQ DX
	JNZ  ask
	RET
